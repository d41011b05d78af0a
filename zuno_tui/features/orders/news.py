"""What the monitor tells of orders: carried out, ended, kept from it, and a key without gas."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.poll import FeatureNews
from chain.base.units import DAY
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.call import OrderRefusedError, read_call
from chain.standing_orders.order import StandingState
from zuno_tui.features.orders.page import headline

if TYPE_CHECKING:
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.standing_orders.book import KeptOrder


def order_news(home: Home, network: Network) -> tuple[FeatureNews, ...]:
    book = StandingOrders(home.orders)
    mine = [one for one in book.all() if one.order.chain_id == network.chain_id]
    told = [found for one in mine for found in _of_order(book, one, network)]
    if low := book.low_key(network.chain_id):
        finding = Finding(
            AlertKind.WATCH_KEY_LOW,
            Severity.CRITICAL,
            f"{low} Until it has more, no order is carried out.",
            "the watch key lacks coin for gas",
            "zuno wallet watch-key",
            {},
        )
        told.append(FeatureNews(finding, "gas"))
    return tuple(told)


def _of_order(book: StandingOrders, kept: KeptOrder, network: Network) -> Iterator[FeatureNews]:
    progress, number = kept.progress, kept.order.number
    changed = book.changed_at(number)
    if changed is None or (not kept.stands and time.time() - changed > DAY):
        return
    with suppress(OrderRefusedError):
        call = read_call(kept.order.signed, network)
        what = headline(kept.order, call)
        match progress.state:
            case StandingState.DONE:
                got = (
                    f" You received {' and '.join(progress.received)}." if progress.received else ""
                )
                words, severity = f"Order {number} was carried out: {what}.{got}", Severity.WARNING
            case StandingState.ENDED:
                words, severity = f"Order {number} has ended: {progress.reason}", Severity.INFO
            case _ if progress.reason:
                words = f"Order {number} is kept from being carried out: {progress.reason}"
                severity = Severity.CRITICAL
            case _:
                return
        finding = Finding(
            AlertKind.STANDING_ORDER,
            severity,
            words,
            f"order {number} is {progress.state.value}",
            "zuno orders",
            {},
        )
        yield FeatureNews(finding, f"order {number}", call.token_id)
