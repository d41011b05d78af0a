"""A desk that ends in the middle of an apply: the next one tells the truth and the ways out."""

from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import (
    ConfirmationAsked,
    ConfirmationEnded,
    OutboxReady,
    PlanChanged,
    Said,
)
from zuno_tui.intents.intents import Apply, OpenOutbox, Show


@pytest.fixture
def still(node: Node, changed_world: None) -> None:
    """Blocks come only when they are asked for."""
    node("evm_setAutomine", False)


@pytest.mark.usefixtures("still")
async def test_what_was_sent_is_found_again_and_can_be_cancelled(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    before = int(node("eth_getTransactionCount", devnet.wallet, "latest"), 16)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(CollectFees((token_id,)))
        await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
        await desk.ask(Apply())
        approval = (await desk.until(ConfirmationAsked)).approval
        await desk.desk.confirm(approval.hash, "apply", None)
        await desk.until(
            PlanChanged,
            lambda told: bool(
                told.view and any(": sent" in step.words for step in told.view.progress)
            ),
        )
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        said = await desk.until(Said, lambda said: "See: outbox" in said.words)
        await desk.ask(Show("outbox"))
        row = (await desk.until(OutboxReady)).rows[0]
        await desk.ask(OpenOutbox("cancel", row.plan_id))
        asked = (await desk.until(ConfirmationAsked)).approval
        await desk.desk.confirm(asked.hash, "apply", None)
        refused = await desk.until(ConfirmationEnded)
        await desk.desk.confirm(asked.hash, "cancel", None)
        await desk.until(ConfirmationEnded, lambda told: "cancel sent" in told.words)
        node("evm_mine")
        since = len(desk.heard)
        await desk.ask(OpenOutbox())
        after = (await desk.until(OutboxReady, since=since)).rows[0]

    assert approval.plan_id in said.words
    assert row.plan_id == approval.plan_id
    assert row.headline == approval.headline
    assert set(row.actions) >= {"cancel", "speed-up"}
    assert asked.word == "cancel"
    assert "That was not the word 'cancel'" in refused.words
    assert after.state == "nothing happened"
    assert int(node("eth_getTransactionCount", devnet.wallet, "latest"), 16) == before + 1
