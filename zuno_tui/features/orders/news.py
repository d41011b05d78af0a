"""What the monitor tells of orders: carried out, ended, kept from it, and a key without gas."""

from collections.abc import Iterator, Sequence

from agents.monitor.alerts.alert import Finding, Severity
from agents.monitor.rules.features import FeatureNews
from chain.base.home import Home
from chain.base.units import DAY
from chain.contracts.networks import Network
from chain.protocols.reference import PositionRef
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import OrderCall, OrderRefusedError, call_in
from chain.standing_orders.order import StandingState
from chain.standing_orders.seal import fault_of, is_signed
from zuno_tui.features.orders.alert_kinds import OrderAlert
from zuno_tui.features.orders.neighbors import replaced_by
from zuno_tui.features.orders.page import headline
from zuno_tui.features.orders.sight import OUTGROWN


def order_news(home: Home, network: Network, now: float) -> tuple[FeatureNews, ...]:
    book = StandingOrders(home.orders)
    every = book.all()
    mine = [kept for kept in every if kept.order.chain_id == network.chain_id]
    told = [found for kept in mine for found in _of_order(kept, mine, network, now)]
    # Of which chain they are is not known, so every one tells of them.
    told += [_lost(path.name) for path in book.damaged_files]
    told += [
        _lost(f"{kept.order.number}.json")
        for kept in every
        if kept not in mine and not is_signed(kept.order)
    ]
    if low := book.low_key(network.chain_id):
        told.append(
            _news(
                low,
                "the watch key cannot be used",
                "gas",
                kind=OrderAlert.WATCH_KEY_LOW,
                command="zuno wallet watch-key",
            )
        )
    return tuple(told)


def _lost(name: str) -> FeatureNews:
    words = (
        f"orders/{name} is damaged, changed or gone, so this order is not carried out. What was "
        "signed stays valid: put its copy back, or cancel it: zuno order cancel all"
    )
    return _news(words, f"orders/{name} cannot be read", f"file {name}")


def _of_order(
    kept: KeptOrder, every: Sequence[KeptOrder], network: Network, now: float
) -> Iterator[FeatureNews]:
    """What happened is told for a day, what keeps it from being carried out for as long as it
    does."""
    progress, number = kept.progress, kept.order.number
    fresh = progress.happened_at is not None and now - progress.happened_at <= DAY
    try:
        call = call_in(kept.order, network)
    except OrderRefusedError:
        yield _lost(f"{number}.json")
        return
    what = headline(kept.order, call)
    got = f" You received {' and '.join(progress.received)}." if progress.received else ""
    got += f" It is #{progress.became} now." if progress.became else ""
    state, label = f"order {number} is {progress.state.value}", f"order {number}"
    if kept.stands and (against := fault_of(kept.order, call) or progress.reason):
        words = f"Order {number} cannot be carried out: {against}"
        yield _news(words, state, label, ref=call.ref)
    if not fresh:
        return
    if progress.state is StandingState.ENDED:
        if progress.reason == OUTGROWN and call.traits.takes:
            yield _outgrown(kept, call, replaced_by(kept, call, every, network), state, label)
            return
        words = f"Order {number} has ended: {progress.reason}"
        yield _news(words, state, label, Severity.INFO, ref=call.ref)
    elif progress.state is StandingState.DONE:
        words = f"Order {number} was carried out: {what}.{got}"
        yield _news(words, state, label, Severity.WARNING, ref=call.ref)
    elif progress.done:
        times = f"{progress.done} of {call.times} times"
        words = f"Order {number} was carried out, {times}: {what}.{got}"
        yield _news(words, state, f"{label} time {progress.done}", Severity.INFO, ref=call.ref)


def _outgrown(
    kept: KeptOrder, call: OrderCall, by: int | None, state: str, label: str
) -> FeatureNews:
    """Without another close in its place nothing closes the position any more."""
    number = kept.order.number
    if by is None:
        return _news(f"Order {number} has ended: {OUTGROWN}", state, label, ref=call.ref)
    words = f"Order {number} has ended: the position is larger now, and order {by} replaced it."
    return _news(words, state, label, Severity.INFO, ref=call.ref)


def _news(
    words: str,
    title: str,
    label: str,
    severity: Severity = Severity.CRITICAL,
    *,
    ref: PositionRef | None = None,
    kind: OrderAlert = OrderAlert.STANDING_ORDER,
    command: str = "zuno orders",
) -> FeatureNews:
    return FeatureNews(Finding(kind, severity, words, title, command, {}), label, ref)
