"""Every demo position, every candidate the floors let through, and leaving: shown and realised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chain.devnet.launch import devnet_process
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk, assert_nothing_left, assert_within_bounds

if TYPE_CHECKING:
    from pathlib import Path


def _outcome(desk: Desk, plan: dict[str, Any], named: str, one: dict[str, Any]) -> str:
    approval = desk.here("approve", plan["planId"], "--candidate", named, "--json")
    if approval.code == REFUSED:
        return approval.words.strip()
    assert approval.code == 0, approval.words
    shown = approval.data
    applied = desk.apply(plan["planId"], "--confirm", shown["hash"], "--json")
    assert applied.code == 0, applied.words
    result = applied.data
    assert_within_bounds(shown, result)
    assert_nothing_left(desk, shown["tokens"])
    positions = desk.positions()
    assert plan["position"] not in positions
    if named == "exit":
        assert result["newTokenId"] is None
    else:
        new = positions[result["newTokenId"]]
        assert (new["tickLower"], new["tickUpper"]) == (one["tickLower"], one["tickUpper"])
        assert new["poolId"] == one["poolId"]
    return f"shown {shown['quoted']}, realised {result['realised']}"


@pytest.mark.soak
def test_every_candidate_of_every_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused: dict[str, str] = {}
    with devnet_process(seed=7, world="small") as chain:
        desk = Desk(chain, CommandLine(tmp_path / "first"), capsys)
        positions = desk.ask("zuno_status")["positions"]
        held = {state: str(one) for state, one in positions.items() if str(one) in desk.positions()}
        for state in held:
            plan = desk.recommended(state)
            moves = [one for one in plan["candidates"] if one["judgment"]["verdict"] != "veto"]
            for one in (*moves, plan["exit"]):
                named = "exit" if one["index"] is None else str(one["index"])
                before = desk.ask("evm_snapshot")
                told = _outcome(desk, plan, named, one)
                desk.ask("evm_revert", before)
                with capsys.disabled():
                    print(f"{state:16} {named:5} {told}")  # noqa: T201 - the table it is to show
                if not told.startswith("shown"):
                    refused[f"{state} {named}"] = told
                # What is taken back on the chain must be forgotten at the desk as well.
                fresh = CommandLine(tmp_path / f"{state}-{named}")
                fresh.home.mkdir(mode=0o700)
                (desk.command.home / "plans").rename(fresh.home / "plans")
                desk = Desk(chain, fresh, capsys)
    for what, why in refused.items():
        assert what.startswith(("emptied", "hooked")), (what, why)
        assert "no liquidity" in why or "dangerous" in why
