"""What surrounds a market: fear and greed, yields and indexes, and the demo's own simulation."""

from datetime import UTC, date, datetime
from typing import NamedTuple

from chain.exchange.public.market import MarketSource, contract_symbol
from chain.prices.market_http import MarketError

SOURCE = "simulated by the demo"
_MOST = 100
_MISSING = "."


class Surroundings(NamedTuple):
    time: float
    numbers: dict[str, dict[str, float]]
    """By kind of source."""


class DemoSurroundings(MarketSource):
    """Of the embedded chain's exchange: simulated, and named so wherever it is shown."""

    name = SOURCE

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


class FearGreed(NamedTuple):
    time: float
    value: float
    before: float | None
    """A day earlier; None where it is not told."""


class FearGreedIndex(MarketSource):
    """0 is fear, 100 is greed."""

    name = "alternative.me"
    url = "https://api.alternative.me"

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


class DayValue(NamedTuple):
    day: date
    value: float

    @property
    def time(self) -> float:
        return datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC).timestamp()


class Fred(MarketSource):
    """Yields, the dollar and the Nasdaq by the day; needs a key of one's own."""

    name = "FRED"
    url = "https://api.stlouisfed.org"

    def __init__(self, key: str, base_url: str = "") -> None:
        super().__init__(base_url)
        self._key = key

    async def latest(self, series: str, *, now: float, count: int = 10) -> tuple[DayValue, ...]:
        """The newest days that have a value, the oldest first."""
        parameters = {
            "series_id": series,
            "api_key": self._key,
            "file_type": "json",
            "sort_order": "desc",
            "limit": str(count),
        }
        answer = await self._http.get("/fred/series/observations", parameters, now=now)
        rows = self._read.rows(
            self._read.mapping(answer, "series").get("observations"), f"series {series}"
        )
        found = [self._value(row, series) for row in rows]
        known = sorted(value for value in found if value is not None)
        if not known:
            raise MarketError(f"{self.name} has no value of {series}")
        return tuple(known)

    def _value(self, row: object, series: str) -> DayValue | None:
        entry = self._read.mapping(row, f"series {series}")
        text = entry.get("value")
        if text == _MISSING:
            return None
        try:
            day = date.fromisoformat(str(entry.get("date")))
        except ValueError:
            raise self._read.wrong(f"series {series}") from None
        return DayValue(day, self._read.number(text, f"series {series}"))
