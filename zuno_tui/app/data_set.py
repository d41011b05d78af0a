"""Lines of the desk's data set, written where a run, its orders or a trade have come to an end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agents.trade.data_set import DataSet, EndedRow, OrderRow, SentRow, run_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.bus.plan_store import PlanDocument
    from agents.memory.post_mortem import EndedTrade
    from agents.trade.data_set import DataSetRow
    from agents.trade.plan import TradePlan
    from chain.exchange.orders.order import OrderProgress
    from zuno_tui.app.session import Session


def keep_run(session: Session, plan: TradePlan, document: PlanDocument) -> None:
    _keep(session, run_row(plan, str(document.get("requestId", ""))))


def keep_sent(session: Session, plan_id: str, sent: Sequence[OrderProgress]) -> None:
    _keep(session, SentRow(plan_id, int(time.time()), tuple(map(_order_row, sent))))


def keep_ended(session: Session, plan_id: str, ended: EndedTrade) -> None:
    row = EndedRow(plan_id, ended.closed_at, ended.how, ended.entry, ended.exit, ended.pnl_pct)
    _keep(session, row)


def _order_row(one: OrderProgress) -> OrderRow:
    return OrderRow(
        one.order.client_id,
        one.order.side.value,
        one.order.type.value,
        one.order.quantity,
        one.order.price,
        one.order.reduce_only,
        one.state.value,
        one.filled,
        one.average,
        one.fees,
    )


def _keep(session: Session, row: DataSetRow) -> None:
    """A trade is no worse for a line that could not be kept."""
    try:
        DataSet(session.home.memory).add(row)
    except OSError as error:
        session.narrate(f"The data set was not written: {error.strerror}.")
