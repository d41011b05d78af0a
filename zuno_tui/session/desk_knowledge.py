"""What a desk knows beside the chain: the hooks its person allows, and when it last acted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.payloads import FlowStart
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.receipts import minted_positions
from chain.rpc import requests
from chain.rpc.records import Block, Receipt
from zuno_tui.gate.limits import gate_limits

if TYPE_CHECKING:
    from agents.lp.payloads import FlowCreateStart
    from chain.positions.overview import Sources
    from zuno_tui.session.session import Session

_RECENT = 24
"""How many of the newest transactions are looked at: a day between actions leaves few."""


async def with_desk_knowledge(
    session: Session, sources: Sources, start: FlowStart | FlowCreateStart
) -> FlowStart | FlowCreateStart:
    """The start of a debate with what only this home knows."""
    limits = gate_limits(session.settings.limits, session.network)
    known: dict[str, object] = {"allowed_hooks": tuple(sorted(limits.allowed_hooks))}
    if isinstance(start, FlowStart):
        known["last_action_time"] = await last_action_time(session, sources, start.token_id)
    return start.model_copy(update=known)


async def last_action_time(session: Session, sources: Sources, token_id: int) -> int | None:
    """The time of the block in which a plan of this home made the position.

    Moving a position makes a new one, so its own beginning is the last thing that was done to it
    or to the one it was made of.
    """
    if not session.home.outbox.exists():
        return None
    with Outbox.open(session.home.outbox) as outbox:
        # By hash, not by the journal's state: what was sent may be in a block nobody looked for.
        sent = [
            (dispatch.sender, version.transaction.hash)
            for dispatch in outbox.dispatches()
            if dispatch.chain_id == sources.network.chain_id
            for step in dispatch.steps
            for version in step.versions
        ][-_RECENT:]
    receipts = await sources.client.settle([requests.receipt(one) for _, one in sent])
    for (sender, _), receipt in zip(sent, receipts, strict=True):
        if isinstance(receipt, Receipt) and token_id in minted_positions(
            receipt, sender, sources.network
        ):
            block = await sources.client.ask(requests.block(receipt.block_hash))
            return block.timestamp if isinstance(block, Block) else None
    return None
