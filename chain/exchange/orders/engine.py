"""Orders through their whole life: sent once, protected when they fill, cleared away afterwards.

A venue may lose an answer, forget an order for seconds, or be killed together with whoever talks
to it. So all is written down first, and `tend_orders` brings what was left between to its end: it
may run at any moment, any number of times, and does what is still to be done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from chain.exchange.orders.hedge import HedgeStart, PlanOrders
from chain.exchange.orders.journal import JournalEntry, JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import OrderUnansweredError, TakesGroups, Venue
from chain.prices.market_http import MarketError

Sleep = Callable[[float], Awaitable[None]]
_LOOK_SECONDS = 0.5
_FOLLOW_SECONDS = 1.0
_TRIES = 3
"""How often a stop is sent that the venue refuses, before what it should protect is closed."""
_DIGITS = 10
_DUST = 1e-9
_AGREEING, _ROUNDED = 6, 1e-6
"""Looks at what is held, and the part by which floats of a venue and of fills may differ."""
CANCELLED_HERE = "it had nothing left to do"
"""Why an order ended that was cancelled from here; any other was cancelled by somebody else."""
_CLOSING = ".x"
"""In the name of an order that closes what could not be protected."""


class NoticeKind(StrEnum):
    PROTECTED = "protected"
    """A stop or a profit that was missing rests now."""
    CLOSED = "closed"
    """It could not be protected, and was closed."""
    UNPROTECTED = "unprotected"
    """It has no stop, and could not be closed either."""
    UNKNOWN = "unknown"
    """It has no stop, and nobody can tell whether anything of it is filled."""
    UNREACHED = "unreached"
    """An order that was sent never reached the venue."""
    RESIZED = "resized"
    """A stop or a profit was made as large as what is left."""
    CLEARED = "cleared"
    """An order with nothing left to protect was cancelled."""
    UNTOLD = "untold"
    """Nobody can tell how an order ended: what finishes it is not sent."""
    DISPUTED = "disputed"
    """What is held is not what its orders say was filled: nothing more is sent for it."""
    NO_PROFIT = "no_profit"
    """The venue keeps no profit order for it; the stop stands."""


class OrderNotice(Struct, frozen=True):
    """Something about an order that its owner should know."""

    kind: NoticeKind
    plan_id: str
    order: VenueOrder
    reason: str = ""

    @property
    def is_urgent(self) -> bool:
        return self.kind in _URGENT

    @property
    def words(self) -> str:
        order = self.order
        words = _WORDS[self.kind].format(order=f"Order {order.client_id}", symbol=order.symbol)
        return f"{words}: {self.reason}" if self.reason else f"{words}."


_URGENT = (
    NoticeKind.CLOSED,
    NoticeKind.UNPROTECTED,
    NoticeKind.UNKNOWN,
    NoticeKind.UNTOLD,
    NoticeKind.DISPUTED,
)
_WORDS = {
    NoticeKind.PROTECTED: "{order} was missing and rests now",
    NoticeKind.CLOSED: "{symbol} could not be protected and was closed at once",
    NoticeKind.UNPROTECTED: "{symbol} has NO STOP on the venue. Look at it now",
    NoticeKind.UNKNOWN: "{symbol} may be filled and has no stop: the venue cannot be asked",
    NoticeKind.UNREACHED: "{order} never reached the venue",
    NoticeKind.RESIZED: "{order} was made smaller, because a part of its trade was closed",
    NoticeKind.CLEARED: "{order} had nothing left to do and was cancelled",
    NoticeKind.UNTOLD: "{order}: the venue does not say how it ended, so nothing more was sent",
    NoticeKind.DISPUTED: "{symbol}: the venue holds another amount than its orders tell of, so "
    "nothing more was sent. See both: zuno trade status",
    NoticeKind.NO_PROFIT: "{symbol} has a stop, but the venue keeps no profit order for it",
}


async def send_orders(
    journal: TradeJournal,
    venue: Venue,
    plan_id: str,
    orders: Sequence[VenueOrder],
    hedge: HedgeStart | None = None,
    *,
    sleep: Sleep = asyncio.sleep,
    on_sent: Callable[[OrderProgress], None] = lambda _: None,
    on_notice: Callable[[OrderNotice], None] = lambda _: None,
) -> tuple[OrderProgress, ...]:
    """Write all down, every part of them, then send each; what breaks off `tend_orders` finds.

    What protects is sent once something is filled, and a resting order is waited for so that it
    is. After a part that was refused no other is sent. What finishes an order waits for its time
    to end, and takes what is left of it.
    """
    parts = [part for order in orders for part in await venue.parts(order)]
    parts.sort(key=_waits)
    journal.begin(plan_id, venue.name, parts, await venue.now(), hedge)
    plan = _Plan(journal, venue, plan_id, sleep)
    guards = [part for part in parts if _guards(part)] if not _only_closes(parts) else []
    sent: list[OrderProgress] = []
    finishing = next((part for part in parts if part.finishes), None)
    before = 0.0
    if finishing is not None:
        before = (await venue.account()).quantity_of(finishing.symbol)
    for part in (part for part in parts if part not in guards):
        waits = _waits(part)
        if plan.state(part) is JournalState.ABANDONED:
            continue  # what it adds to was closed meanwhile
        if any(order.state is OrderState.REFUSED for order in (sent if waits else sent[:1])):
            journal.mark(part.client_id, JournalState.ABANDONED, await venue.now())
            continue
        if waits:
            await sleep(part.slice_seconds)
        if part.finishes:
            sent[-1], left, notice = await plan.left_to_finish(sent[-1], before)
            if notice is not None:
                on_notice(OrderNotice(notice, plan_id, sent[-1].order))
            if left <= 0:
                journal.mark(part.client_id, JournalState.ABANDONED, await venue.now())
                continue
            part = replace(part, quantity=min(part.quantity, left))  # noqa: PLW2901
            journal.resize(part)
        if guards and not waits:
            sent.append(await plan.send_group(part, guards))
        else:
            sent.append(await plan.send(part))
        on_sent(sent[-1])
        if guards:
            await _protect(plan, on_sent, on_notice, sending=True)
    if guards:
        await _follow(plan, sent[-1], on_sent, on_notice)
    return _answers(plan.rows())


async def _protect(
    plan: _Plan,
    on_sent: Callable[[OrderProgress], None],
    on_notice: Callable[[OrderNotice], None],
    *,
    sending: bool,
) -> None:
    """What was filled gets its stop and its profit before anything else is sent."""
    known = {answer.order.client_id for answer in _answers(plan.rows())}
    for notice in await plan.tend(sending=sending):
        if notice.kind is not NoticeKind.PROTECTED:
            on_notice(notice)
    for answer in _answers(plan.rows()):
        if answer.order.client_id not in known:
            on_sent(answer)


async def _follow(
    plan: _Plan,
    last: OrderProgress,
    on_sent: Callable[[OrderProgress], None],
    on_notice: Callable[[OrderNotice], None],
) -> None:
    """A resting order until its time is over, with protection for each part that is filled.

    A venue that takes groups does that itself.
    """
    await _protect(plan, on_sent, on_notice, sending=False)
    seconds = 0 if plan.groups else last.order.expires_seconds or 0
    for _ in range(int(seconds / _FOLLOW_SECONDS) + 1 if seconds else 0):
        if not any(_is_unfinished(row) for row in plan.openings()):
            return
        await plan.sleep(_FOLLOW_SECONDS)
        await _protect(plan, on_sent, on_notice, sending=False)


async def tend_orders(
    journal: TradeJournal, venue: Venue, *, sleep: Sleep = asyncio.sleep
) -> tuple[OrderNotice, ...]:
    """Everything that was left between: asked for, protected, closed or cleared away.

    An order that opens is sent while the person who approved it is there, or not at all. What
    protects it was approved with it, and is sent whenever it is missing.
    """
    found: list[OrderNotice] = []
    for rows in unfinished_plans(journal.entries()):
        if rows[0].venue == venue.name:
            found += await _Plan(journal, venue, rows[0].plan_id, sleep).tend()
    return tuple(found)


def unfinished_plans(entries: Sequence[JournalEntry]) -> tuple[Sequence[JournalEntry], ...]:
    """The orders of every plan of which anything may still change."""
    plans: dict[str, list[JournalEntry]] = {}
    for entry in entries:
        plans.setdefault(entry.plan_id, []).append(entry)
    return tuple(rows for rows in plans.values() if _needs_care(rows))


def bare_trades(entries: Sequence[JournalEntry], reason: str) -> tuple[OrderNotice, ...]:
    """What has no stop by the journal alone, where the venue cannot be asked."""
    found = []
    for rows in unfinished_plans(entries):
        stops = [row for row in rows if row.order.type is OrderType.STOP and _guards(row.order)]
        rests = any(row.answer is not None and row.answer.is_open for row in stops)
        if stops and not rests:
            held = _exposure(rows) > _DUST
            kind = NoticeKind.UNPROTECTED if held else NoticeKind.UNKNOWN
            found.append(OrderNotice(kind, rows[0].plan_id, stops[0].order, reason))
    return tuple(found)


async def current_orders(
    journal: TradeJournal, venue: Venue, plan_ids: Collection[str] | None = None
) -> tuple[PlanOrders, ...]:
    """How the orders of these plans stand, or of all; one that has ended is not asked for again."""
    plans: dict[str, list[OrderProgress]] = {}
    for entry in journal.entries():
        wanted = plan_ids is None or entry.plan_id in plan_ids
        never_sent = entry.state in (JournalState.ABANDONED, JournalState.INTENDED)
        if not wanted or entry.venue != venue.name or never_sent:
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


class _Plan:
    """The orders of one plan on their venue, by the journal."""

    def __init__(self, journal: TradeJournal, venue: Venue, plan_id: str, sleep: Sleep) -> None:
        self._journal = journal
        self._venue = venue
        self._plan_id = plan_id
        self.sleep = sleep
        grouping = venue if isinstance(venue, TakesGroups) else None
        self._grouping = grouping if venue.abilities.groups else None
        self._notices: list[OrderNotice] = []

    @property
    def groups(self) -> bool:
        return self._grouping is not None

    def state(self, order: VenueOrder) -> JournalState:
        return next(row.state for row in self.rows() if row.order.client_id == order.client_id)

    def rows(self) -> tuple[JournalEntry, ...]:
        return self._journal.entries(self._plan_id)

    def openings(self) -> list[JournalEntry]:
        return [row for row in self.rows() if not row.order.reduce_only]

    async def tend(self, *, sending: bool = False) -> tuple[OrderNotice, ...]:
        """What is still to be done; `sending` says that its later parts are on their way."""
        self._notices = []
        try:
            await self._look(sending=sending)
            if self.openings():
                await self._guard(sending=sending)
        except (MarketError, OrderUnansweredError) as error:
            bare = [row for row in self._guards() if row.state is not JournalState.ACKNOWLEDGED]
            stops = [row for row in bare if row.order.type is OrderType.STOP] or self._exits()
            held = self._exposure() > _DUST
            if held and self._exposure() - _stopped(self.rows()) <= _DUST:
                return tuple(self._notices)  # what could not be done leaves nothing bare
            if stops and (held or any(_is_unfinished(row) for row in self.openings())):
                kind = NoticeKind.UNPROTECTED if held else NoticeKind.UNKNOWN
                self._tell(kind, stops[0].order, str(error))
        return tuple(self._notices)

    async def _look(self, *, sending: bool) -> None:
        """Ask the venue about everything that is open or unknown."""
        for row in self.rows():
            order, now = row.order, await self._venue.now()
            if row.state is JournalState.INTENDED:
                if not (sending or self._is_ours_to_send(row)):
                    self._journal.mark(order.client_id, JournalState.ABANDONED, now)
                continue
            if not _is_unfinished(row) or self._is_part_of_entry(row):
                continue
            found = await self._found(row)
            now = await self._venue.now()
            if found is not None and found.is_open and _is_over(found, now):
                found = await self._venue.cancel(order)
            if found is not None:
                self._journal.mark(order.client_id, JournalState.ACKNOWLEDGED, now, found)
            elif row.state is JournalState.ACKNOWLEDGED:
                # A busy venue forgets for seconds what it had: asked for again, it is lost later.
                self._journal.mark(order.client_id, JournalState.SENDING, now)
            elif now - row.changed_at >= self._venue.late_seconds:
                self._never_came(row, now)

    def _is_part_of_entry(self, row: JournalEntry) -> bool:
        """In a group what protects is no order of its own before something is filled."""
        known = row.state is JournalState.ACKNOWLEDGED
        return self.groups and known and _guards(row.order) and not _filled(self.openings())

    async def _found(self, row: JournalEntry) -> OrderProgress | None:
        """What protects is waited for until it is known: it may have to be sent again."""
        found = await self._venue.find(row.order)
        waits = row.state is JournalState.SENDING and self._is_ours_to_send(row)
        for _ in range(int(self._venue.late_seconds / _LOOK_SECONDS) + 1 if waits else 0):
            late = await self._venue.now() - row.changed_at >= self._venue.late_seconds
            if found is not None or late:
                break
            await self.sleep(_LOOK_SECONDS)
            found = await self._venue.find(row.order)
        return found

    def _never_came(self, row: JournalEntry, now: float) -> None:
        again = self._is_ours_to_send(row)
        state = JournalState.INTENDED if again else JournalState.ABANDONED
        self._journal.mark(row.order.client_id, state, now)
        if not again:
            self._tell(NoticeKind.UNREACHED, row.order)

    async def _guard(self, *, sending: bool) -> None:
        """Bring what protects in line with what is held."""
        openings, exposure = self.openings(), self._exposure()
        may_grow = sending or any(_is_unfinished(row) for row in openings)
        if exposure <= _DUST:
            if _filled(openings) > 0 or not may_grow:
                await self._clear(self.rows())
            return
        if not sending and await self._is_gone(openings):
            await self._clear(self._guards())
            for row in self._guards():
                if row.answer is not None and _is_bereft(row):
                    ended = replace(row.answer, reason=CANCELLED_HERE)
                    self._journal.mark(row.order.client_id, row.state, row.changed_at, ended)
            for row in self._exits():
                await self._abandon(row)
            return
        if not self._exits():
            await self._cover(OrderType.STOP, exposure, may_grow=may_grow)
        if not self._exits():
            await self._cover(OrderType.TAKE_PROFIT, exposure, may_grow=may_grow)
        if self._exits():
            await self._close()

    def _exposure(self) -> float:
        return _exposure(self.rows())

    async def _cover(self, kind: OrderType, exposure: float, *, may_grow: bool) -> None:
        """As much as is held and no more; what may still be filled stays written down."""
        rows = [row for row in self._guards() if row.order.type is kind]
        missing = round(exposure - sum(_may_close(row) for row in rows), _DIGITS)
        waiting = [row for row in rows if row.state is JournalState.INTENDED]
        if missing < -_DUST:
            await self._shrink(rows, -missing)
        if rows and not waiting and missing > _DUST and kind is OrderType.STOP:
            if not self.groups:
                self._tell(NoticeKind.UNPROTECTED, rows[0].order, "somebody cancelled its stop")
                return
            # A group whose entry was filled in part takes its stop along when it ends.
            again = replace(rows[0].order, client_id=f"{rows[0].order.client_id}.{len(rows)}")
            self._journal.add(rows[0], again, await self._venue.now())
            waiting = [self._guards()[-1]]
        for row in waiting:
            wanted = round(min(missing, row.order.quantity), _DIGITS)
            if wanted <= _DUST:
                if not may_grow:
                    await self._abandon(row)
                continue
            rest = round(row.order.quantity - wanted, _DIGITS)
            if rest > _DUST and may_grow:
                name = f"{rows[0].order.client_id}.{len(rows)}"
                later = replace(row.order, client_id=name, quantity=rest)
                self._journal.add(row, later, await self._venue.now())
            part = replace(row.order, quantity=wanted)
            self._journal.resize(part)
            await self._place(row, part, exposure)
            missing -= wanted

    async def _shrink(self, rows: Sequence[JournalEntry], excess: float) -> None:
        """A part was closed: what would close more than is left could eat another trade.

        The smaller one is sent first, so that nothing is bare in between.
        """
        resting = [row for row in rows if row.answer is not None and row.answer.is_open]
        for row in sorted(resting, key=_may_close, reverse=True):
            left = round(_may_close(row) - excess, _DIGITS)
            if excess <= _DUST:
                return
            if left > _DUST:
                name = f"{rows[0].order.client_id}.{len(rows)}"
                smaller = replace(row.order, client_id=name, quantity=left)
                if any(row.order.quantity == left and _is_refused(row) for row in rows):
                    return  # it would be refused again: the larger one still protects
                self._journal.add(row, smaller, await self._venue.now())
                done = await self._tried(smaller)
                if done is not None and done.state is OrderState.REFUSED:
                    now = await self._venue.now()
                    self._journal.mark(name, JournalState.ACKNOWLEDGED, now, done)
                    return
            excess = round(excess - _may_close(row), _DIGITS)
            await self._clear([row], NoticeKind.RESIZED)

    async def _place(self, row: JournalEntry, part: VenueOrder, exposure: float) -> None:
        done = await self._tried(part)
        if done is None:
            return
        if done.state is not OrderState.REFUSED:
            self._tell(NoticeKind.PROTECTED, part)
            return
        if part.type is OrderType.STOP:
            # Told apart from a crash between: what closes it is written down with the refusal.
            closing = self._closing(row, exposure, 0)
            self._journal.add(row, closing, await self._venue.now(), in_place_of=done)
            self._tell(NoticeKind.CLOSED, closing, done.reason)
        else:
            now = await self._venue.now()
            self._journal.mark(part.client_id, JournalState.ACKNOWLEDGED, now, done)
            self._tell(NoticeKind.NO_PROFIT, part, done.reason)

    async def _tried(self, part: VenueOrder) -> OrderProgress | None:
        """What became of it, sent again where it is refused; None where it was there already."""
        for attempt in range(_TRIES):
            if attempt:
                await self.sleep(_LOOK_SECONDS * 2**attempt)
            known = await self._venue.find(part) if self.groups else None
            if known is not None:
                # It came with what it protects, and is an order of its own since that was filled.
                await self._answered(known, again=True)
                return None
            done = await self.send(part, again=True)
            if done.state is not OrderState.REFUSED:
                break
        return done

    async def _close(self) -> None:
        """At any price: nothing here may stay without a stop."""
        await self._clear([row for row in self.rows() if row not in self._exits()])
        exits, exposure = self._exits(), self._exposure()
        if exposure > _DUST and not _is_unfinished(exits[-1]):
            order = self._closing(exits[-1], exposure, len(exits))
            self._journal.add(exits[-1], order, await self._venue.now())
        last = self._exits()[-1]
        if last.state is JournalState.INTENDED:
            order = replace(last.order, quantity=round(exposure, _DIGITS))
            self._journal.resize(order)
            done = await self.send(order, again=True)
            if done.state is OrderState.REFUSED:
                self._tell(NoticeKind.UNPROTECTED, order, done.reason)
                return
        if self._exposure() > _DUST:
            self._tell(NoticeKind.UNPROTECTED, last.order, "it could not be closed yet")

    def _closing(self, row: JournalEntry, exposure: float, number: int) -> VenueOrder:
        opening = self.openings()[0].order
        return VenueOrder(
            client_id=f"{opening.client_id}{_CLOSING}{number}",
            symbol=row.order.symbol,
            side=opening.side.opposite,
            type=OrderType.MARKET,
            quantity=round(exposure, _DIGITS),
            reduce_only=True,
        )

    async def _is_gone(self, openings: Sequence[JournalEntry]) -> bool:
        """Whether somebody else closed it: then what protects it could open something."""
        now = await self._venue.now()
        filled_at = max(row.answer.changed_at for row in openings if row.answer is not None)
        # A venue shows what is held a moment later than what was filled.
        if now - filled_at <= self._venue.late_seconds:
            return False
        opening = openings[0].order
        return (await self._venue.account()).quantity_of(
            opening.symbol
        ) * opening.side.sign <= _DUST

    async def _clear(
        self, rows: Sequence[JournalEntry], kind: NoticeKind = NoticeKind.CLEARED
    ) -> None:
        """Cancel on the venue what has nothing left to do."""
        for row in rows:
            if row.state is JournalState.INTENDED:
                await self._abandon(row)
            elif row.answer is not None and row.answer.is_open:
                found = await self._venue.cancel(row.order)
                if found is None:
                    await self._abandon(row)
                    continue
                now = await self._venue.now()
                found = found if found.is_open else replace(found, reason=CANCELLED_HERE)
                self._journal.mark(row.order.client_id, JournalState.ACKNOWLEDGED, now, found)
                self._tell(kind, row.order)

    async def _abandon(self, row: JournalEntry) -> None:
        now = await self._venue.now()
        self._journal.mark(row.order.client_id, JournalState.ABANDONED, now)

    async def send(self, order: VenueOrder, *, again: bool = False) -> OrderProgress:
        """Once: an answer that is lost is looked for until it is known, or cannot come any more.

        With `again` one that is refused or never came stays written down, to be sent again.
        """
        self._journal.mark(order.client_id, JournalState.SENDING, await self._venue.now())
        try:
            done = await self._venue.submit(order)
        except OrderUnansweredError as error:
            done = await self._known(order, error)
        return await self._answered(done, again=again)

    async def send_group(self, order: VenueOrder, guards: Sequence[VenueOrder]) -> OrderProgress:
        """With what protects it, where the venue takes that at once; else alone."""
        grouping = self._grouping
        if grouping is None:
            return await self.send(order)
        group = [order, *guards]
        for sibling in group:
            self._journal.mark(sibling.client_id, JournalState.SENDING, await self._venue.now())
        try:
            answers = await grouping.submit_group(group)
        except OrderUnansweredError as error:
            answers = tuple([await self._known(sibling, error) for sibling in group])
        done = [await self._answered(answer, again=answer.order != order) for answer in answers]
        return done[0]

    async def _answered(self, done: OrderProgress, *, again: bool) -> OrderProgress:
        now, name = await self._venue.now(), done.order.client_id
        if again and done.state is OrderState.REFUSED:
            self._journal.mark(name, JournalState.INTENDED, now)
        else:
            self._journal.mark(name, JournalState.ACKNOWLEDGED, now, done)
        return done

    async def _known(self, order: VenueOrder, error: OrderUnansweredError) -> OrderProgress:
        """What became of an order without an answer; raises where the venue cannot be asked."""
        sent_at, answered = await self._venue.now(), False
        now = sent_at
        for _ in range(int(self._venue.late_seconds / _LOOK_SECONDS) + 1):
            await self.sleep(_LOOK_SECONDS)
            try:
                found, now = await self._venue.find(order), await self._venue.now()
            except MarketError:
                continue
            if found is not None:
                return found
            answered = True
            if now - sent_at >= self._venue.late_seconds:
                break
        if not answered or now - sent_at < self._venue.late_seconds:
            raise error
        return OrderProgress(
            order=order,
            state=OrderState.REFUSED,
            placed_at=now,
            changed_at=now,
            reason="it never reached the venue",
        )

    async def await_end(self, resting: OrderProgress) -> OrderProgress | None:
        """A resting order when its time is over; None where nobody can tell how it ended."""
        order, seconds = resting.order, resting.order.expires_seconds or 0
        found: OrderProgress | None = resting
        now = await self._venue.now()
        # A venue's clock may stand still or run ahead: whichever is over first ends it.
        for _ in range(int(seconds / _LOOK_SECONDS)):
            if found is None or not found.is_open or now >= resting.placed_at + seconds:
                break
            await self.sleep(_LOOK_SECONDS)
            found, now = await self._venue.find(order), await self._venue.now()
        if found is not None and found.is_open:
            await self._venue.cancel(order)
            found = await self._venue.find(order)
        if found is None or found.is_open:
            return None
        self._journal.mark(order.client_id, JournalState.ACKNOWLEDGED, now, found)
        return found

    async def left_to_finish(
        self, resting: OrderProgress, before: float
    ) -> tuple[OrderProgress, float, NoticeKind | None]:
        """What is left of a resting order whose time is over; nothing where that is in doubt."""
        ended = await self.await_end(resting)
        if ended is None:
            return resting, 0.0, NoticeKind.UNTOLD
        left = round(ended.open_quantity, _DIGITS)
        if left > 0 and not await self._agrees(ended, before):
            return ended, 0.0, NoticeKind.DISPUTED
        return ended, left, None

    async def _agrees(self, ended: OrderProgress, before: float) -> bool:
        """Whether what is held is what the order says was filled, and it waits no more.

        One that says it filled nothing, and did or still may, would be filled twice by what
        finishes it.
        """
        order = ended.order
        expected = before + ended.filled * order.side.sign
        for _ in range(_AGREEING):
            seen = await self._venue.account()
            waits = any(each.order.client_id == order.client_id for each in seen.open_orders)
            apart = abs(seen.quantity_of(order.symbol) - expected)
            if not waits and apart <= max(_DUST, _ROUNDED * abs(expected)):
                return True
            await self.sleep(_LOOK_SECONDS)
        return False

    def _guards(self) -> list[JournalEntry]:
        return [row for row in self.rows() if _guards(row.order)]

    def _exits(self) -> list[JournalEntry]:
        return [row for row in self.rows() if _CLOSING in row.order.client_id]

    def _is_ours_to_send(self, row: JournalEntry) -> bool:
        """What protects: approved with what it protects, and needed as soon as that is filled."""
        closes = _CLOSING in row.order.client_id
        return bool(self.openings()) and (closes or _guards(row.order))

    def _tell(self, kind: NoticeKind, order: VenueOrder, reason: str = "") -> None:
        notice = OrderNotice(kind, self._plan_id, order, reason)
        self._notices.append(notice)
        if kind is NoticeKind.CLOSED:
            self._journal.urge(self._plan_id, notice.words)


def _guards(order: VenueOrder) -> bool:
    return order.reduce_only and order.type in (OrderType.STOP, OrderType.TAKE_PROFIT)


def _only_closes(orders: Sequence[VenueOrder]) -> bool:
    return all(order.reduce_only for order in orders)


def _is_unfinished(row: JournalEntry) -> bool:
    """Whether anything about it may still change."""
    if row.state is JournalState.ACKNOWLEDGED:
        return row.answer is None or row.answer.is_open
    return row.state is not JournalState.ABANDONED


def _needs_care(rows: Sequence[JournalEntry]) -> bool:
    exits = [row for row in rows if _CLOSING in row.order.client_id]
    closing = exits and exits[-1].state is not JournalState.ABANDONED
    held = _exposure(rows) > _DUST
    bereft = any(map(_is_bereft, rows))
    return any(_is_unfinished(row) for row in rows) or (held and bool(closing or bereft))


def _is_bereft(row: JournalEntry) -> bool:
    """Whether it is a stop that somebody else cancelled: what it protected may stand there bare."""
    done = row.answer
    return (
        row.order.type is OrderType.STOP
        and _guards(row.order)
        and done is not None
        and done.state in (OrderState.CANCELLED, OrderState.EXPIRED)
        and done.reason != CANCELLED_HERE
    )


def _exposure(rows: Sequence[JournalEntry]) -> float:
    """What was opened less what its own orders closed."""
    closed = [row for row in rows if row.order.reduce_only]
    return _filled([row for row in rows if not row.order.reduce_only]) - _filled(closed)


def _is_over(progress: OrderProgress, now: float) -> bool:
    seconds = progress.order.expires_seconds
    return seconds is not None and now >= progress.placed_at + seconds


def _filled(rows: Sequence[JournalEntry]) -> float:
    return sum(row.answer.filled for row in rows if row.answer is not None)


def _stopped(rows: Sequence[JournalEntry]) -> float:
    """As much as stops would close that are known to rest."""
    stops = [row.answer for row in rows if _guards(row.order) and row.order.type is OrderType.STOP]
    return sum(answer.open_quantity for answer in stops if answer is not None and answer.is_open)


def _is_refused(row: JournalEntry) -> bool:
    return row.answer is not None and row.answer.state is OrderState.REFUSED


def _may_close(row: JournalEntry) -> float:
    """What it would close when its price is reached, counting one that may be on its way."""
    if row.state is JournalState.SENDING:
        return row.order.quantity
    return row.answer.open_quantity if row.answer is not None and row.answer.is_open else 0.0


def _answers(rows: Sequence[JournalEntry]) -> tuple[OrderProgress, ...]:
    return tuple(row.answer for row in rows if row.answer is not None)


def _waits(part: VenueOrder) -> bool:
    """Whether it is a later part of an order in slices."""
    return part.type is not OrderType.SLICED and part.slice_seconds > 0
