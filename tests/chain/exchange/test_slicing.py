"""Orders in slices, and on a streamed book."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from websockets.asyncio.server import ServerConnection

from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    VenueOrder,
    market_parts,
)
from chain.exchange.public.binance import BookStream, LiveBook, StreamLimits
from chain.exchange.public.book import BookChange, BookSnapshot, StreamedBook, StreamGapError
from chain.exchange.public.market import BookLevel, ContractRules, OrderBook
from chain.prices.market_http import MarketError
from tests.chain.exchange.markets import ETH, START, order, unsettled
from tests.chain.exchange.test_venue import Killed, MortalVenue
from tests.samples import some_of
from tests.virtual_time import pass_time

PLAN = "plan_0123456789abcdef"
RULES = ContractRules(ETH, 0.01, 0.001, 20.0)
SLICED = VenueOrder(
    client_id="entry",
    symbol=ETH,
    side=OrderSide.BUY,
    type=OrderType.SLICED,
    quantity=1.0,
    slices=3,
    slice_seconds=300,
)
STOP = order(OrderSide.SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True)
NAMES = ["entry.0", "stop", "entry.1", "stop.1", "entry.2", "stop.2"]
HEDGE = [
    order(OrderSide.SELL, OrderType.MAKER, 1.0, 3_100.0, name="entry", expires=1),
    replace(order(OrderSide.SELL, OrderType.MARKET, 1.0, name="rest"), finishes=True),
]


class SlicingVenue(MortalVenue):
    """Takes parts; may refuse one of them."""

    refuses = ""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[str] = []

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        return market_parts(order, RULES, 3000.0) if order.type is OrderType.SLICED else (order,)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self._step()
        self.taken.append(order.client_id)
        if order.client_id == self.refuses:
            return OrderProgress(order=order, state=OrderState.REFUSED, placed_at=START)
        return await super().submit(order)

    async def sleep(self, seconds: float) -> None:
        assert seconds in (SLICED.slice_seconds, 0.5, 1.0)
        self._step()


def test_parts_are_the_whole_in_steps_that_the_venue_takes() -> None:
    draws = Random(5)
    for _ in range(300):
        whole = draws.randrange(7, 5_000) / 1_000
        parts = market_parts(replace(SLICED, quantity=whole, slices=6), RULES, 3000.0)
        assert sum(part.quantity for part in parts) == pytest.approx(whole, abs=1e-9)
        assert all(round(part.quantity * 1_000, 6).is_integer() for part in parts)
        assert all(part.quantity * 3000.0 >= RULES.least_notional for part in parts)
        assert len({part.client_id for part in parts}) == len(parts) <= 6
        assert [part.slice_seconds for part in parts] == [0] + [300] * (len(parts) - 1)


async def test_parts_are_sent_in_turn_and_what_protects_follows_the_first(tmp_path: Path) -> None:
    venue, told = SlicingVenue(), []
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        sent = await send_orders(
            journal,
            venue,
            PLAN,
            [SLICED, STOP],
            sleep=venue.sleep,
            on_sent=lambda one: told.append(one.order.client_id),
        )
        states = {one.order.client_id: one.state for one in journal.entries()}

    assert venue.taken == told == NAMES
    assert sorted(NAMES) == sorted(one.order.client_id for one in sent)
    assert set(states.values()) == {JournalState.ACKNOWLEDGED}
    stops = [one.order.quantity for one in sent if one.order.type is OrderType.STOP]
    assert stops == [0.333, 0.333, 0.334]
    assert venue.held.position(ETH).quantity == pytest.approx(1.0)


async def test_after_a_part_that_is_refused_no_other_is_sent(tmp_path: Path) -> None:
    venue = SlicingVenue()
    venue.refuses = "entry.1"
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await send_orders(journal, venue, PLAN, [SLICED, STOP], sleep=venue.sleep)
        states = [one.state for one in journal.entries()]

    assert venue.taken == NAMES[:3]
    assert states.count(JournalState.ACKNOWLEDGED) == 3
    assert states.count(JournalState.ABANDONED) == 2, "a part and its stop"


@pytest.mark.parametrize("steps", some_of(zip(range(40), strict=True), 12, seed=5))
async def test_killed_at_any_step_each_part_is_there_once_or_known_to_be_missing(
    tmp_path: Path, steps: int
) -> None:
    venue = SlicingVenue()
    venue.steps_left = steps
    with TradeJournal.open(tmp_path / "trades.db") as journal, suppress(Killed):
        await send_orders(journal, venue, PLAN, [SLICED, STOP], sleep=venue.sleep)
    venue.steps_left = None
    taken = list(venue.taken)

    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await tend_orders(journal, venue, sleep=venue.sleep)
        assert not unsettled(journal)
        for entry in journal.entries():
            there = entry.order.client_id in venue.held.orders
            assert (entry.state is JournalState.ACKNOWLEDGED) is there
    assert venue.taken[: len(taken)] == taken == NAMES[: len(taken)]
    assert all(name.startswith("stop") for name in venue.taken[len(taken) :])
    stopped = [one.open_quantity for one in venue.held.open_orders() if one.order.reduce_only]
    assert sum(stopped) == pytest.approx(venue.held.position(ETH).quantity)


LEVELS = 10


class TruthfulBook:
    """What the venue has: a book after each of its numbered changes."""

    def __init__(self, seed: int, count: int = 60) -> None:
        draws = Random(seed)
        bids = {1000.0 - place: 1.0 for place in range(LEVELS)}
        asks = {1001.0 + place: 1.0 for place in range(LEVELS)}
        self.books = [self._book(0, bids, asks)]
        self.changes: list[BookChange] = []
        number = 100
        self.numbers = [number]
        for place in range(1, count + 1):
            before, number = number, number + draws.randint(1, 4)
            changed: list[list[BookLevel]] = [[], []]
            for side, known, first in ((0, bids, 1000.0), (1, asks, 1001.0)):
                away = draws.randrange(LEVELS)
                price = first - away if side == 0 else first + away
                size = float(draws.choice((0, 1, 2, 3))) if away else 2.0
                changed[side].append(BookLevel(price, size))
                if size:
                    known[price] = size
                else:
                    known.pop(price, None)
            change = BookChange(before + 1, number, before, float(place), *map(tuple, changed))
            self.changes.append(change)
            self.numbers.append(number)
            self.books.append(self._book(place, bids, asks))

    @staticmethod
    def _book(time: int, bids: dict[float, float], asks: dict[float, float]) -> OrderBook:
        return OrderBook(
            float(time),
            tuple(BookLevel(*row) for row in sorted(bids.items(), reverse=True)),
            tuple(BookLevel(*row) for row in sorted(asks.items())),
        )

    def snapshot(self, place: int) -> BookSnapshot:
        return BookSnapshot(self.numbers[place], self.books[place])


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_lost_doubled_or_swapped_no_book_is_wrong(seed: int) -> None:
    venue, draws = TruthfulBook(seed), Random(seed)
    sent = list(venue.changes)
    for _ in range(draws.randint(0, 3)):
        place = draws.randrange(5, len(sent) - 1)
        match draws.randrange(3):
            case 0:
                del sent[place]
            case 1:
                sent.insert(place, sent[place - 1])
            case _:
                sent[place], sent[place + 1] = sent[place + 1], sent[place]
    begins = draws.randrange(5)
    kept, gaps = StreamedBook(venue.snapshot(begins)), 0
    for change in sent:
        try:
            kept.apply(change)
        except StreamGapError:
            gaps += 1
            kept = StreamedBook(venue.snapshot(int(change.time)))
        if kept.is_joined:
            seen = kept.book(LEVELS)
            assert seen == venue.books[int(seen.time)]
    if sent == venue.changes:
        assert gaps == 0


def test_a_stream_that_begins_after_the_snapshot_is_a_gap() -> None:
    venue = TruthfulBook(1)
    kept = StreamedBook(venue.snapshot(3))

    with pytest.raises(StreamGapError):
        kept.apply(venue.changes[5])
    assert not kept.is_joined


class StreamDouble:
    """Sends what a test tells it to, and counts who asked for a snapshot."""

    def __init__(self, venue: TruthfulBook) -> None:
        self.venue = venue
        self.at = 0
        self.snapshots = 0
        self.connections = 0
        self._sockets: list[ServerConnection] = []
        self.connected = asyncio.Event()

    async def snapshot(self, _symbol: str) -> BookSnapshot:
        self.snapshots += 1
        return self.venue.snapshot(self.at)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        from websockets.asyncio.server import serve

        async with serve(self._serve, "127.0.0.1", 0) as server:
            yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"

    async def _serve(self, socket: ServerConnection) -> None:
        self.connections += 1
        self._sockets.append(socket)
        self.connected.set()
        await socket.wait_closed()

    async def change(self, *, lost: bool = False) -> None:
        """The venue's next; it happens whether anybody is told or not."""
        change = self.venue.changes[self.at]
        self.at += 1
        if not lost:
            await self.say(
                {
                    "stream": "ethusdt@depth@100ms",
                    "data": {
                        "T": int(change.time * 1000),
                        "U": change.first,
                        "u": change.last,
                        "pu": change.before,
                        "b": [[str(price), str(size)] for price, size in change.bids],
                        "a": [[str(price), str(size)] for price, size in change.asks],
                    },
                }
            )

    async def say(self, content: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        # Whoever has just left hears nothing, and the venue goes on.
        with suppress(ConnectionClosed):
            await self._sockets[-1].send(json.dumps(content))

    async def hang_up(self) -> None:
        self.connected.clear()
        await self._sockets[-1].close()


async def built(double: StreamDouble, live: LiveBook, times: int) -> None:
    """Changes go on until the book was built so often."""
    async with asyncio.timeout(60):
        while live.rebuilt < times:
            await double.connected.wait()
            await double.change()
            await pass_time(0.01)


async def right(double: StreamDouble, live: LiveBook) -> bool:
    """Whether the next book that is told is the venue's, while changes go on."""
    async with asyncio.timeout(60):
        while True:
            await double.connected.wait()
            await double.change()
            await pass_time(0.01)
            with suppress(MarketError):
                seen = live.book(LEVELS)
                return seen == double.venue.books[int(seen.time)]


async def unknown(live: LiveBook) -> str:
    async with asyncio.timeout(60):
        while True:
            try:
                live.book(LEVELS)
            except MarketError as error:
                return str(error)
            await pass_time(0.01)


@asynccontextmanager
async def followed(silent: float = 5.0) -> AsyncIterator[tuple[StreamDouble, LiveBook]]:
    double = StreamDouble(TruthfulBook(9, count=3_000))
    async with double.running() as url:
        limits = StreamLimits(silent_seconds=silent, rest_seconds=0.0)
        stream = BookStream("Loopback", double.snapshot, url=url, limits=limits)
        async with stream.follow_book("ETHUSDT") as live:
            with pytest.raises(MarketError):
                live.book(LEVELS)
            await built(double, live, 1)
            assert await right(double, live)
            yield double, live


async def test_a_skipped_number_is_noticed_and_the_book_built_from_a_snapshot() -> None:
    async with followed() as (double, live):
        asked = double.snapshots
        await double.change(lost=True)
        await double.change()
        await built(double, live, 2)

        assert await right(double, live)
        assert double.snapshots > asked
        assert double.connections == 1


async def test_a_stream_that_ends_is_opened_again() -> None:
    async with followed() as (double, live):
        await double.hang_up()
        await unknown(live)
        await built(double, live, 2)

        assert await right(double, live)
        assert double.connections > 1


async def test_a_stream_that_falls_silent_tells_no_book() -> None:
    async with followed(silent=0.2) as (double, live):
        assert "silent" in await unknown(live)

        assert await right(double, live)


@pytest.mark.parametrize("lie", [[], {"data": {"u": 1}}, {"data": {"U": "1", "u": 2, "pu": 0}}])
async def test_a_stream_that_lies_tells_no_book(lie: object) -> None:
    async with followed() as (double, live):
        await double.say(lie)
        await unknown(live)
        await built(double, live, 2)

        assert await right(double, live)


@pytest.mark.parametrize("steps", range(18))
async def test_a_killed_hedge_never_sells_more_than_was_approved(
    tmp_path: Path, steps: int
) -> None:
    """Between the resting order, its cancelling and what finishes it: never both in full."""
    venue = SlicingVenue()
    venue.steps_left = steps
    with TradeJournal.open(tmp_path / "trades.db") as journal, suppress(Killed):
        await send_orders(journal, venue, PLAN, HEDGE, sleep=venue.sleep)
    venue.steps_left = None

    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await tend_orders(journal, venue, sleep=venue.sleep)
        assert not unsettled(journal)
        for entry in journal.entries():
            there = entry.order.client_id in venue.held.orders
            assert (entry.state is JournalState.ACKNOWLEDGED) is there
    sold = sum(one.filled for one in venue.held.orders.values())
    assert -venue.held.position(ETH).quantity == sold <= 1.0


async def test_what_finishes_a_hedge_takes_what_is_left(tmp_path: Path) -> None:
    venue = SlicingVenue()
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await send_orders(journal, venue, PLAN, HEDGE, sleep=venue.sleep)
        rest = journal.entries()[1]

    assert rest.state is JournalState.ACKNOWLEDGED
    assert venue.held.position(ETH).quantity == -1.0
    assert venue.held.orders["entry"].state is OrderState.CANCELLED
