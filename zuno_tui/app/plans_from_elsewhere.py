"""A plan of agents elsewhere, before it becomes a card: held again here, by facts read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.bus.payload import FailureCause, FlowFailed
from agents.bus.replay import RecordBrokenError, read_record
from agents.bus.worker import StageFailedError
from agents.lp.observe import ChainObserver
from agents.lp.payloads import FlowStart
from agents.lp.rebuild import PlanRefusedError, refuse_unless_rebuilt

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from agents.lp.debate import DebateEnd
    from agents.lp.facts import CreateContext, MarketContext
    from agents.lp.payloads import FlowCreateStart
    from chain.positions.overview import Sources


async def seen_here(
    sources: Sources, start: FlowStart | FlowCreateStart
) -> MarketContext | CreateContext:
    """The position, or the pools for a new one, as this desk sees them."""
    observer = ChainObserver(sources)
    if isinstance(start, FlowStart):
        return await observer.observe_position(start.token_id, start.profile)
    return await observer.survey(start.goal, start.owner, start.profile)


async def judged_here(
    ended: DebateEnd,
    record: Path,
    start: FlowStart | FlowCreateStart,
    chain_id: int,
    seeing: asyncio.Task[MarketContext | CreateContext],
) -> DebateEnd:
    """The same end, or a failure in place of a plan that is not what its facts give."""
    if ended.plan is None:
        return ended
    try:
        await refuse_unless_rebuilt(ended.plan, read_record(record), start, chain_id, await seeing)
    except (PlanRefusedError, RecordBrokenError) as error:
        return _without_plan(ended, FailureCause.REFUSED, f"is refused. {error}")
    except StageFailedError as error:
        # Where the chain cannot be read here, nobody here can say whether it is true.
        return _without_plan(ended, error.cause, f"cannot be checked here. {error}")
    return ended


def _without_plan(ended: DebateEnd, cause: FailureCause, why: str) -> DebateEnd:
    reason = f"The plan that came from the mesh {why}"
    stage = "" if ended.plan is None else ended.plan.decided_by
    failure = FlowFailed(stage=stage, cause=cause, reason=reason)
    return replace(ended, plan=None, failure=failure)
