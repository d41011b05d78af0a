"""What surrounds the embedded chain's exchange: simulated, and named so wherever it is shown."""

from typing import NamedTuple

from chain.exchange.public.market import VenueAnswer, contract_symbol
from chain.prices.market_http import MARKET_LIMITS, MarketHttp

SOURCE = "simulated by the demo"


class Surroundings(NamedTuple):
    time: float
    numbers: dict[str, dict[str, float]]
    """By kind of source."""


class DemoSurroundings:
    def __init__(self, base_url: str) -> None:
        self._http = MarketHttp(base_url, {}, name=SOURCE, limits=MARKET_LIMITS)
        self._read = VenueAnswer(SOURCE)

    async def close(self) -> None:
        await self._http.close()

    async def read(self, coin: str, now: float) -> Surroundings:
        asked = {"symbol": contract_symbol(coin)}
        answer = self._read.mapping(
            await self._http.get("/demo/surroundings", asked, now=now), "page"
        )
        time = self._read.seconds(answer.pop("time", None), "time")
        kinds = {name: self._read.mapping(value, name) for name, value in answer.items()}
        numbers = {
            name: {field: self._read.number(value, name) for field, value in kind.items()}
            for name, kind in kinds.items()
        }
        return Surroundings(time, numbers)
