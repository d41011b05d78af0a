"""FRED: yields, the dollar and the Nasdaq by the day; needs a key of one's own."""

from datetime import UTC, date, datetime
from typing import NamedTuple

from chain.exchange.public.market import VenueAnswer
from chain.prices.market_http import MARKET_LIMITS, MarketError, MarketHttp

SOURCE = "FRED"
BASE_URL = "https://api.stlouisfed.org"
_MISSING = "."


class DayValue(NamedTuple):
    day: date
    value: float

    @property
    def time(self) -> float:
        return datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC).timestamp()


class Fred:
    def __init__(self, key: str, base_url: str = BASE_URL) -> None:
        self._key = key
        self._http = MarketHttp(base_url, {}, name=SOURCE, limits=MARKET_LIMITS)
        self._read = VenueAnswer(SOURCE)

    async def close(self) -> None:
        await self._http.close()

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
            raise MarketError(f"{SOURCE} has no value of {series}")
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
