"""The embedded world's exchange: perpetual contracts on the same prices the pools trade at."""

import json
import math
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field

from chain.base.units import HOUR
from chain.devnet.world.price_path import ONE_SIGMA, Asset, Mood, SeededPath

Page = Callable[["DemoExchange", Mapping[str, str], int], object]

# Volume, book, funding and open interest are made up around that path, decided by the same seed.
MINUTE = 60
FUNDING_HOURS = 8

_MINUTE_VOLUME = 400.0
"""Coins a quiet minute trades."""
_MOOD_VOLUME = {Mood.CALM: 1.0, Mood.TREND: 1.8, Mood.SHOCK: 6.0}
_MOOD_INTEREST = {Mood.CALM: 0.0004, Mood.TREND: 0.004, Mood.SHOCK: -0.03}
"""What an hour adds to open interest: a trend draws positions in, a shock throws them out."""
_OPENING_INTEREST = 400_000.0
_INTEREST_PULL = 0.01
_MOST_FUNDING = 0.00075
_LEVEL_QUANTITY = 6.0
_PRICE_STEP = 0.01
_WICK = 0.35
"""How far a minute's extremes reach beyond its ends, on average, of its own length."""


class MinuteBar(NamedTuple):
    open: float
    high: float
    low: float
    close: float
    volume: float
    taker_buy: float


class Perpetual(Struct):
    """One contract; every number is a function of the seed and the time alone."""

    path: SeededPath
    opens: int
    """When the world's market opened, in Unix seconds."""
    asset: Asset
    _interest: list[float] = field(default_factory=lambda: [_OPENING_INTEREST])
    _bars: dict[int, MinuteBar] = field(default_factory=dict)

    def price(self, minute: int) -> float:
        """At the end of this minute, in dollars."""
        return float(1.0001 ** (self.path.at(max(minute, 0))[self.asset] / 1000))

    def minute_of(self, time: int) -> int:
        return max((time - self.opens) // MINUTE, 0)

    def bar(self, minute: int) -> MinuteBar:
        """The trades between the end of the minute before and the end of this one."""
        if minute not in self._bars:
            self._bars[minute] = self._make_bar(minute)
        return self._bars[minute]

    def _make_bar(self, minute: int) -> MinuteBar:
        start, end = self.price(minute - 1), self.price(minute)
        reach = abs(end - start) + start * 0.0001
        above, below = (self._share(f"{side} wick", minute) * reach * _WICK * 2 for side in "↑↓")
        mood = self.path.phase_at(minute).mood
        move = (end / start - 1) * 2_000
        volume = _MINUTE_VOLUME * _MOOD_VOLUME[mood] * (0.5 + self._share("volume", minute))
        volume *= 1 + min(abs(move), 5.0)
        lean = 0.5 + max(-0.3, min(0.3, move * 0.08)) + (self._share("taker", minute) - 0.5) * 0.2
        return MinuteBar(
            start, max(start, end) + above, min(start, end) - below, end, volume, volume * lean
        )

    def candle(self, time: int, seconds: int, now: int) -> MinuteBar | None:
        """The minutes of an interval up to now as one bar; None before the market opened."""
        first, last = self.minute_of(time) + 1, self.minute_of(min(time + seconds, now))
        if time + seconds <= self.opens or last < first:
            return None
        bars = [self.bar(minute) for minute in range(first, last + 1)]
        return MinuteBar(
            bars[0].open,
            max(bar.high for bar in bars),
            min(bar.low for bar in bars),
            bars[-1].close,
            sum(bar.volume for bar in bars),
            sum(bar.taker_buy for bar in bars),
        )

    def levels(self, time: int, side: int, count: int) -> list[tuple[float, float]]:
        """Prices and quantities above (1) or below (−1) the mark, the best first."""
        minute = self.minute_of(time)
        mark, lean = self.price(minute), self._lean(minute)
        best = round(mark / _PRICE_STEP) * _PRICE_STEP
        found = []
        for place in range(count):
            away = (1 + place + place * place // 40) * _PRICE_STEP
            drawn = self._share(f"level {side} {place}", minute)
            quantity = _LEVEL_QUANTITY * (0.3 + 1.4 * drawn) * (1 - side * lean)
            found.append((best + side * away, quantity))
        return found

    def funding_rate(self, time: int) -> float:
        """For the interval that ends at this time: longs pay more after a rise."""
        minute = self.minute_of(time)
        risen = self.price(minute) / self.price(minute - FUNDING_HOURS * 60) - 1
        return max(-_MOST_FUNDING, min(_MOST_FUNDING, 0.0001 + risen * 0.01))

    def open_interest(self, time: int) -> float:
        """Coins in open contracts at the last full hour."""
        hour = max(time - self.opens, 0) // HOUR
        while len(self._interest) <= hour:
            before, minute = self._interest[-1], (len(self._interest)) * 60
            drawn = self.path.draws.normal("interest", minute) / ONE_SIGMA * 0.001
            grown = _MOOD_INTEREST[self.path.phase_at(minute).mood] + drawn
            pull = _INTEREST_PULL * (before / _OPENING_INTEREST - 1)
            self._interest.append(before * (1 + grown - pull))
        return self._interest[hour]

    def price_change(self, time: int, minutes: int) -> float:
        minute = self.minute_of(time)
        return self.price(minute) / self.price(minute - minutes) - 1

    def liquidations(self, time: int) -> tuple[float, float]:
        """Dollars of longs and of shorts within the hour: a fast move throws out who is wrong."""
        worth = self.open_interest(time) * self.price(self.minute_of(time))
        moved = self.price_change(time, 60)
        thrown = worth * max(abs(moved) - 0.002, 0.0) * 0.05
        quiet = worth * 2e-6
        return (thrown + quiet, quiet) if moved < 0 else (quiet, thrown + quiet)

    def volatility(self, time: int) -> float:
        """What the last day's hours come to in a year, in percent."""
        hours = [self.price_change(time - HOUR * hour, 60) for hour in range(24)]
        return math.sqrt(sum(hour * hour for hour in hours) / len(hours) * 24 * 365) * 100

    def _lean(self, minute: int) -> float:
        """From −1 to 1: which side of the book is fuller after the last quarter of an hour."""
        risen = self.price(minute) / self.price(minute - 15) - 1
        return max(-0.6, min(0.6, risen * 60))

    def _share(self, purpose: str, minute: int) -> float:
        return self.path.draws.below(1 << 20, f"{self.asset} {purpose}", minute) / (1 << 20)


_INTERVALS = {"1m": 60, "15m": 900, "1h": HOUR, "4h": 4 * HOUR, "1d": 24 * HOUR}
_MOST_ROWS = 1_500
_CONTRACTS = {"ETHUSDT": (Asset.ETHER, "0.001"), "BTCUSDT": (Asset.BITCOIN, "0.001")}


_ORDER_TYPES = ["LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET"]


class PageAnswer(NamedTuple):
    status: int
    content: bytes


class PageError(Exception):
    """A question that Binance would refuse, with its own code."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class DemoExchange:
    """Answers for one world; the time is told with every question."""

    def __init__(self, path: SeededPath, opens: int) -> None:
        self._contracts = {
            name: Perpetual(path, opens, asset) for name, (asset, _) in _CONTRACTS.items()
        }
        self.opens = opens

    def answer(self, target: str, now: int) -> PageAnswer | None:
        """The page of a target like `/fapi/v1/time`; None where the exchange has none."""
        parts = urlsplit(target)
        page = _PAGES.get(parts.path)
        if page is None:
            return None
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        try:
            content, status = page(self, asked, now), HTTPStatus.OK
        except PageError as error:
            content, status = {"code": error.code, "msg": str(error)}, HTTPStatus.BAD_REQUEST
        return PageAnswer(status, json.dumps(content, separators=(",", ":")).encode())

    def contract(self, asked: Mapping[str, str]) -> Perpetual:
        found = self._contracts.get(asked.get("symbol", ""))
        if found is None:
            raise PageError(-1121, "Invalid symbol.")
        return found


def _whole(asked: Mapping[str, str], name: str, default: int) -> int:
    text = asked.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise PageError(-1102, f"Mandatory parameter '{name}' was malformed.")
    return int(text)


def _time(_: DemoExchange, _asked: Mapping[str, str], now: int) -> object:
    return {"serverTime": now * 1000}


def _contracts(_: DemoExchange, _asked: Mapping[str, str], now: int) -> object:
    return {
        "timezone": "UTC",
        "serverTime": now * 1000,
        "symbols": [
            {
                "symbol": name,
                "pair": name,
                "status": "TRADING",
                "contractType": "PERPETUAL",
                "baseAsset": name.removesuffix("USDT"),
                "quoteAsset": "USDT",
                "marginAsset": "USDT",
                "orderTypes": _ORDER_TYPES,
                "timeInForce": ["GTC", "IOC", "FOK", "GTX", "GTD"],
                "filters": [
                    {"filterType": "PRICE_FILTER", "tickSize": "0.01", "minPrice": "0.01"},
                    {"filterType": "LOT_SIZE", "stepSize": step, "minQty": step},
                    {"filterType": "MIN_NOTIONAL", "notional": "20"},
                ],
            }
            for name, (_, step) in _CONTRACTS.items()
        ],
    }


def _klines(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    contract = exchange.contract(asked)
    seconds = _INTERVALS.get(asked.get("interval", ""))
    if seconds is None:
        raise PageError(-1120, "Invalid interval.")
    limit = min(_whole(asked, "limit", 500), _MOST_ROWS)
    latest = now // seconds * seconds
    start = _whole(asked, "startTime", (latest - (limit - 1) * seconds) * 1000) // 1000
    first = max(-(-start // seconds) * seconds, exchange.opens // seconds * seconds)
    rows = []
    for time in range(first, latest + 1, seconds)[:limit]:
        bar = contract.candle(time, seconds, now)
        if bar is None:
            continue
        prices = [f"{price:.2f}" for price in (bar.open, bar.high, bar.low, bar.close)]
        volume, bought = f"{bar.volume:.3f}", f"{bar.taker_buy:.3f}"
        dollars = [f"{part * bar.close:.2f}" for part in (bar.volume, bar.taker_buy)]
        end = (time + seconds) * 1000 - 1
        rows.append([time * 1000, *prices, volume, end, dollars[0], 100, bought, dollars[1], "0"])
    return rows


def _depth(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    contract, count = exchange.contract(asked), min(_whole(asked, "limit", 500), 1000)

    def rows(side: int) -> list[list[str]]:
        return [[f"{p:.2f}", f"{q:.3f}"] for p, q in contract.levels(now, side, count)]

    return {
        "lastUpdateId": now,
        "E": now * 1000,
        "T": now * 1000,
        "bids": rows(-1),
        "asks": rows(1),
    }


def _premium(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    contract, every = exchange.contract(asked), FUNDING_HOURS * HOUR
    mark = contract.price(contract.minute_of(now))
    return {
        "symbol": asked["symbol"],
        "markPrice": f"{mark:.8f}",
        "indexPrice": f"{mark:.8f}",
        "estimatedSettlePrice": f"{mark:.8f}",
        "lastFundingRate": f"{contract.funding_rate(now):.8f}",
        "interestRate": "0.00010000",
        "nextFundingTime": (now // every + 1) * every * 1000,
        "time": now * 1000,
    }


def _funding_hours(_: DemoExchange, _asked: Mapping[str, str], _now: int) -> object:
    return [{"symbol": name, "fundingIntervalHours": FUNDING_HOURS} for name in _CONTRACTS]


def _funding_history(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    contract, every = exchange.contract(asked), FUNDING_HOURS * HOUR
    limit = min(_whole(asked, "limit", 100), 1000)
    start = max(_whole(asked, "startTime", (now - limit * every) * 1000) // 1000, exchange.opens)
    times = range(-(-start // every) * every, now + 1, every)[:limit]
    return [
        {
            "symbol": asked["symbol"],
            "fundingTime": time * 1000,
            "fundingRate": f"{contract.funding_rate(time):.8f}",
            "markPrice": f"{contract.price(contract.minute_of(time)):.8f}",
        }
        for time in times
    ]


def _interest(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    contract = exchange.contract(asked)
    coins = f"{contract.open_interest(now):.3f}"
    return {"openInterest": coins, "symbol": asked["symbol"], "time": now * 1000}


def _interest_history(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    contract, limit = exchange.contract(asked), min(_whole(asked, "limit", 30), 500)
    if asked.get("period") != "1h":
        raise PageError(-1130, "parameter 'period' is invalid.")
    latest = now // HOUR * HOUR
    first = max(latest - (limit - 1) * HOUR, exchange.opens // HOUR * HOUR)
    rows = []
    for time in range(first, latest + 1, HOUR):
        coins = contract.open_interest(time)
        dollars = coins * contract.price(contract.minute_of(time))
        rows.append(
            {
                "symbol": asked["symbol"],
                "sumOpenInterest": f"{coins:.3f}",
                "sumOpenInterestValue": f"{dollars:.2f}",
                "timestamp": time * 1000,
            }
        )
    return rows


def _surroundings(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    """What other sources tell of a real market, made up around this one's own course."""
    contract = exchange.contract(asked)
    day, daily = 24 * HOUR, contract.price_change(now, 24 * 60)
    days = [contract.volatility(now - day * back) for back in range(7)]
    mean = sum(days) / len(days)
    spread = math.sqrt(sum((day - mean) ** 2 for day in days) / len(days)) or 1.0
    longs, shorts = contract.liquidations(now)
    before = contract.price_change(now - day, 24 * 60)
    return {
        "time": now * 1000,
        "fear_greed": {"value": _mood(daily), "before": _mood(before)},
        "liquidations": {"long_usd": longs, "short_usd": shorts},
        "options": {
            "dvol": days[0],
            "dvol_z": (days[0] - mean) / spread,
            "put_call": 0.7 - max(-0.3, min(0.3, daily * 3)),
            "week_volatility": days[0],
            "quarter_volatility": mean,
            "skew_25d": -daily * 20,
        },
        "macro": {
            "dgs2": 3.9 - daily,
            "dgs10": 4.3 - daily / 2,
            "curve_spread": 0.4 + daily / 2,
            "curve_change": daily / 2,
            "dollar_change": -daily / 10,
            "nasdaq_change": daily / 4,
        },
    }


def _mood(moved: float) -> float:
    return max(5.0, min(95.0, 50 + moved * 600))


_PAGES: Mapping[str, Page] = {
    "/fapi/v1/time": _time,
    "/fapi/v1/exchangeInfo": _contracts,
    "/fapi/v1/klines": _klines,
    "/fapi/v1/depth": _depth,
    "/fapi/v1/premiumIndex": _premium,
    "/fapi/v1/fundingInfo": _funding_hours,
    "/demo/surroundings": _surroundings,
    "/fapi/v1/fundingRate": _funding_history,
    "/fapi/v1/openInterest": _interest,
    "/futures/data/openInterestHist": _interest_history,
}
