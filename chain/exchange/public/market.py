"""What a perpetual's market shows, in one form for every venue, every field checked."""

import math
from typing import ClassVar, NamedTuple

from msgspec import Struct

from chain.prices.market_http import MARKET_LIMITS, MarketError, MarketHttp


class VenueAbilities(Struct, frozen=True, kw_only=True):
    spot: bool = False
    """Coins are bought and what is held is sold: nothing is short, nothing pays funding."""
    leverage: float = 3.0
    """The most of one order."""
    stops: bool = True
    """It keeps stops and profits until their price is reached."""
    groups: bool = False
    """It takes an order with its stop and its profit as one, and cancels what is left over."""
    streams: bool = False
    """It tells of an account's orders by itself, so that nobody need ask in between."""
    rests: bool = True
    """An order may wait in its book."""
    money: str = "USD"
    """What the limit of an order is counted in."""
    most_order: float = 2_000.0
    made_up: bool = False
    """Nobody's money is at stake."""


_MOST = 1e18


class NoContractError(MarketError):
    """The venue does not trade it."""


class MarketSource:
    """A server that tells everybody something of the market."""

    name: ClassVar[str]
    url: ClassVar[str] = ""

    def __init__(self, base_url: str = "") -> None:
        self._http = MarketHttp(base_url or self.url, {}, name=self.name, limits=MARKET_LIMITS)
        self._read = VenueAnswer(self.name)

    async def close(self) -> None:
        await self._http.close()


class VenueAnswer:
    """Reads one venue's answers and names it where they are wrong."""

    def __init__(self, venue: str) -> None:
        self._venue = venue

    def wrong(self, what: str) -> MarketError:
        return MarketError(f"{self._venue}'s {what} is wrong")

    def mapping(self, value: object, what: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self.wrong(what)
        return value

    def rows(self, value: object, what: str) -> list[object]:
        if not isinstance(value, list):
            raise self.wrong(what)
        return value

    def entries(self, value: object, what: str) -> list[dict[str, object]]:
        return [self.mapping(row, what) for row in self.rows(value, what)]

    def number(self, value: object, what: str) -> float:
        """A finite number, written as one or as decimal text."""
        if isinstance(value, str) and value.isascii() and len(value) <= 40:
            try:
                value = float(value)
            except ValueError:
                raise self.wrong(what) from None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(what)
        if not math.isfinite(value) or abs(value) > _MOST:
            raise self.wrong(what)
        return float(value)

    def positive(self, value: object, what: str) -> float:
        number = self.number(value, what)
        if number <= 0:
            raise self.wrong(what)
        return number

    def amount(self, value: object, what: str) -> float:
        number = self.number(value, what)
        if number < 0:
            raise self.wrong(what)
        return number

    def seconds(self, value: object, what: str) -> float:
        """A time in milliseconds, as seconds."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 53:
            raise self.wrong(what)
        return value / 1000


# Amounts are in the base coin and money in dollars unless a name says otherwise; times are Unix
# seconds by the venue's clock.
class Candle(NamedTuple):
    """What was traded from `time` on, for the length of the interval it was asked for."""

    time: int
    open: float
    high: float
    low: float
    close: float
    volume: float
    taker_buy: float
    """Of the volume, what buyers took from resting offers."""

    @property
    def delta(self) -> float:
        """What buyers took less what sellers took."""
        return 2 * self.taker_buy - self.volume


class BookLevel(NamedTuple):
    price: float
    quantity: float


class OrderBook(Struct, frozen=True):
    """Resting offers, the best first on both sides."""

    time: float
    bids: tuple[BookLevel, ...]
    asks: tuple[BookLevel, ...]


class FundingState(Struct, frozen=True):
    time: float
    mark: float
    index: float
    rate: float
    """Paid by longs to shorts at the next funding, as a fraction of notional: 0.0001 is 0.01 %."""
    interval_hours: float = 8.0
    """Between two fundings of this contract."""

    @property
    def rate_a_day(self) -> float:
        return self.rate * 24 / self.interval_hours

    @property
    def rate_of_8_hours(self) -> float:
        """By which contracts of different intervals are compared."""
        return self.rate_a_day / 3


class FundingPayment(NamedTuple):
    time: int
    rate: float
    mark: float | None
    """None where the venue does not tell the price at which it was paid."""


class OpenInterestPoint(NamedTuple):
    time: int
    coins: float


class VenueReading(NamedTuple):
    """What another venue shows of a coin; None for what it does not have."""

    venue: str
    price: float
    """Dollars."""
    funding_rate: float | None
    """A fraction for 8 hours."""
    interest_usd: float | None


class ContractRules(Struct, frozen=True):
    """What orders of one contract must keep to."""

    symbol: str
    price_step: float
    quantity_step: float
    least_notional: float
    """Dollars."""
    market_step: float | None = None
    """Of what takes at any price; None where that is the same."""
    least_quantity: float = 0.0
    most_quantity: float = math.inf
    market_most: float = math.inf
    least_price: float = 0.0
    most_price: float = math.inf


def contract_symbol(coin: str) -> str:
    """The dollar perpetual of a coin, as venues spell it."""
    name = coin.strip().upper()
    if not (name.isascii() and name.isalnum() and 2 <= len(name) <= 12):
        raise ValueError(f"{coin!r} is not a coin's symbol, like ETH or BTC")
    return name if name.endswith("USDT") else f"{name}USDT"


def cumulative_delta(candles: tuple[Candle, ...]) -> tuple[float, ...]:
    """The running sum of what takers bought less what they sold."""
    total, sums = 0.0, []
    for candle in candles:
        total += candle.delta
        sums.append(total)
    return tuple(sums)


def closed_candles(candles: tuple[Candle, ...], seconds: int, now: float) -> tuple[Candle, ...]:
    """Without the one that is still being traded: part of an hour compares with no whole one."""
    return tuple(candle for candle in candles if candle.time + seconds <= now)
