"""The paper venue: an account of made-up money on the real market, kept in a file of its own."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from chain.base.sqlite import open_versioned, transaction
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
    rest_at_best,
)
from chain.exchange.orders.venue import AccountCheck, VenueAccount, VenueFees
from chain.exchange.orders.venues.paper import (
    ABILITIES,
    FEES,
    NAME,
    SPOT_ABILITIES,
    SPOT_FEES,
    SPOT_NAME,
)
from chain.exchange.public.binance import (
    INTERVAL_SECONDS,
    MOST_CANDLES,
    BinancePublic,
    CandleInterval,
)
from chain.exchange.public.book import BASIS_POINTS, slippage_bips, walk_book
from chain.exchange.public.market import (
    Candle,
    ContractRules,
    FundingPayment,
    OrderBook,
    closed_candles,
)

# Takers walk the book as it was read and pay its slippage; makers fill only when the market
# trades through their price after they were placed, and never more than was traded; fees are
# charged on every fill, funding at every funding time.
_DUST = 1e-9


class PaperAccount(Struct, frozen=True, kw_only=True):
    cash: float
    """Dollars, with everything that was realised, paid and charged."""
    settled_at: dict[str, int] = field(default_factory=dict)
    """Until when a contract's course has been taken into account."""
    positions: dict[str, PerpetualPosition] = field(default_factory=dict)
    orders: dict[str, OrderProgress] = field(default_factory=dict)
    funding: float = 0.0
    """Dollars received less paid, part of the cash."""
    fees: float = 0.0
    """Dollars charged, part of the cash."""
    keeps_orphans: bool = False
    """Some venues let what protects outlive what it protected."""

    def position(self, symbol: str) -> PerpetualPosition:
        return self.positions.get(symbol, PerpetualPosition(symbol, 0.0, 0.0))

    def open_orders(self, symbol: str | None = None) -> tuple[OrderProgress, ...]:
        return tuple(
            order
            for order in self.orders.values()
            if order.is_open and symbol in (None, order.order.symbol)
        )

    def equity(self, marks: Mapping[str, float]) -> float:
        """With what is held valued at these marks; one that is missing raises KeyError."""
        return self.cash + sum(
            position.quantity * (marks[position.symbol] - position.entry)
            for position in self.positions.values()
        )


class MarketMoment(Struct, frozen=True):
    """A market as an order finds it when it reaches the venue."""

    book: OrderBook
    rules: ContractRules
    time: float
    fees: VenueFees = FEES
    spot: bool = False
    """Only what is held can be sold."""


class Execution(Struct, frozen=True):
    quantity: float
    price: float
    time: float
    fee_rate: float


def place_order(account: PaperAccount, order: VenueOrder, moment: MarketMoment) -> PaperAccount:
    """The account after an order has reached the venue; the same name twice changes nothing."""
    if order.client_id in account.orders:
        return account
    now, order = moment.time, rest_at_best(order, moment.book)
    progress = OrderProgress(order=order, state=OrderState.OPEN, placed_at=now, changed_at=now)
    reason = _refusal(account, order, moment)
    if reason:
        return _with_progress(account, replace(progress, state=OrderState.REFUSED, reason=reason))
    if order.symbol not in account.positions and not account.open_orders(order.symbol):
        settled_at = {**account.settled_at, order.symbol: int(now)}
        account = replace(account, settled_at=settled_at)
    account = _with_progress(account, progress)
    if order.type is OrderType.SLICED:
        return _take_from_book(account, progress, moment, order.quantity / order.slices)
    if order.type in (OrderType.MARKET, OrderType.LIMIT_TAKER):
        account = _take_from_book(account, progress, moment, order.quantity)
        why = "the rest is beyond its price" if order.price else "the book does not hold as much"
        return cancel_order(account, order.client_id, now, why)
    return account


def cancel_order(account: PaperAccount, client_id: str, now: float, reason: str) -> PaperAccount:
    progress = account.orders.get(client_id)
    if progress is None or not progress.is_open:
        return account
    ended = replace(progress, state=OrderState.CANCELLED, reason=reason, changed_at=now)
    return _with_progress(account, ended)


def pay_funding(
    account: PaperAccount, symbol: str, payment: FundingPayment, mark: float
) -> PaperAccount:
    """Longs pay shorts where the rate is above 0."""
    amount = -account.position(symbol).quantity * mark * payment.rate
    return replace(account, cash=account.cash + amount, funding=account.funding + amount)


def fill_order(account: PaperAccount, progress: OrderProgress, done: Execution) -> PaperAccount:
    """So much of an order done at this price; what only reduces never goes past nothing."""
    order, quantity = progress.order, done.quantity
    held = account.position(order.symbol)
    if order.reduce_only:
        quantity = min(quantity, max(-held.quantity * order.side.sign, 0.0))
    if quantity <= _DUST:
        return cancel_order(account, order.client_id, done.time, "nothing is left to reduce")
    after, realised = _held_after(held, quantity * order.side.sign, done.price)
    fee = quantity * done.price * done.fee_rate
    total = progress.filled + quantity
    account = replace(
        account,
        cash=account.cash + realised - fee,
        fees=account.fees + fee,
        positions=_positions(account, after),
    )
    grown = replace(
        progress,
        state=OrderState.FILLED if order.quantity - total <= _DUST else OrderState.OPEN,
        filled=total,
        average=((progress.average or 0.0) * progress.filled + done.price * quantity) / total,
        fees=progress.fees + fee,
        changed_at=done.time,
    )
    return without_orphans(_with_progress(account, grown), order.symbol, done.time)


def _take_from_book(
    account: PaperAccount, progress: OrderProgress, moment: MarketMoment, quantity: float
) -> PaperAccount:
    """What the book gives for it at once."""
    order = progress.order
    buy = order.side is OrderSide.BUY
    done = walk_book(moment.book, buy=buy, quantity=quantity, limit=order.price)
    if done.average is None:
        return account
    fee_rate = moment.fees.taker
    return fill_order(
        account, progress, Execution(done.filled, done.average, moment.time, fee_rate)
    )


def _refusal(account: PaperAccount, order: VenueOrder, moment: MarketMoment) -> str:
    book, rules = moment.book, moment.rules
    if not book.bids or not book.asks:
        return "the book is empty"
    best = book.asks[0].price if order.side is OrderSide.BUY else book.bids[0].price
    if order.reduce_only:
        return ""
    if moment.spot and order.side is OrderSide.SELL:
        holds = account.position(order.symbol).quantity
        enough = order.quantity <= holds + _DUST
        return "" if enough else f"only what is held can be sold: {holds:g}"
    notional = order.quantity * (order.price or best)
    if notional < rules.least_notional:
        return f"its notional is under {rules.least_notional:g}"
    held = sum(abs(position.quantity) * position.entry for position in account.positions.values())
    if held + notional > moment.fees.most_leverage * max(account.cash, 0.0):
        return "the cash does not suffice" if moment.spot else "margin is insufficient"
    return ""


def _held_after(
    held: PerpetualPosition, change: float, price: float
) -> tuple[PerpetualPosition, float]:
    """The position after a fill, and what the part of it that closed has brought."""
    before, after = held.quantity, held.quantity + change
    if before * change >= 0:
        entry = (held.entry * abs(before) + price * abs(change)) / abs(after)
        return PerpetualPosition(held.symbol, after, entry), 0.0
    closed = min(abs(change), abs(before))
    realised = closed * (price - held.entry) * (1 if before > 0 else -1)
    if abs(after) <= _DUST:
        return PerpetualPosition(held.symbol, 0.0, 0.0), realised
    turned = before * after < 0
    return PerpetualPosition(held.symbol, after, price if turned else held.entry), realised


def _positions(account: PaperAccount, held: PerpetualPosition) -> dict[str, PerpetualPosition]:
    others = {name: position for name, position in account.positions.items() if name != held.symbol}
    return others if held.quantity == 0 else {**others, held.symbol: held}


def without_orphans(account: PaperAccount, symbol: str, now: float) -> PaperAccount:
    """Once nothing is held, what only reduced it has nothing left to do."""
    if symbol in account.positions or account.keeps_orphans:
        return account
    waiting = any(not order.order.reduce_only for order in account.open_orders(symbol))
    for open_order in () if waiting else account.open_orders(symbol):
        account = cancel_order(account, open_order.order.client_id, now, "the position is closed")
    return account


def _with_progress(account: PaperAccount, progress: OrderProgress) -> PaperAccount:
    return replace(account, orders={**account.orders, progress.order.client_id: progress})


class MarketCourse(Struct, frozen=True):
    """What one contract did: closed candles, and what was funded meanwhile."""

    symbol: str
    seconds: int
    """The length of a candle."""
    candles: tuple[Candle, ...]
    payments: tuple[FundingPayment, ...]
    slippage: float
    """The fraction that a taker is charged, from the book as it is now."""


def settle_candles(
    account: PaperAccount, course: MarketCourse, fees: VenueFees | None = None
) -> PaperAccount:
    """The account after these candles; those it has been through already are passed over."""
    fees = fees or FEES
    for candle in course.candles:
        if candle.time < account.settled_at.get(course.symbol, 0):
            continue
        end = candle.time + course.seconds
        account = _passed(account, course, candle, fees)
        for payment in course.payments:
            if candle.time < payment.time <= end:
                account = pay_funding(account, course.symbol, payment, payment.mark or candle.close)
        account = replace(account, settled_at={**account.settled_at, course.symbol: end})
    return account


def _passed(
    account: PaperAccount, course: MarketCourse, candle: Candle, fees: VenueFees
) -> PaperAccount:
    """One candle, the worst first: what opened was stopped where it may have been, then profits."""
    end, held = candle.time + course.seconds, account.position(course.symbol).quantity
    for progress in sorted(_waiting(account, course, candle), key=_worst_first):
        order = progress.order
        if not account.orders[order.client_id].is_open:
            continue
        expires = order.expires_seconds
        if expires is not None and candle.time >= progress.placed_at + expires:
            ended = replace(
                progress,
                state=OrderState.EXPIRED,
                reason="nobody traded through it in time",
                changed_at=progress.placed_at + expires,
            )
            account = replace(account, orders={**account.orders, order.client_id: ended})
            account = without_orphans(account, course.symbol, end)
            continue
        if order.reduce_only and account.position(course.symbol).quantity * order.side.sign >= 0:
            continue  # it waits for the order that opens what it protects
        if order.type is OrderType.TAKE_PROFIT and held * order.side.sign >= 0:
            continue  # the candle that opened it may have been at the profit before
        if order.type is OrderType.STOP:
            account = _stopped(account, progress, course, candle, fees)
        elif order.type is OrderType.SLICED:
            account = _sliced(account, progress, course, candle, fees)
        elif _is_traded_through(progress, candle):
            quantity, price = (
                min(progress.open_quantity, candle.volume),
                order.price or candle.close,
            )
            account = fill_order(account, progress, Execution(quantity, price, end, fees.maker))
    return account


def _waiting(
    account: PaperAccount, course: MarketCourse, candle: Candle
) -> Iterator[OrderProgress]:
    """Orders that were there before the candle began: what was traded earlier fills nobody."""
    for progress in account.open_orders(course.symbol):
        if progress.placed_at <= candle.time:
            yield progress


_WORST_FIRST = (OrderType.MAKER, OrderType.STOP, OrderType.TAKE_PROFIT, OrderType.SLICED)


def _worst_first(progress: OrderProgress) -> tuple[int, str]:
    return _WORST_FIRST.index(progress.order.type), progress.order.client_id


def _is_traded_through(progress: OrderProgress, candle: Candle) -> bool:
    """Beyond the price, not only at it: at it there is a queue, and nobody knows one's place."""
    price = progress.order.price
    if price is None:
        return False
    return candle.low < price if progress.order.side is OrderSide.BUY else candle.high > price


def _stopped(
    account: PaperAccount,
    progress: OrderProgress,
    course: MarketCourse,
    candle: Candle,
    fees: VenueFees,
) -> PaperAccount:
    order, stop = progress.order, progress.order.price or 0.0
    buying = order.side is OrderSide.BUY
    if not (candle.high >= stop if buying else candle.low <= stop):
        return account
    # A market that opened beyond the stop was never at it.
    reached = max(stop, candle.open) if buying else min(stop, candle.open)
    price = reached * (1 + order.side.sign * course.slippage)
    end = candle.time + course.seconds
    return fill_order(account, progress, Execution(progress.open_quantity, price, end, fees.taker))


def _sliced(
    account: PaperAccount,
    progress: OrderProgress,
    course: MarketCourse,
    candle: Candle,
    fees: VenueFees,
) -> PaperAccount:
    order, end = progress.order, candle.time + course.seconds
    part = order.quantity / order.slices
    due = min(int((end - progress.placed_at) // max(order.slice_seconds, 1)) + 1, order.slices)
    quantity = min(due * part - progress.filled, progress.open_quantity, candle.volume)
    if quantity <= 0:
        return account
    price = candle.close * (1 + order.side.sign * course.slippage)
    return fill_order(account, progress, Execution(quantity, price, end, fees.taker))


_VERSION = 1
_TABLE = "CREATE TABLE IF NOT EXISTS account (venue TEXT PRIMARY KEY, body BLOB NOT NULL)"
_TYPICAL_DOLLARS = 10_000.0
"""What the slippage of stops and slices is measured with; a book without it charges the worst."""
_WORST_SLIPPAGE = 0.005


class PaperTerms(Struct, frozen=True):
    start_usd: float = 10_000.0
    spot: bool = False
    """An account of coins: nothing is short, nothing is levered, nothing pays funding."""

    @property
    def fees(self) -> VenueFees:
        return SPOT_FEES if self.spot else FEES


class PaperVenue:
    """Takes orders on a market it only reads; each change is on disk when it returns."""

    late_seconds = 0.0

    def __init__(self, path: Path, market: BinancePublic, terms: PaperTerms) -> None:
        self.name = f"{SPOT_NAME if terms.spot else NAME}:{market.name}"
        self.abilities = SPOT_ABILITIES if terms.spot else ABILITIES
        self.contracts = market
        self._market = market
        self._terms = terms
        self._connection: sqlite3.Connection = open_versioned(path, _VERSION)
        self._connection.execute(_TABLE)

    async def close(self) -> None:
        self._connection.close()

    async def now(self) -> float:
        return await self._market.time()

    async def account(self) -> VenueAccount:
        """After everything that the market has done to it since it was last looked at."""
        account = await self._settle()
        marks = {symbol: (await self._market.funding(symbol)).mark for symbol in account.positions}
        return VenueAccount(
            self.name,
            await self.now(),
            account.equity(marks),
            tuple(account.positions.values()),
            account.open_orders(),
            account.fees,
            account.funding,
            marks=marks,
        )

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        """It keeps the time of slices itself."""
        return (order,)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        rules, book = await self._market.rules(order.symbol), await self._market.book(order.symbol)
        now = await self.now()
        moment = MarketMoment(book, rules, now, self._terms.fees, self._terms.spot)
        account = self._change(lambda before: place_order(before, order, moment))
        return account.orders[order.client_id]

    async def submit_group(self, orders: Sequence[VenueOrder]) -> tuple[OrderProgress, ...]:
        return tuple([await self.submit(order) for order in orders])

    async def check(self, _: str) -> AccountCheck:
        return AccountCheck()

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        return (await self._settle()).orders.get(order.client_id)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        client_id, now = order.client_id, await self.now()
        account = self._change(lambda before: cancel_order(before, client_id, now, "by its owner"))
        return account.orders.get(client_id)

    async def _settle(self) -> PaperAccount:
        now = await self.now()
        account = self._change(lambda before: before)
        busy = {order.order.symbol for order in account.open_orders()} | set(account.positions)
        for symbol in sorted(busy):
            course = await self._course(symbol, account.settled_at[symbol], now)
            account = self._change(partial(settle_candles, course=course, fees=self._terms.fees))
        return account

    async def _course(self, symbol: str, since: int, now: float) -> MarketCourse:
        interval: CandleInterval = "1m" if now - since < 60 * MOST_CANDLES else "1h"
        seconds = INTERVAL_SECONDS[interval]
        start = since // seconds * seconds
        candles = await self._market.candles(symbol, interval, count=MOST_CANDLES, since=start)
        book = await self._market.book(symbol)
        sides = [slippage_bips(book, buy=buy, dollars=_TYPICAL_DOLLARS) for buy in (True, False)]
        worst = [_WORST_SLIPPAGE if side is None else side / BASIS_POINTS for side in sides]
        return MarketCourse(
            symbol,
            seconds,
            closed_candles(candles, seconds, now),
            () if self._terms.spot else await self._market.payments(symbol, since=start),
            max(worst),
        )

    def _change(self, made: Callable[[PaperAccount], PaperAccount]) -> PaperAccount:
        with transaction(self._connection):
            row = self._connection.execute(
                "SELECT body FROM account WHERE venue = ?", (self.name,)
            ).fetchone()
            before = (
                PaperAccount(cash=self._terms.start_usd)
                if row is None
                else msgspec.json.decode(row[0], type=PaperAccount)
            )
            after = made(before)
            self._connection.execute(
                "INSERT OR REPLACE INTO account VALUES (?, ?)",
                (self.name, msgspec.json.encode(after)),
            )
        return after
