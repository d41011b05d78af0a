"""Plans of the trade desk, and what ended trades teach: kept, and handed to the next question."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agents.bus.plan_store import DamagedPlanError, NoSuchPlanError, PlanDocument, PlanStore
from agents.memory.lesson_writing import kind_records, word_lesson
from agents.memory.memory import (
    EndedTrade,
    ExitKind,
    PostMortem,
    TradeMemory,
    TradeSetup,
    write_lesson,
)
from agents.model.interface import Model
from agents.trade import FLOW
from agents.trade.facts import Lesson, PastDecision, SetupRecord
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_plan_in
from chain.exchange.orders.engine import current_orders
from chain.exchange.orders.hedge import TradeClosing, closings
from chain.exchange.orders.order import OrderType
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import Trading
from zuno_tui.features.trade.venue import OpenVenue


def stored_trade(session: Session, plan_id: str | None) -> tuple[TradePlan, PlanDocument]:
    """The trade plan of this id, or the newest."""
    document = PlanStore(session.home.plans).find(plan_id, FLOW)
    return trade_plan_in(document), document


def last_plan(session: Session, symbol: str) -> TradePlan | None:
    """The newest where it is on this contract; one that cannot be read is none."""
    try:
        plan, _ = stored_trade(session, None)
    except (DamagedPlanError, NoSuchPlanError):
        return None
    return plan if plan.symbol == symbol else None


def last_decision(session: Session, symbol: str) -> PastDecision | None:
    """What was decided last on this contract, for consistency."""
    plan = last_plan(session, symbol)
    if plan is None or plan.regime is None:
        return None
    return PastDecision(
        plan_id=plan.plan_id,
        time=plan.made_at,
        decision=plan.decision,
        regime=plan.regime.regime,
        mark=plan.mark,
    )


_HOW: dict[OrderType, ExitKind] = {OrderType.STOP: "stop", OrderType.TAKE_PROFIT: "take_profit"}


@contextmanager
def trade_memory(session: Session) -> Iterator[TradeMemory]:
    memory = TradeMemory(session.home.memory)
    try:
        yield memory
    finally:
        memory.close()


async def learn(
    session: Session, there: Trading | OpenVenue, memory: TradeMemory, model: Model | None = None
) -> int:
    """Write a post-mortem of every trade that has ended on a venue since; how many were new."""
    plans = await current_orders(there.journal, there.venue)
    hedges = there.journal.hedges(there.venue.name)
    positions = {plan_id: start.key for plan_id, start in hedges.items()}
    known = {lesson.memory_id for lesson in memory.all()}
    new = 0
    for closing in closings(plans, positions):
        if closing.plan_id in known:
            continue
        plan = _plan(session, closing.plan_id)
        if plan is None:
            continue
        ended = ended_of(closing)
        new += memory.keep(await word_lesson(write_lesson(setup_of(plan), ended), model))
    return new


def setup_records(ended: Sequence[PostMortem]) -> tuple[SetupRecord, ...]:
    return tuple(SetupRecord(**record._asdict()) for record in kind_records(ended))


def setup_of(plan: TradePlan) -> TradeSetup:
    return TradeSetup(
        plan.plan_id,
        plan.symbol,
        plan.mode.value,
        plan.objective.value,
        plan.decision.value,
        "" if plan.regime is None else plan.regime.regime.value,
        tuple(anomaly.value for anomaly in plan.anomalies),
        tuple(f"{finding.expert.value} {finding.bias.value}" for finding in plan.findings),
        None if plan.odds is None else plan.odds.win_pct,
        None if plan.odds is None else plan.odds.fair_pct,
        plan.venue,
    )


def ended_of(closing: TradeClosing) -> EndedTrade:
    cost = (closing.entry or 0.0) * closing.quantity
    known = closing.pnl_usd is not None and cost > 0
    return EndedTrade(
        int(closing.closed_at),
        closing.entry,
        closing.exit,
        _HOW.get(closing.exit_type, "close"),
        (closing.pnl_usd or 0.0) / cost * 100 if known else None,
    )


def recall_lessons(memory: TradeMemory, symbol: str, setup: str) -> tuple[Lesson, ...]:
    return tuple(
        Lesson(
            memory_id=recalled.post_mortem.memory_id,
            time=recalled.post_mortem.time,
            symbol=recalled.post_mortem.symbol,
            setup=recalled.post_mortem.setup,
            outcome=recalled.post_mortem.outcome,
            constraint=recalled.post_mortem.constraint,
            score=recalled.score or 0.0,
        )
        for recalled in memory.similar(symbol, setup)
    )


def _plan(session: Session, plan_id: str) -> TradePlan | None:
    """A plan that was let go of or changed teaches nothing."""
    try:
        return stored_trade(session, plan_id)[0]
    except (DamagedPlanError, NoSuchPlanError):
        return None
