"""What the monitor tells of orders: carried out, ended, kept from it, and a key without gas."""

from collections.abc import Iterator
from contextlib import suppress

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.poll import FeatureNews
from chain.base.home import Home
from chain.base.units import DAY
from chain.contracts.networks import Network
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import OrderCall, OrderRefusedError, read_call
from chain.standing_orders.order import StandingState
from zuno_tui.features.orders.page import headline


def order_news(home: Home, network: Network, now: float) -> tuple[FeatureNews, ...]:
    book = StandingOrders(home.orders)
    mine = [kept for kept in book.all() if kept.order.chain_id == network.chain_id]
    told = [found for kept in mine for found in _of_order(kept, network, now)]
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


def _of_order(kept: KeptOrder, network: Network, now: float) -> Iterator[FeatureNews]:
    """What happened is told for a day, what keeps it from being carried out for as long as it
    does."""
    progress, number = kept.progress, kept.order.number
    fresh = progress.happened_at is not None and now - progress.happened_at <= DAY
    with suppress(OrderRefusedError):
        call = read_call(kept.order.signed, network)
        what = headline(kept.order, call)
        got = f" You received {' and '.join(progress.received)}." if progress.received else ""
        if kept.stands and progress.reason:
            words = f"Order {number} cannot be carried out: {progress.reason}"
            yield _news(kept, call, words, Severity.CRITICAL)
        if not fresh:
            return
        if progress.state is StandingState.ENDED:
            words = f"Order {number} has ended: {progress.reason}"
            yield _news(kept, call, words, Severity.INFO)
        elif progress.state is StandingState.DONE:
            words = f"Order {number} was carried out: {what}.{got}"
            yield _news(kept, call, words, Severity.WARNING)
        elif progress.done:
            times = f"{progress.done} of {call.times} times"
            words = f"Order {number} was carried out, {times}: {what}.{got}"
            yield _news(kept, call, words, Severity.INFO, f"time {progress.done}")


def _news(
    kept: KeptOrder, call: OrderCall, words: str, severity: Severity, which: str = ""
) -> FeatureNews:
    number, state = kept.order.number, kept.progress.state
    finding = Finding(
        AlertKind.STANDING_ORDER,
        severity,
        words,
        f"order {number} is {state.value}",
        "zuno orders",
        {},
    )
    return FeatureNews(finding, f"order {number} {which}".strip(), call.ref)
