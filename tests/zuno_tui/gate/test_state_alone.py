"""What is signed rests on the state of one block: approving reads no history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.rpc import requests
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from chain.rpc.records import LogFilter


@pytest.mark.parametrize("choice", ["0", "exit"])
def test_approving_asks_for_no_logs(
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
) -> None:
    desk = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    plan = desk.recommended("below its range")
    asked: list[LogFilter] = []
    logs = requests.logs

    def counted(wanted: LogFilter) -> object:
        asked.append(wanted)
        return logs(wanted)

    monkeypatch.setattr(requests, "logs", counted)
    approval = desk.here("approve", plan["planId"], "--candidate", choice, "--json")
    assert approval.code == 0, approval.words
    assert asked == []
    assert desk.here("positions", "--json", "--since-entry").code == 0
    assert asked, "what reads history is counted"
