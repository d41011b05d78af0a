"""A plan of agents elsewhere, before it becomes a card: held again here, by facts read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.bus.payload import FailureCause, FlowFailed
from agents.bus.replay import RecordBrokenError, read_record
from agents.lp.observe import ChainObserver
from agents.lp.payloads import FlowStart
from agents.lp.rebuild import PlanRefusedError, refuse_unless_rebuilt

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from agents.lp.debate import DebateEnd
    from agents.lp.facts import MarketContext
    from agents.lp.payloads import FlowCreateStart
    from chain.positions.overview import Sources


async def seen_here(sources: Sources, start: FlowStart | FlowCreateStart) -> MarketContext | None:
    """The position as this desk sees it; None where a new one is argued about."""
    if not isinstance(start, FlowStart):
        return None
    return await ChainObserver(sources).observe_position(start.token_id, start.profile)


async def judged_here(
    ended: DebateEnd,
    record: Path,
    start: FlowStart | FlowCreateStart,
    chain_id: int,
    seeing: asyncio.Task[MarketContext | None],
) -> DebateEnd:
    """The same end, or a failure in place of a plan that is not what its facts give."""
    if ended.plan is None:
        return ended
    try:
        await refuse_unless_rebuilt(ended.plan, read_record(record), start, chain_id, await seeing)
    except (PlanRefusedError, RecordBrokenError) as error:
        reason = f"The plan that came from the mesh is refused. {error}"
        failure = FlowFailed(stage=ended.plan.decided_by, cause=FailureCause.REFUSED, reason=reason)
        return replace(ended, plan=None, failure=failure)
    return ended
