"""Earlier plans judged while somebody reads a new one, so that it can say how those did."""

import asyncio

from agents.scorecard.scoring import DecidedPlan
from agents.scorecard.track_record import track_record
from chain.rpc.errors import RpcError
from zuno_tui.desk.card import Card, plan_view
from zuno_tui.desk.context import DeskContext
from zuno_tui.present.argued_plan import ArguedPlan
from zuno_tui.present.plan_card import plan_pools
from zuno_tui.present.views import PlanView

JUDGING = "scorecard"
_PATIENCE = 600.0
"""Seconds; what was read until then is kept, and read on from next time."""


def shown_plan(desk_context: DeskContext, argued: ArguedPlan, *, made_at: float) -> PlanView:
    """A plan with how those like it did so far."""
    store = desk_context.sources.store
    return plan_view(
        argued,
        plan_pools(argued.plan, store),
        made_at=made_at,
        record=track_record(argued.plan, store),
    )


async def judge_earlier(desk_context: DeskContext, card: Card, argued: ArguedPlan) -> None:
    """Begin where an earlier plan's horizon is over; by this plan's time, so nobody is asked."""
    from agents.scorecard.judging import is_any_due
    from agents.scorecard.score import ScoreStore

    plan = argued.plan
    scores = ScoreStore(desk_context.sources.store, plan.chain_id, desk_context.clock)
    plans = await asyncio.to_thread(_unfinished, desk_context, plan.chain_id, scores.finished())
    if is_any_due(plans, scores.scores(), plan.time) and not desk_context.jobs.is_running(JUDGING):
        desk_context.jobs.start(
            JUDGING,
            "Judging earlier plans",
            lambda _: _judge(desk_context, card, argued, plans),
            seconds=_PATIENCE,
            asked=False,
        )


def _unfinished(
    desk_context: DeskContext, chain_id: int, finished: frozenset[str]
) -> tuple[DecidedPlan, ...]:
    from agents.bus.plan_store import PlanStore
    from agents.scorecard.judging import past_plans

    return past_plans(PlanStore(desk_context.session.home.plans), chain_id, finished).plans


async def _judge(
    desk_context: DeskContext, card: Card, argued: ArguedPlan, plans: tuple[DecidedPlan, ...]
) -> None:
    from agents.scorecard.judging import judge_due
    from zuno_tui.app.reading_progress import reading_progress

    try:
        judged = await judge_due(
            desk_context.sources, plans, watch=reading_progress(desk_context.session.narrate)
        )
    except RpcError:
        return  # nobody asked for it, and the next plan tries again
    if judged.new:
        card.say_anew(shown_plan(desk_context, argued, made_at=desk_context.clock()))
