"""Bybit, OKX and Upbit through ccxt, as far as they are public: beside the venue of one's own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from chain.base.clean_text import quoted
from chain.base.errors import error_kind
from chain.exchange.orders.ccxt_client import ccxt_errors, open_client
from chain.exchange.public.market import VenueAnswer, VenueReading
from chain.prices.market_http import MarketError

_PATIENCE = 5.0
_HOUR = 3600
_FUNDING_HOURS = 8


class VenuesRead(NamedTuple):
    found: tuple[VenueReading, ...]
    failed: tuple[str, ...]
    """What those say that told nothing."""


class OtherVenues:
    """Asks all at once; each may fail alone."""

    def __init__(self, base_url: str | None = None, *, patience: float = _PATIENCE) -> None:
        """Another address is for servers of the same shapes; raises where ccxt is missing."""
        self._patience = patience
        self._errors = ccxt_errors()
        self._clients = {name: open_client(name, base_url=base_url) for name in _READERS}

    async def close(self) -> None:
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    async def read(self, coin: str) -> VenuesRead:
        asked = (self._one(name, coin) for name in self._clients)
        answers = await asyncio.gather(*asked)
        return VenuesRead(
            tuple(answer for answer in answers if isinstance(answer, VenueReading)),
            tuple(str(answer) for answer in answers if isinstance(answer, MarketError)),
        )

    async def _one(self, name: str, coin: str) -> VenueReading | MarketError:
        title, read = _READERS[name]
        try:
            async with asyncio.timeout(self._patience):
                return await read(self._clients[name], VenueAnswer(title), coin)
        except TimeoutError:
            return MarketError(f"{title} did not answer within {self._patience:g} s")
        except MarketError as error:
            return error
        except self._errors.BaseError as error:
            said = quoted(str(error)) or "without a reason"
            return MarketError(f"{title} answers {error_kind(error)} ({said})")


async def _bybit(client: Any, read: VenueAnswer, coin: str) -> VenueReading:  # noqa: ANN401
    asked = {"category": "linear", "symbol": f"{coin}USDT"}
    answer = read.mapping(await client.publicGetV5MarketTickers(asked), "contract")
    result = read.mapping(answer.get("result"), "contract")
    row = _only(read, result.get("list"), coin, f"{coin}USDT", "symbol")
    hours = read.positive(row.get("fundingIntervalHour") or _FUNDING_HOURS, "funding interval")
    return VenueReading(
        "Bybit",
        read.positive(row.get("markPrice"), "mark"),
        read.number(row.get("fundingRate"), "funding rate") * _FUNDING_HOURS / hours,
        read.amount(row.get("openInterestValue"), "open interest"),
    )


async def _okx(client: Any, read: VenueAnswer, coin: str) -> VenueReading:  # noqa: ANN401
    name = f"{coin}-USDT-SWAP"
    asked = {"instType": "SWAP", "instId": name}
    interest, mark, funding = await asyncio.gather(
        client.publicGetPublicOpenInterest(asked),
        client.publicGetPublicMarkPrice(asked),
        client.publicGetPublicFundingRate({"instId": name}),
    )
    rows = [
        _only(read, read.mapping(answer, "contract").get("data"), coin, name, "instId")
        for answer in (interest, mark, funding)
    ]
    price = read.positive(rows[1].get("markPx"), "mark")
    due = [read.number(rows[2].get(key), "funding") for key in ("fundingTime", "nextFundingTime")]
    hours = (due[1] - due[0]) / 1000 / _HOUR
    if hours <= 0:
        raise read.wrong("funding interval")
    return VenueReading(
        "OKX",
        price,
        read.number(rows[2].get("fundingRate"), "funding rate") * _FUNDING_HOURS / hours,
        read.amount(rows[0].get("oiCcy"), "open interest") * price,
    )


async def _upbit(client: Any, read: VenueAnswer, coin: str) -> VenueReading:  # noqa: ANN401
    """Spot in won, at the venue's own price of a dollar coin."""
    market = f"KRW-{coin}"
    rows = read.rows(await client.publicGetTicker({"markets": f"{market},KRW-USDT"}), "ticker")
    won = read.positive(_only(read, rows, coin, market, "market").get("trade_price"), "price")
    dollar = _only(read, rows, coin, "KRW-USDT", "market").get("trade_price")
    return VenueReading("Upbit", won / read.positive(dollar, "price of a dollar"), None, None)


def _only(read: VenueAnswer, rows: object, coin: str, name: str, key: str) -> dict[str, object]:
    for row in read.rows(rows, "answer"):
        entry = read.mapping(row, "answer")
        if entry.get(key) == name:
            return entry
    raise read.wrong(f"answer about {coin}")


_READERS: dict[str, tuple[str, Callable[[Any, VenueAnswer, str], Awaitable[VenueReading]]]] = {
    "bybit": ("Bybit", _bybit),
    "okx": ("OKX", _okx),
    "upbit": ("Upbit", _upbit),
}
