"""Deribit's options as far as they are public: implied volatility, term, skew, puts to calls.

An option's expiry and strike are read from its name, like ETH-27DEC26-3000-C: it ends at 08:00 UTC.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from math import erf, log, sqrt
from typing import NamedTuple

from msgspec import Struct

from chain.base.units import DAY, HOUR
from chain.exchange.public.market import MarketSource
from chain.prices.market_http import MarketError

SOURCE = "Deribit"
BASE_URL = "https://www.deribit.com"
_YEAR = 365 * DAY
_EXPIRES_AT_HOUR = 8
_NAME = re.compile(r"([A-Z]+)-([0-9]{1,2})([A-Z]{3})([0-9]{2})-([0-9]+)-([CP])")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_INDEX_HOURS = 30 * 24
_NEAREST = 0.6
"""Of a term: an expiry that is further off stands for another term."""
_DELTA = 0.25
_SKEW_DAYS = 30


class OptionQuote(NamedTuple):
    expires_at: int
    strike: float
    is_call: bool
    open_interest: float
    volatility: float
    """Implied by its mark, a fraction a year."""
    underlying: float


class VolatilityIndex(Struct, frozen=True):
    """DVOL by the hour, in percent a year, the oldest first."""

    time: float
    closes: tuple[float, ...]


class DeribitPublic(MarketSource):
    """Each question raises `MarketError`, with a phrase that can stand after "unknown:"."""

    name = SOURCE
    url = BASE_URL

    async def volatility_index(self, coin: str, now: float) -> VolatilityIndex:
        """The hours of the last 30 days."""
        result = await self._result(
            "get_volatility_index_data",
            now,
            currency=coin,
            start_timestamp=str(int(now - _INDEX_HOURS * HOUR) * 1000),
            end_timestamp=str(int(now) * 1000),
            resolution="3600",
        )
        rows = self._read.rows(self._read.mapping(result, "index").get("data"), "index")
        found = []
        for row in rows:
            fields = self._read.rows(row, "index")
            if len(fields) != 5:
                raise self._read.wrong("index")
            time = self._read.seconds(fields[0], "index")
            found.append((time, self._read.positive(fields[4], "index")))
        if not found:
            raise MarketError(f"{SOURCE} has no volatility index of {coin}")
        found.sort()
        return VolatilityIndex(found[-1][0], tuple(close for _, close in found))

    async def options(self, coin: str, now: float) -> tuple[OptionQuote, ...]:
        """Every option that has not ended; one whose name cannot be read is passed over."""
        result = await self._result(
            "get_book_summary_by_currency", now, currency=coin, kind="option"
        )
        found = []
        for row in self._read.rows(result, "options"):
            entry = self._read.mapping(row, "option")
            named = _named(entry.get("instrument_name"))
            volatility, underlying = entry.get("mark_iv"), entry.get("underlying_price")
            if named is None or volatility is None or underlying is None or named[0] <= now:
                continue
            found.append(
                OptionQuote(
                    *named,
                    self._read.amount(entry.get("open_interest"), "option"),
                    self._read.amount(volatility, "option") / 100,
                    self._read.positive(underlying, "option"),
                )
            )
        return tuple(found)

    async def _result(self, method: str, now: float, **parameters: str) -> object:
        answer = await self._http.get(f"/api/v2/public/{method}", parameters, now=now)
        return self._read.mapping(answer, "answer").get("result")


def put_call_ratio(options: Sequence[OptionQuote]) -> float | None:
    """Open puts over open calls."""
    calls = sum(option.open_interest for option in options if option.is_call)
    puts = sum(option.open_interest for option in options if not option.is_call)
    return puts / calls if calls else None


def term_volatility(options: Sequence[OptionQuote], days: float, now: float) -> float | None:
    """Implied at the money by the expiry nearest to this term; None where none is near."""
    chosen = _expiry_near(options, days, now)
    if not chosen:
        return None
    strike = min(chosen, key=lambda option: abs(option.strike - option.underlying)).strike
    found = [
        option.volatility for option in chosen if option.strike == strike and option.volatility > 0
    ]
    return sum(found) / len(found) if found else None


def skew_25_delta(options: Sequence[OptionQuote], now: float) -> float | None:
    """What puts of a quarter delta imply more than such calls, about a month ahead."""
    chosen = [option for option in _expiry_near(options, _SKEW_DAYS, now) if option.volatility > 0]
    puts = [option for option in chosen if not option.is_call]
    calls = [option for option in chosen if option.is_call]
    if not puts or not calls:
        return None
    put = min(puts, key=lambda put: abs(option_delta(put, now) + _DELTA))
    call = min(calls, key=lambda call: abs(option_delta(call, now) - _DELTA))
    return put.volatility - call.volatility


def option_delta(option: OptionQuote, now: float) -> float:
    """By Black and Scholes without interest."""
    years = max(option.expires_at - now, 1.0) / _YEAR
    spread = option.volatility * sqrt(years)
    reach = log(option.underlying / option.strike) / spread + spread / 2
    share = (1 + erf(reach / sqrt(2))) / 2
    return share if option.is_call else share - 1


def _expiry_near(options: Sequence[OptionQuote], days: float, now: float) -> list[OptionQuote]:
    expiries = {option.expires_at for option in options}
    nearest = min(expiries, key=lambda end: abs(end - now - days * DAY), default=None)
    if nearest is None or abs(nearest - now - days * DAY) > _NEAREST * days * DAY:
        return []
    return [option for option in options if option.expires_at == nearest]


def _named(name: object) -> tuple[int, float, bool] | None:
    """Expiry, strike and whether it is a call."""
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None or found[3] not in _MONTHS:
        return None
    try:
        end = datetime(
            2000 + int(found[4]),
            _MONTHS.index(found[3]) + 1,
            int(found[2]),
            _EXPIRES_AT_HOUR,
            tzinfo=UTC,
        )
    except ValueError:
        return None
    strike = float(found[5])
    return None if strike <= 0 else (int(end.timestamp()), strike, found[6] == "C")
