"""The list of standing orders: what waits, how far its trigger is, until when and who watches."""

from collections.abc import Iterator

from msgspec import Struct

from chain.base.units import age_text, minute_text, signed_percent
from chain.contracts.networks import Address
from chain.execution.plan.protocol import OrderKind
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import PositionRef, position_label
from chain.protocols.snapshot import PositionSnapshot
from chain.standing_orders.book import KeptOrder
from chain.standing_orders.call import OrderCall
from chain.standing_orders.kinds import TRAITS
from chain.standing_orders.order import PricePast, StandingOrder, StandingState
from chain.standing_orders.seal import fault_of
from chain.tokens.pair import Pair
from zuno_tui.features.orders.carrier import Carrier
from zuno_tui.features.orders.page import condition_words, headline
from zuno_tui.features.orders.what_if import JudgedClose
from zuno_tui.present.charts import DrawnTone, figure
from zuno_tui.present.document import Units
from zuno_tui.present.pages.page import (
    Block,
    Cells,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    RangeGauge,
    Words,
    page_columns,
)

_FRESH, _JUST_NOW = 5 * 60, 60
"""Seconds since the last look: after the first nobody seems to watch; under the second: now."""


class PriceOfOrder(Struct, frozen=True):
    """Where the pool's price is, beside the trigger and the position's range."""

    unit: str
    now: float
    low: float
    high: float
    trigger: float | None
    distance: float | None
    """How far the price must move to the trigger, as a part of the price; a fall is negative."""


class StandingOrderRow(Struct, frozen=True):
    number: int
    kind: OrderKind
    token_id: PositionRef
    headline: str
    condition: str
    state: StandingState
    holds: bool
    """Whether its condition holds right now, and it waits out its time."""
    reason: str | None
    waits: str | None
    """What its condition lacked at the last look, where that is more than its price."""
    watch_key: Address
    watched_here: bool
    """Whether the key that carries it out is on this machine."""
    least: tuple[Units, ...]
    recipient: Address
    until: int
    times: int
    done: int
    looked_at: float | None
    transactions: tuple[str, ...]
    received: tuple[str, ...]
    became: str | None
    """The position that it is now, where that is another one."""
    price: PriceOfOrder | None
    what_if: JudgedClose | None

    @property
    def stands(self) -> bool:
        return self.state in (StandingState.WAITING, StandingState.SENT)


class OrderList(Struct, frozen=True):
    orders: tuple[StandingOrderRow, ...]
    stopped: bool
    """Whether this machine was told to carry out none."""
    confirmed: bool
    """Whether the chain could be asked."""
    now: float
    carrier: Carrier


def order_row(
    kept: KeptOrder,
    call: OrderCall,
    *,
    price: PriceOfOrder | None = None,
    what_if: JudgedClose | None = None,
    watch_key: Address | None = None,
    looked_at: float | None = None,
    low_key: str = "",
) -> StandingOrderRow:
    """`looked_at` is of those who watch: whoever lists orders looks, too, and watches nothing."""
    order, progress = kept.order, kept.progress
    here = watch_key == order.delegation_signed.delegate
    against = (fault_of(order, call) if kept.stands else "") or progress.reason
    return StandingOrderRow(
        number=order.number,
        kind=call.kind,
        token_id=call.ref,
        headline=headline(order, call),
        condition=condition_words(order, call),
        state=progress.state,
        holds=progress.state is StandingState.WAITING and progress.met_at is not None,
        reason=against or (low_key if here and kept.stands else "") or None,
        waits=progress.waits or None,
        watch_key=order.delegation_signed.delegate,
        watched_here=here,
        least=tuple(call.least),
        recipient=call.recipient,
        until=call.until,
        times=call.times,
        done=progress.done,
        looked_at=looked_at,
        transactions=progress.results,
        received=progress.received,
        became=progress.became or None,
        price=price,
        what_if=what_if,
    )


def price_of_order(
    order: StandingOrder, pair: Pair, position: PositionSnapshot
) -> PriceOfOrder | None:
    now = pair.price(position.pool.sqrt_price_x96)
    ends = [
        pair.price(sqrt_price_at_tick(tick))
        for tick in (position.identity.tick_lower, position.identity.tick_upper)
    ]
    known = sorted(end.value for end in ends if end is not None)
    if now is None or len(known) < len(ends):
        return None
    condition = order.condition
    level = pair.price(int(condition.sqrt_price)) if isinstance(condition, PricePast) else None
    return PriceOfOrder(
        unit=f"{pair.quote.label} per {pair.base.label}",
        now=now.value,
        low=known[0],
        high=known[1],
        trigger=None if level is None else level.value,
        distance=None if level is None or not now.value else level.value / now.value - 1,
    )


def orders_page(listed: OrderList) -> Page:
    if not listed.orders:
        return Page(
            "Orders",
            (
                (PageHeadline("No standing orders."),),
                (
                    Words("An order is signed now and carried out while you are away, such as:"),
                    Words("  order close 28 below 2900", "strong"),
                    Words("  order collect 28 every 7d over $50", "strong"),
                    Words("  order compound 28 every 7d times 4", "strong"),
                ),
            ),
        )
    waiting = [row for row in listed.orders if row.stands]
    over = [row for row in listed.orders if not row.stands]
    return Page(
        "Orders",
        (
            (_headline(listed, waiting),),
            (_table(waiting, listed),) if waiting else (),
            *(tuple(_picture(row)) for row in waiting if row.price is not None),
            (Words("ENDED", "title"), _ended(over)) if over else (),
            tuple(_notes(listed, waiting)),
        ),
    )


def _headline(listed: OrderList, waiting: list[StandingOrderRow]) -> PageHeadline:
    if not waiting:
        return PageHeadline("No order waits.", f"{len(listed.orders)} ended")
    count = "1 order waits" if len(waiting) == 1 else f"{len(waiting)} orders wait"
    if listed.stopped:
        return PageHeadline(f"{count}, and this machine carries out none", "orders go", "bad")
    if any(_silence(row, listed) is not None for row in waiting):
        return PageHeadline(f"{count}: nobody seems to watch", _NEEDS, "bad")
    if any(row.looked_at is None for row in waiting):
        return PageHeadline(count, "watched: the first look is due", "good")
    return PageHeadline(count, "watched: last look under 5 min ago", "good")


_NEEDS = "this desk or zuno monitor must run with the watch key"


def _silence(row: StandingOrderRow, listed: OrderList) -> str | None:
    """How long nobody looked; None while somebody does, or is about to."""
    if row.looked_at is None:
        return None if row.watched_here and listed.carrier.here is not None else "never"
    seconds = int(listed.now - row.looked_at)
    return None if seconds <= _FRESH else f"{age_text(seconds)} ago"


def _look_words(row: StandingOrderRow, now: float) -> str:
    if row.looked_at is None:
        return "nobody has looked yet"
    seconds = int(now - row.looked_at)
    return f"last look {age_text(seconds)} ago" if seconds >= _JUST_NOW else "last look just now"


def _table(waiting: list[StandingOrderRow], listed: OrderList) -> PageTable:
    columns = page_columns("#>", "DOES", "WHEN", "AWAY>", "UNTIL", "LAST LOOK@90")
    return PageTable(columns, tuple(_waiting_cells(row, listed) for row in waiting))


def _waiting_cells(row: StandingOrderRow, listed: OrderList) -> Cells:
    silence = _silence(row, listed)
    watched = "soon" if row.looked_at is None else "just now"
    times = f" ({row.done} of {row.times})" if row.times > 1 else ""
    return (
        PageCell(str(row.number)),
        PageCell(f"{TRAITS[row.kind].command} {position_label(row.token_id)}{times}", "strong"),
        PageCell(row.condition.removeprefix("the ").replace("price is", "price")),
        _distance(row),
        PageCell(minute_text(row.until)[:10], "dim"),
        PageCell(silence or watched, "bad" if silence else "good"),
    )


def _distance(row: StandingOrderRow) -> PageCell:
    if row.state is StandingState.SENT:
        return PageCell("being sent", "warn")
    if row.holds:
        return PageCell("reached", "warn")
    if row.price is None or row.price.distance is None:
        return PageCell("–", "dim")
    near: DrawnTone = "warn" if abs(row.price.distance) < 0.02 else "plain"
    return PageCell(signed_percent(row.price.distance), near)


def _picture(row: StandingOrderRow) -> Iterator[Block]:
    """The range with the price in it, and the trigger where it would lie."""
    price = row.price
    if price is None or price.high <= price.low:
        return
    trigger = "" if price.trigger is None else f" · ┃ trigger {figure(price.trigger)}"
    yield RangeGauge(
        f"order {row.number}  ",
        price.low,
        price.high,
        price.now,
        price.trigger,
        f"  ● now {figure(price.now)}{trigger} {price.unit}",
    )


def _ended(over: list[StandingOrderRow]) -> PageTable:
    columns = page_columns("#>", "WAS", "OUTCOME", "RESULT")
    rows = (
        (
            PageCell(str(row.number), "dim"),
            PageCell(row.headline, "dim"),
            PageCell("done", "good") if row.state is StandingState.DONE else PageCell("ended"),
            PageCell(_outcome(row)),
        )
        for row in over
    )
    return PageTable(columns, tuple(rows))


def _outcome(row: StandingOrderRow) -> str:
    now = "" if row.became is None else f"now #{row.became}, "
    return f"{now}{' + '.join(row.received) or row.reason or '–'}"


def _notes(listed: OrderList, waiting: list[StandingOrderRow]) -> Iterator[Words]:
    for row in waiting:
        if row.reason:
            yield Words(
                f"! order {row.number}: {row.reason} ({_look_words(row, listed.now)})", "warn"
            )
        elif row.waits:
            yield Words(f"order {row.number} waits: {row.waits} ({_look_words(row, listed.now)})")
    for row in listed.orders:
        if row.what_if is not None:
            yield Words(f"order {row.number}, {row.what_if.words}")
    away = [str(row.number) for row in waiting if not row.watched_here]
    if away:
        yield Words(f"Watched by a key that is not on this machine: order {', '.join(away)}.")
    if waiting:
        if listed.carrier.words:
            yield Words(listed.carrier.words)
        yield Words(
            f"To end one: zuno order cancel {waiting[0].number} · to pause all on this machine: "
            "zuno orders stop"
        )
