"""Fields of a venue's answer, each checked: what is no number is refused, never guessed."""

from __future__ import annotations

import math

from chain.prices.market_http import MarketError

_MOST = 1e18


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
