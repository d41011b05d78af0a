"""From a plan to the chain and back, with the real commands on an embedded chain of their own."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.bus.replay import read_record
from agents.lp.debate import debate_start
from agents.lp.facts import MarketContext
from agents.lp.services import recorded_context
from agents.numbers.advice import AdviceReason
from chain.devnet.launch import DevnetReady
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk, assert_nothing_left, assert_within_bounds
from tests.zuno_tui.terminal import Terminal

LONG_AGO = "0" * 64


@pytest.fixture(scope="module")
def chain() -> Iterator[DevnetReady]:
    with embedded_chain() as ready:
        yield ready


@pytest.fixture
def desk(
    chain: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Desk:
    return Desk(chain, CommandLine(tmp_path / "home"), capsys)


def _told_apart(
    desk: Desk, plan: dict[str, Any], old: dict[str, Any], move: dict[str, Any]
) -> None:
    """`diff` accounts for every unit: what is there, bought or sold, put in and left over."""
    chosen = ("diff", plan["planId"], "--candidate", str(move["index"]))
    told = desk.here(*chosen, "--json").data
    assert (told["old"]["tickLower"], told["old"]["tickUpper"]) == (
        old["tickLower"],
        old["tickUpper"],
    )
    swapped = [0, 0]
    if told["swap"] is not None:
        sold = 0 if told["swap"]["zeroForOne"] else 1
        swapped[sold] = -int(told["swap"]["amountIn"])
        swapped[1 - sold] = int(told["swap"]["amountOut"])
    for place in (0, 1):
        there = int(old[f"amount{place}"]) + int(old[f"fees{place}"])
        taken = int(told["new"][f"amount{place}"])
        assert int(told["old"][f"amount{place}"]) == there
        assert there + swapped[place] == taken + int(told["residual"][place])
        assert int(told["shortfall"][place]) == max(0, taken - there)
    assert "total cost" in desk.here(*chosen).out


@pytest.mark.parametrize(
    "state",
    [
        *("above its range", "native"),
        *(pytest.param(other, marks=pytest.mark.soak) for other in ("healthy", "dynamic fee")),
    ],
)
def test_a_move_ends_in_the_planned_range(desk: Desk, state: str) -> None:
    plan = desk.recommended(state)
    old = desk.positions()[plan["position"]]
    move = next(one for one in plan["candidates"] if one["judgment"]["verdict"] != "veto")
    _told_apart(desk, plan, old, move)
    approval = desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))
    assert approval["planId"] == plan["planId"]
    assert approval["simulation"]["method"] == "eth_simulateV1"
    assert approval["words"]
    before = desk.nonce()

    applied = desk.apply(plan["planId"], "--confirm", approval["hash"], "--json")

    assert applied.code == 0, applied.words
    result = applied.data
    assert (result["planId"], result["state"]) == (plan["planId"], "included")
    steps = [one["step"] for one in result["transactions"]]
    assert steps == [one["step"] for one in approval["transactions"]]
    assert ("enter" in steps) == (move["prepAction"] is not None)
    assert desk.nonce() == before + len(steps)
    positions = desk.positions()
    new = positions[result["newTokenId"]]
    assert plan["position"] not in positions
    assert new["poolId"] == old["poolId"]
    assert (new["tickLower"], new["tickUpper"]) == (move["tickLower"], move["tickUpper"])
    assert int(new["liquidity"]) == int(approval["bounds"][-1]["liquidity"])
    assert_within_bounds(approval, result)
    assert_nothing_left(desk, approval["tokens"])
    _acted_just_now(desk, result["newTokenId"])


def _acted_just_now(desk: Desk, token_id: str) -> None:
    """Whoever argues about the position next knows when it was made, in a process of its own."""
    plan = desk.here("recommend", token_id, "--json", "--deterministic").data
    record = read_record(desk.command.home / "records" / f"{plan['requestId']}.jsonl")
    context = recorded_context(record)
    assert isinstance(context, MarketContext)
    assert context.position.last_action_time is not None
    assert 0 <= context.time - context.position.last_action_time < 600
    assert plan["choice"]["kind"] == "hold"
    _remembered(desk, token_id)
    if context.observed.market.edge_7d is not None:
        assert plan["choice"]["codes"][0] == AdviceReason.ACTED_RECENTLY


def _remembered(desk: Desk, token_id: str) -> None:
    """And is told what was advised before."""
    again = desk.here("recommend", token_id, "--json", "--deterministic").data
    record = read_record(desk.command.home / "records" / f"{again['requestId']}.jsonl")
    (earlier,) = debate_start(record).memory.earlier_advice
    assert (earlier.choice, earlier.carried_out) == ("hold", False)


def test_an_exit_ends_with_both_tokens_and_happens_once(desk: Desk) -> None:
    plan = desk.recommended("below its range")
    tried = desk.approved("simulate", plan["planId"], "--candidate", "exit")
    unapproved = desk.refused(plan["planId"], "--confirm", LONG_AGO)
    approval = desk.approved("approve", plan["planId"], "--candidate", "exit")
    before = desk.nonce()

    applied = desk.apply(plan["planId"], "--confirm", approval["hash"], "--json")
    again = desk.apply(plan["planId"], "--confirm", approval["hash"])

    assert "is not approved" in unapproved.words
    assert "hash" not in tried
    assert tried["transactions"] == approval["transactions"]
    assert applied.code == 0, applied.words
    assert applied.data["newTokenId"] is None
    assert plan["position"] not in desk.positions()
    assert_within_bounds(approval, applied.data)
    assert_nothing_left(desk, approval["tokens"])
    assert again.code == REFUSED
    assert "was applied before" in again.words
    assert desk.nonce() == before + 1
    (dispatch,) = desk.here("outbox", "--json").data["dispatches"]
    assert (dispatch["hash"], dispatch["state"]) == (approval["hash"], "included")
    assert dispatch["safeState"] is None


def test_a_hook_may_shut_the_door_and_leaving_is_free_when_it_does_not(desk: Desk) -> None:
    token_id = str(desk.token_id("hooked"))
    desk.ask("zuno_setHookFlag", True)
    shut = desk.here("close", token_id)
    desk.ask("zuno_setHookFlag", False)

    approval = desk.approved("close", token_id)
    applied = desk.apply(approval["planId"], "--confirm", approval["hash"], "--json")

    assert shut.code == REFUSED
    assert "the pool's hook" in shut.words
    assert applied.code == 0, applied.words
    assert token_id not in desk.positions()


def test_an_empty_position_has_nothing_to_move_and_hold_nothing_to_approve(desk: Desk) -> None:
    plan = desk.recommended("emptied")
    moves = [one for one in plan["candidates"] if one["judgment"]["verdict"] != "veto"]
    before = desk.nonce()

    refused = [
        desk.here("approve", plan["planId"], "--candidate", str(one["index"])) for one in moves
    ]
    held = desk.here("approve", plan["planId"])

    assert [one.code for one in refused] == [REFUSED] * len(moves)
    assert all("no liquidity" in one.words for one in refused)
    assert plan["recommended"]["kind"] == "hold"
    assert held.code == REFUSED
    assert "nothing to sign" in held.words
    assert desk.nonce() == before


def test_the_days_limit_holds_back_entries_and_no_exit(desk: Desk) -> None:
    plan = desk.recommended("near the edge")
    move = next(one for one in plan["candidates"] if one["judgment"]["verdict"] != "veto")
    (desk.command.home / "settings.toml").write_text("[limits]\ndaily_usd = 100\n")

    refused = desk.here("approve", plan["planId"], "--candidate", str(move["index"]))
    allowed = desk.here("approve", plan["planId"], "--candidate", "exit")

    assert refused.code == REFUSED
    assert "past the day's limit of $100.00" in refused.words
    assert allowed.code == 0, allowed.words


def test_fees_are_collected_at_a_terminal_by_the_typed_word(desk: Desk) -> None:
    token_id = str(desk.token_id("transferred in"))
    approval = desk.approved("collect", token_id)
    before = desk.nonce()
    environment = {**os.environ, "ZUNO_HOME": str(desk.command.home)}

    answers = {"apply\nagain": "More than one line", "yes": "not the word"}
    for typed, words in answers.items():
        terminal = Terminal.run(["apply", approval["planId"], *desk.flags], environment)
        terminal.answer("Type apply", typed)
        code, out, shown = terminal.end()
        assert (code, out) == (REFUSED, "")
        assert words in shown
    assert desk.nonce() == before
    terminal = Terminal.run(["apply", approval["planId"], *desk.flags, "--json"], environment)
    terminal.answer("Type apply", "apply")
    code, _, shown = terminal.end()

    assert code == 0, shown
    assert f"Collect the fees of position #{token_id}" in shown
    assert desk.nonce() == before + 1
    assert desk.positions()[token_id]["fees0"] == "0"


def test_only_the_newest_hash_of_the_very_plan_is_taken(desk: Desk) -> None:
    near = str(desk.token_id("near the edge"))
    stable = str(desk.token_id("stable"))
    early = desk.approved("close", near)
    desk.ask("evm_mine")
    other = desk.approved("close", stable)
    plan = desk.recommended("near the edge")
    stale = desk.approved("approve", plan["planId"], "--candidate", "exit")
    desk.ask("evm_mine")
    newest = desk.approved("approve", plan["planId"], "--candidate", "exit")
    before = desk.nonce()

    refusals = {
        "an earlier approval": desk.refused(plan["planId"], "--confirm", stale["hash"]),
        "belongs to": desk.refused(plan["planId"], "--confirm", other["hash"]),
        "Nothing with that hash": desk.refused(plan["planId"], "--confirm", LONG_AGO),
        "is not approved": desk.refused("plan_" + "0" * 16, "--confirm", newest["hash"]),
        "no terminal": desk.refused(plan["planId"]),
    }

    assert newest["hash"] != stale["hash"]
    for words, refused in refusals.items():
        assert words in refused.words
    assert desk.nonce() == before
    # Of two approvals with one nonce, whichever comes second finds it taken.
    assert desk.apply(plan["planId"], "--confirm", newest["hash"]).code == 0
    late = desk.refused(early["planId"], "--confirm", early["hash"])
    assert "gone" in late.words
    taken = desk.refused(other["planId"], "--confirm", other["hash"])
    assert "nonce of the wallet" in taken.words
    assert desk.nonce() == before + 1


def test_time_and_price_end_an_approval(desk: Desk) -> None:
    token_id = str(desk.token_id("underpaid"))
    approval = desk.approved("close", token_id)
    confirmed = (approval["planId"], "--confirm", approval["hash"])
    before = desk.nonce()

    snapshot = desk.ask("evm_snapshot")
    desk.raise_price(desk.positions()[token_id]["poolId"], bips=51)
    dearer = desk.refused(*confirmed)
    desk.ask("evm_revert", snapshot)
    desk.ask("zuno_step", 600)
    expired = desk.refused(*confirmed)

    assert "pool price" in dearer.words
    assert "it lasts ten minutes" in expired.words
    assert desk.nonce() == before
    assert token_id in desk.positions()


@pytest.mark.parametrize("action", ["cancel", "speed-up"])
def test_what_waits_after_a_kill_is_named_and_replaced(desk: Desk, action: str) -> None:
    approval = desk.approved("collect", str(desk.token_id("transferred in")))
    before = desk.nonce()
    try:
        killed = desk.killed_while_waiting(approval, at="collect")
        waiting = desk.here("outbox", "--json").data
        replaced = desk.command(
            "outbox", action, approval["planId"], "--confirm", approval["hash"], *desk.flags
        )
    finally:
        desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    after = desk.here("outbox", "--json").data

    assert killed == -9
    assert [one["situation"] for one in waiting["findings"]] == ["pending"]
    assert replaced.code == 0, replaced.words
    (step,) = after["dispatches"][0]["steps"]
    assert step["state"] == {"cancel": "replaced", "speed-up": "included"}[action]
    assert desk.nonce() == before + 1
    again = desk.refused(approval["planId"], "--confirm", approval["hash"])
    assert "was applied before" in again.words


def test_an_exit_without_its_entry_is_named_until_it_is_resolved(desk: Desk) -> None:
    plan = desk.recommended("underpaid")
    move = next(
        one
        for one in plan["candidates"]
        if one["prepAction"] is not None and one["judgment"]["byRules"] != "veto"
    )
    approval = desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))
    steps = [one["step"] for one in approval["transactions"]]
    before = desk.nonce()
    try:
        desk.killed_while_waiting(approval, at="exit")
    finally:
        desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")

    shown = desk.here("outbox", "--json").data
    again = desk.refused(plan["planId"], "--confirm", approval["hash"])
    resolved = desk.here("outbox", "resolve", plan["planId"])

    assert steps[-2:] == ["exit", "enter"]
    assert desk.nonce() == before + len(steps) - 1
    assert plan["position"] not in desk.positions()
    (dispatch,) = shown["dispatches"]
    assert (dispatch["state"], dispatch["needsAttention"]) == (
        "closed, both tokens in the wallet",
        True,
    )
    enter = next(one for one in shown["findings"] if one["step"] == "enter")
    assert enter["situation"] == "never signed"
    assert enter["choices"] == ["make a new plan"]
    assert "was applied before" in again.words
    assert (resolved.code, resolved.out) == (0, "")
    assert desk.here("outbox", "resolve").code == REFUSED
    assert desk.here("outbox").words == ""


def test_with_two_approvals_open_apply_asks_for_a_name(desk: Desk) -> None:
    for state in ("healthy", "stable"):
        desk.approved("collect", str(desk.token_id(state)))
    both = [
        desk.here("collect", str(desk.token_id(state)), "--json").data["planId"]
        for state in ("healthy", "stable")
    ]
    asked = desk.here("apply")

    assert asked.code == REFUSED
    assert all(f"apply {plan_id}" in asked.words for plan_id in both)
