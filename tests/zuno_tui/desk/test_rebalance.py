"""From a recommendation to an applied plan without a screen: one word, one effect."""

from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from chain.wallet.secrets import Passphrase
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import Sitting, opening, sitting
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import (
    ConfirmationAsked,
    ConfirmationEnded,
    DebateChanged,
    PlanChanged,
    Said,
    TurnEnded,
)
from zuno_tui.intents.intents import Apply, Approve, Recommend, Refresh
from zuno_tui.present.views import ApprovalView, PlanView

pytestmark = pytest.mark.usefixtures("changed_world")


async def planned(desk: Sitting, token_id: int) -> PlanView:
    await desk.ask(Recommend(v4_position(token_id)))
    told = await desk.until(PlanChanged, lambda told: told.view is not None)
    assert told.view is not None
    return told.view


async def asked_to_confirm(desk: Sitting) -> ApprovalView:
    await desk.ask(Approve(candidate="0"))
    await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
    await desk.ask(Apply())
    return (await desk.until(ConfirmationAsked)).approval


async def approved_to_collect(desk: Sitting, token_id: int) -> ApprovalView:
    await desk.ask(CollectFees((v4_position(token_id),)))
    told = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
    assert told.view is not None
    assert told.view.approval is not None
    return told.view.approval


async def test_a_recommendation_ends_in_a_plan_on_the_card(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["below its range"]
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        plan = await planned(desk, token_id)
        ended = await desk.until(DebateChanged, lambda told: told.view.ended is not None)

    turns = [event.turn for event in desk.heard if isinstance(event, TurnEnded)]
    assert tuple(turns) == ended.view.turns
    assert {turn.role for turn in turns} >= {"scout", "strategist", "critic"}
    assert plan.options[0].name == "Keep"
    assert plan.options[-1].candidate == "close"
    assert sum(option.recommended for option in plan.options) == 1
    assert len({tuple(option.figures) for option in plan.options}) == 1
    assert "tick" not in plan.options[1].low


async def test_a_plan_that_is_shown_and_not_approved_is_not_signed_by_another_approval(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["below its range"]
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        before = await approved_to_collect(desk, token_id)
        await desk.ask(Recommend(v4_position(token_id)))
        await desk.until(PlanChanged, lambda told: bool(told.view and told.view.options))
        await desk.ask(Apply())
        refused = await desk.until(Said, lambda said: "not approved" in said.words)
        assert not desk.all_heard(ConfirmationAsked)
        await desk.ask(Apply(before.plan_id))
        asked = await desk.until(ConfirmationAsked)

    assert refused.words.endswith(f"{before.headline}: apply {before.plan_id}")
    assert asked.approval.hash == before.hash


async def test_the_typed_word_has_one_effect(
    devnet: DevnetReady, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A width to print for is no reason to break the sentences that the panes break themselves.
    monkeypatch.setenv("COLUMNS", "40")
    token_id = node("zuno_status")["positions"]["below its range"]
    before = int(node("eth_getTransactionCount", devnet.wallet, "latest"), 16)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await planned(desk, token_id)
        approval = await asked_to_confirm(desk)
        await desk.desk.confirm(approval.hash, "apply", None)
        done = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.result))
        await desk.desk.confirm(approval.hash, "apply", None)
        await desk.desk.idle()

    assert done.view is not None
    assert done.view.result is not None
    assert done.view.result.state == "included"
    assert done.view.result.new_ref is not None
    assert len(done.view.progress) == len(approval.steps)
    assert not [line for line in approval.outcome if "\n" in line or "  " in line]
    assert all("included in block" in step.words for step in done.view.progress)
    assert {step.state for step in done.view.progress} == {"done"}
    assert len({sent.hash for sent in done.view.result.sent}) == len(approval.steps)
    assert {sent.url for sent in done.view.result.sent} == {None}, "nobody shows this chain"
    assert done.view.result.headline == f"#{token_id} is now #{done.view.result.new_ref}"
    assert all(one.block is not None for one in done.view.result.sent)
    assert any(line.startswith("  Network cost 0.") for line in done.view.result.lines)
    assert any(line.startswith("  Total cost $") for line in done.view.result.lines)
    assert all(step.brief for step in approval.steps)
    assert approval.receipt is not None
    assert {line.part for line in approval.receipt.lines} == {
        "pool",
        "give",
        "get",
        "wallet",
        "swap",
        "network",
        "pay",
        "bound",
    }
    assert approval.receipt.range is not None
    assert 0 < approval.receipt.range.progress < 1
    after = int(node("eth_getTransactionCount", devnet.wallet, "latest"), 16)
    assert after - before == len(approval.steps)
    assert "Nothing is waiting under that hash" in desk.heard_last(Said).words


async def test_another_word_or_hash_signs_nothing(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["healthy"]
    before = node("eth_getTransactionCount", devnet.wallet, "pending")
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await approved_to_collect(desk, token_id)
        await desk.ask(Apply())
        approval = (await desk.until(ConfirmationAsked)).approval
        wrong = [(approval.hash, word) for word in ("Apply", "apply ", "", "yes", "apply\n")]
        for named, word in (*wrong, ("0" * 64, "apply"), ("", "apply")):
            passphrase = Passphrase.from_text("never needed")
            await desk.desk.confirm(named, word, passphrase)
            await desk.desk.idle()
            assert desk.heard_last(Said).words.endswith("Nothing was signed.")
            assert passphrase.length == 0

    assert node("eth_getTransactionCount", devnet.wallet, "pending") == before


async def test_what_moved_since_the_approval_is_told_before_and_after(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["healthy"]
    before = node("eth_getTransactionCount", devnet.wallet, "pending")
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await approved_to_collect(desk, token_id)
        await desk.ask(Apply())
        approval = (await desk.until(ConfirmationAsked)).approval
        node("zuno_step", 11 * 60)
        await desk.desk.confirm(approval.hash, "apply", None)
        refused = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.result))
        ended = await desk.until(ConfirmationEnded)

    assert ended.approval_hash == approval.hash
    assert "Nothing was sent." in ended.words
    assert refused.view is not None
    assert refused.view.result is not None
    assert refused.view.result.state == "refused"
    assert any("it lasts ten minutes" in line for line in refused.view.result.lines)
    assert node("eth_getTransactionCount", devnet.wallet, "pending") == before


async def test_an_approval_that_runs_out_leaves_the_card_by_itself(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["healthy"]
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        approval = await approved_to_collect(desk, token_id)
        node("zuno_step", 11 * 60)
        await desk.ask(Refresh())
        ended = await desk.until(ConfirmationEnded)

    assert ended.approval_hash == approval.hash
    last = desk.heard_last(PlanChanged).view
    assert last is not None
    assert last.approval is None
