"""The one interface to a venue that takes orders, and sending through it exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from chain.base.errors import Failure, ZunoError
from chain.exchange.orders.closing import PlanOrders
from chain.exchange.orders.journal import JournalEntry, JournalState, TradeApproval, TradeJournal
from chain.exchange.orders.order import (
    OrderProgress,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
)

if TYPE_CHECKING:
    from chain.exchange.orders.hedge import HedgeStart


class OrderUnansweredError(ZunoError):
    """An order was sent, and the venue may have it or not; it is never sent again."""

    failure = Failure.NETWORK


class VenueAccount(Struct, frozen=True):
    """What a venue says one has there: dollars, positions and what may still be filled."""

    venue: str
    time: float
    equity: float
    positions: tuple[PerpetualPosition, ...]
    open_orders: tuple[OrderProgress, ...]
    fees: float | None
    """None where the venue does not tell them in one sum."""
    funding: float
    krw_per_usd: float | None = None
    """Of a spot venue that counts in won."""
    marks: dict[str, float] = {}
    """In dollars, where the venue prices what is held itself."""

    def held(self, symbol: str) -> float:
        """Above 0 long, below 0 short."""
        return sum(position.quantity for position in self.positions if position.symbol == symbol)


class Venue(Protocol):
    """A place that takes orders; the same client id twice is one order."""

    name: str
    late_seconds: float
    """An order that has not arrived so long after it was sent never will."""

    async def account(self) -> VenueAccount: ...

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        """In which orders it takes this one; those after the first wait their seconds."""

    async def submit(self, order: VenueOrder) -> OrderProgress: ...

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        """By its client id."""

    async def cancel(self, order: VenueOrder) -> OrderProgress | None: ...

    async def now(self) -> float: ...


async def send_orders(
    journal: TradeJournal,
    venue: Venue,
    approval: TradeApproval,
    orders: Sequence[VenueOrder],
    hedge: HedgeStart | None = None,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    on_sent: Callable[[OrderProgress], None] = lambda _: None,
) -> tuple[OrderProgress, ...]:
    """Write all down, every part of them, then send each; what breaks off `reconcile` finds.

    What only protects is not sent where the venue refused what it would protect, and follows the
    first part of it; after a part that was refused no other is sent.
    """
    parts = [part for order in orders for part in await venue.parts(order)]
    parts.sort(key=_waits)
    journal.begin(approval, parts, await venue.now(), hedge)
    sent: list[OrderProgress] = []
    for part in parts:
        waits = _waits(part)
        refused = any(order.state is OrderState.REFUSED for order in (sent if waits else sent[:1]))
        if refused:
            journal.mark(part.client_id, JournalState.ABANDONED, await venue.now())
            continue
        if waits:
            await sleep(part.slice_seconds)
        sent.append(await _send(journal, venue, part))
        on_sent(sent[-1])
    return tuple(sent)


async def reconcile(journal: TradeJournal, venue: Venue) -> tuple[JournalEntry, ...]:
    """Ask the venue about everything left between: looking sends nothing.

    What it has is acknowledged. What it never had is abandoned: an order is sent while the person
    who approved it is there, or not at all. What may still be on its way stays open.
    """
    left = [entry for entry in journal.unsettled() if entry.venue == venue.name]
    for entry in left:
        client_id, now = entry.order.client_id, await venue.now()
        found = await venue.find(entry.order)
        sending = entry.state is JournalState.SENDING
        if found is None and sending and now - entry.changed_at < venue.late_seconds:
            continue
        state = JournalState.ABANDONED if found is None else JournalState.ACKNOWLEDGED
        journal.mark(client_id, state, now, found)
    names = {entry.order.client_id for entry in left}
    return tuple(entry for entry in journal.entries() if entry.order.client_id in names)


async def current_orders(
    journal: TradeJournal, venue: Venue, plan_ids: Collection[str] | None = None
) -> tuple[PlanOrders, ...]:
    """How the orders of these plans stand, or of all; one that has ended is not asked for again."""
    plans: dict[str, list[OrderProgress]] = {}
    for entry in journal.entries():
        wanted = plan_ids is None or entry.plan_id in plan_ids
        if not wanted or entry.venue != venue.name or entry.state is JournalState.ABANDONED:
            continue
        known, client_id = entry.answer, entry.order.client_id
        if known is None or known.is_open:
            known = await venue.find(entry.order)
            if known is not None and not known.is_open:
                journal.mark(client_id, JournalState.ACKNOWLEDGED, await venue.now(), known)
        plans.setdefault(entry.plan_id, [])
        if known is not None:
            plans[entry.plan_id].append(known)
    return tuple(PlanOrders(plan_id, tuple(found)) for plan_id, found in plans.items())


async def _send(journal: TradeJournal, venue: Venue, order: VenueOrder) -> OrderProgress:
    journal.mark(order.client_id, JournalState.SENDING, await venue.now())
    progress = await venue.submit(order)
    journal.mark(order.client_id, JournalState.ACKNOWLEDGED, await venue.now(), progress)
    return progress


def _waits(part: VenueOrder) -> bool:
    """Whether it is a later part of an order in slices."""
    return part.type is not OrderType.SLICED and part.slice_seconds > 0
