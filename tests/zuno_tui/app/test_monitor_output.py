"""What a running monitor says: lines for programs, and words only when something is new."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.monitor.deliver.delivery import Postponed, Sent, Stopped
from agents.monitor.heartbeat import (
    Beat,
    Holder,
    RoundEnded,
    Supervisor,
    Troubled,
    TurnTaken,
    WaitingForTurn,
)
from agents.monitor.poll import PollReport
from zuno_tui.app.monitor import Aloud, Speaker

if TYPE_CHECKING:
    import pytest

    from agents.monitor.heartbeat import Note

WALLET = "0x" + "ab" * 20


def _round(trouble: str | None, *, whole: str | None = None) -> RoundEnded:
    report = PollReport("base", 8453, WALLET, 7, 3, 2, (), trouble, 0.25)
    return RoundEnded(Beat(0.0, 1, "here", 60.0, (), whole), (report,), 0.3)


def _words(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_trouble_is_said_when_it_comes_and_when_it_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    speaker = Speaker(Supervisor(None, None), as_json=False)

    for seconds in (None, 20, 19, 18, None, None):
        speaker(_round(None if seconds is None else f"left alone for {seconds} s."))

    said = _words(capsys)
    assert len(said) == 2
    assert said[0].endswith(": left alone for 20 s.")
    assert said[1].endswith(" is well again.")


def test_what_concerns_everything_is_not_said_again_for_each_wallet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    speaker = Speaker(Supervisor(None, None), as_json=False)

    speaker(_round("The disk is full.", whole="The disk is full."))
    speaker(_round(None))

    assert _words(capsys) == ["The disk is full.", "The monitor is well again."]


def test_every_note_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    speaker = Speaker(Supervisor(None, None), as_json=True)
    notes: list[Note] = [
        WaitingForTurn(Holder(77, "here", 0.0)),
        TurnTaken(),
        _round("blind\n\x1b[2J"),
        Troubled("odd"),
        Sent("Telegram", (1, 2)),
        Sent(Aloud.name, (1, 2)),
        Postponed("Telegram", "HTTP 500", 2.0),
        Stopped("webhook", "HTTP 401."),
    ]

    for note in notes:
        speaker(note)

    out = capsys.readouterr().out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == [
        *("waiting", "watching", "poll", "trouble", "sent", "postponed", "stopped")
    ]
    assert out.isascii()
    assert all(line.isprintable() for line in out.splitlines())
