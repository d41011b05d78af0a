"""What a monitor says while it watches."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.monitor.deliver.delivery import Postponed, Sent, Stopped
from agents.monitor.heartbeat import (
    Beat,
    Holder,
    Note,
    RoundEnded,
    Supervisor,
    Troubled,
    TurnTaken,
    WaitingForTurn,
)
from agents.monitor.poll import PollReport
from chain.devnet.launch import DevnetReady
from chain.read.logs import ScanProgress
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.taken_back import desk_at
from zuno_tui.app.monitor import Aloud, Speaker
from zuno_tui.app.positions import reading_progress

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


def test_it_is_told_every_few_seconds() -> None:
    moments = iter([0.0, 1.0, 6.0, 6.0, 8.0, 12.0, 12.0])
    told: list[str] = []
    heard = reading_progress(told.append, lambda: next(moments))
    for scanned in (10, 50, 60, 90):
        heard(ScanProgress(1, 100, scanned, 1000 * scanned))
    assert len(told) == 2
    assert "50%" in told[0]
    assert "50,000" in told[0]
    assert "90%" in told[1]


def _about_settings(desk: Desk) -> list[dict[str, Any]]:
    told = desk.here("alerts", "--all", "--json").data["alerts"]
    return [one for one in told if one["kind"] == "setting_unknown"]


def test_the_monitor_watches_on_and_tells_of_it_once(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk_at(devnet, tmp_path, capsys) as desk:
        home = desk.command.home
        home.mkdir(mode=0o700)
        settings = home / "settings.toml"
        settings.write_text("[limits]\ndayly_usd = 7\n")
        for _ in range(2):
            watched = desk.here("monitor", "--once")
            assert watched.code == 0, watched.words
        [told] = _about_settings(desk)
        others = len(desk.here("alerts", "--json").data["alerts"])
        settings.write_text("[limits]\ndaily_usd = 7\n")
        desk.here("monitor", "--once")
        [mended] = _about_settings(desk)

    assert (told["state"], told["severity"], told["episode"]) == ("open", "warning", 1)
    assert "Did you mean 'daily_usd'?" in told["message"]
    assert "Nothing is approved or signed" in told["message"]
    assert others > 1, "positions are watched as ever"
    assert (mended["id"], mended["state"]) == (told["id"], "resolved")
