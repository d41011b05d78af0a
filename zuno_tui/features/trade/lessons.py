"""Plans of the trade desk, and what ended trades teach: kept, and handed to the next question."""

import time
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
from agents.trade.data_set import DataSet, DataSetRow, EndedRow, OrderRow, SentRow, run_row
from agents.trade.facts import DeskRecord, Lesson, PastDecision, SetupRecord
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_plan_in
from chain.exchange.orders.engine import current_orders
from chain.exchange.orders.hedge import TradeClosing, closings
from chain.exchange.orders.order import OrderProgress, OrderType
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import Trading


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


def keep_run(session: Session, plan: TradePlan, document: PlanDocument) -> None:
    _keep(session, run_row(plan, str(document.get("requestId", ""))))


def keep_sent(session: Session, plan_id: str, sent: Sequence[OrderProgress]) -> None:
    _keep(session, SentRow(plan_id, int(time.time()), tuple(map(_order_row, sent))))


def keep_ended(session: Session, plan_id: str, ended: EndedTrade) -> None:
    row = EndedRow(plan_id, ended.closed_at, ended.how, ended.entry, ended.exit, ended.pnl_pct)
    _keep(session, row)


def _order_row(order: OrderProgress) -> OrderRow:
    return OrderRow(
        order.order.client_id,
        order.order.side.value,
        order.order.type.value,
        order.order.quantity,
        order.order.price,
        order.order.reduce_only,
        order.state.value,
        order.filled,
        order.average,
        order.fees,
    )


def _keep(session: Session, row: DataSetRow) -> None:
    """A trade is no worse for a line that could not be kept."""
    try:
        DataSet(session.home.memory).add(row)
    except OSError as error:
        session.narrate(f"The data set was not written: {error.strerror}.")


_HOW: dict[OrderType, ExitKind] = {OrderType.STOP: "stop", OrderType.TAKE_PROFIT: "take_profit"}


@contextmanager
def trade_memory(session: Session) -> Iterator[TradeMemory]:
    memory = TradeMemory(session.home.memory)
    try:
        yield memory
    finally:
        memory.close()


async def learn(
    session: Session, trading: Trading, memory: TradeMemory, model: Model | None = None
) -> int:
    """Write a post-mortem of every trade that has ended since; how many were new."""
    plans = await current_orders(trading.journal, trading.venue)
    hedges = trading.journal.hedges(trading.venue.name)
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
        if memory.keep(await word_lesson(write_lesson(setup_of(plan), ended), model)):
            keep_ended(session, plan.plan_id, ended)
            new += 1
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


def desk_record(ended: list[PostMortem]) -> DeskRecord:
    """How often trades won, how often chance would have, and how far the odds were off."""
    told = [
        (lesson.win_pct / 100, lesson.fair_pct / 100, lesson.won)
        for lesson in ended
        if lesson.win_pct is not None and lesson.fair_pct is not None and lesson.won is not None
    ]
    brier = sum((odds - won) ** 2 for odds, _, won in told) / len(told) if told else None
    return DeskRecord(
        resolved=len(told),
        won=sum(won for _, _, won in told),
        fair_wins=sum(fair for _, fair, _ in told),
        brier=brier,
    )


def _plan(session: Session, plan_id: str) -> TradePlan | None:
    """A plan that was let go of or changed teaches nothing."""
    try:
        return stored_trade(session, plan_id)[0]
    except (DamagedPlanError, NoSuchPlanError):
        return None
