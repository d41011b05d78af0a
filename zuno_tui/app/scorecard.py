"""`zuno scorecard`: plans of this home, judged where a horizon is over, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from agents.scorecard.judging import (
    Judged,
    PastPlans,
    SkippedPlan,
    SkipReason,
    judge_due,
    past_plans,
)
from agents.scorecard.score import ScoreStore
from chain.rpc.errors import RpcError
from zuno_tui.app.journaled_plans import applied_plans
from zuno_tui.app.reading_progress import reading_progress
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, NETWORK
from zuno_tui.present.scorecard_report import (
    ScoredPlans,
    scorecard_document,
    scorecard_lines,
    scorecard_remarks,
)

if TYPE_CHECKING:
    from chain.positions.overview import Sources
    from zuno_tui.app.session import Session

_NO_PLAN = "No plan was made here yet, so there is nothing to judge. Ask for one: zuno recommend ID"


async def scored_plans(session: Session) -> CommandAnswer:
    past = past_plans(PlanStore(session.home.plans), session.network.chain_id)
    if not past.plans and not past.skipped and not _has_scores(session):
        empty = ScoredPlans(
            session.network.name, session.network.chain_id, _nothing(), (), frozenset()
        )
        return CommandAnswer(lines=(_NO_PLAN,), document=scorecard_document(empty))
    async with session.sources() as sources:
        judged, failure = await _judged(session, sources, past)
    lost = [SkippedPlan(one, SkipReason.NOT_ON_CHAIN) for one in judged.not_on_chain]
    scored = ScoredPlans(
        session.network.name,
        session.network.chain_id,
        judged,
        (*past.skipped, *lost),
        applied_plans(session),
    )
    remarks = tuple(scorecard_remarks(scored))
    if failure is not None:
        remarks = (*remarks, f"What is due could not be judged now: {failure}")
    return CommandAnswer(
        heading=(f"{session.network.title} · what became of the plans made here",),
        lines=tuple(scorecard_lines(scored)),
        document=scorecard_document(scored),
        remarks=remarks,
        code=DONE if failure is None else NETWORK,
    )


async def _judged(
    session: Session, sources: Sources, past: PastPlans
) -> tuple[Judged, RpcError | None]:
    """What is due judged now; what was judged before is told even where nobody answers."""
    try:
        judged = await judge_due(sources, past.plans, watch=reading_progress(session.narrate))
    except RpcError as error:
        kept = ScoreStore(sources.store, session.network.chain_id, sources.clock).scores()
        return Judged(tuple(kept), 0, (), ()), error
    return judged, None


def _has_scores(session: Session) -> bool:
    if not session.home.database.exists():
        return False
    with session.open_store() as store:
        return bool(ScoreStore(store, session.network.chain_id, lambda: 0.0).scores())


def _nothing() -> Judged:
    return Judged((), 0, (), ())
