"""The exchange's pages: what it publishes, in the shapes of Binance's futures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

from chain.base.units import HOUR
from chain.devnet.exchange.perpetual import FUNDING_HOURS, Perpetual
from chain.devnet.world.price_path import Asset, SeededPath

if TYPE_CHECKING:
    Page = Callable[["DemoExchange", Mapping[str, str], int], object]

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


def _accounts(exchange: DemoExchange, asked: Mapping[str, str], now: int) -> object:
    share = exchange.contract(asked).long_accounts(now)
    return [
        {
            "symbol": asked["symbol"],
            "longAccount": f"{share:.4f}",
            "shortAccount": f"{1 - share:.4f}",
            "longShortRatio": f"{share / (1 - share):.4f}",
            "timestamp": now * 1000,
        }
    ]


_PAGES: Mapping[str, Page] = {
    "/fapi/v1/time": _time,
    "/fapi/v1/exchangeInfo": _contracts,
    "/fapi/v1/klines": _klines,
    "/fapi/v1/depth": _depth,
    "/fapi/v1/premiumIndex": _premium,
    "/fapi/v1/fundingRate": _funding_history,
    "/fapi/v1/openInterest": _interest,
    "/futures/data/openInterestHist": _interest_history,
    "/futures/data/globalLongShortAccountRatio": _accounts,
}
