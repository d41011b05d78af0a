"""The fear and greed index of alternative.me: 0 is fear, 100 is greed."""

from typing import NamedTuple

from chain.exchange.public.market import VenueAnswer
from chain.prices.market_http import MARKET_LIMITS, MarketHttp

SOURCE = "alternative.me"
BASE_URL = "https://api.alternative.me"
_MOST = 100


class FearGreed(NamedTuple):
    time: float
    value: float
    before: float | None
    """A day earlier; None where it is not told."""


class FearGreedIndex:
    def __init__(self, base_url: str = BASE_URL) -> None:
        self._http = MarketHttp(base_url, {}, name=SOURCE, limits=MARKET_LIMITS)
        self._read = VenueAnswer(SOURCE)

    async def close(self) -> None:
        await self._http.close()

    async def latest(self, now: float) -> FearGreed:
        answer = self._read.mapping(await self._http.get("/fng/", {"limit": "2"}, now=now), "index")
        rows = self._read.rows(answer.get("data"), "index")
        if not rows:
            raise self._read.wrong("index")
        values = [self._value(row) for row in rows]
        time = self._read.positive(self._read.mapping(rows[0], "index").get("timestamp"), "index")
        return FearGreed(time, values[0], values[1] if len(values) > 1 else None)

    def _value(self, row: object) -> float:
        value = self._read.amount(self._read.mapping(row, "index").get("value"), "index")
        if value > _MOST:
            raise self._read.wrong("index")
        return value
