"""Asking a market data server over HTTP, bounded, never redirected, its figures checked."""

import math
from collections.abc import Mapping
from fractions import Fraction
from urllib.parse import urlencode, urlsplit

from chain.base.clean_text import clean_text
from chain.base.http import HttpClient, HttpError, HttpLimits, seconds_asked
from chain.base.strict_json import InvalidJsonError, loads
from chain.base.units import HOUR

OLDEST_SECONDS = 1800.0
"""A market price older than this is not the market any more."""
AHEAD_SECONDS = 300.0
"""How far a server's clock may run ahead of ours."""
PAST_SECONDS = HOUR
"""How far from a past moment a price may be and still be told as that moment's."""
KEPT_SECONDS = 60.0
"""How long an answer is used again: markets themselves renew prices about once a minute."""

_MOST_DOLLARS = 1e12
_LEAST_DOLLARS = 1e-24


def checked_dollars(value: object) -> Fraction | None:
    """The price as an exact decimal, or None for what no price can be."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not math.isfinite(value) or not _LEAST_DOLLARS <= value <= _MOST_DOLLARS:
        return None
    return Fraction(repr(value))


MARKET_LIMITS = HttpLimits(connect_seconds=3.0, answer_seconds=5.0, most_bytes=4_000_000)
MOST_REST_SECONDS = 300.0
_REST_SECONDS = 60.0
"""How long a server is left alone that is too busy and does not say for how long."""

_BAN_SECONDS, MOST_BAN_SECONDS = 120.0, 3 * 86_400.0
_TOO_MANY_REQUESTS, _BANNED = 429, 418
_OK = 200

RESTING: dict[str, float] = {}
"""By host, until when it wants no request; a ban is of this machine, whoever here was too eager."""


class MarketError(Exception):
    """Market data could not be had: a phrase that can stand after "unknown:"."""


def refuse_resting(name: str, url: str, now: float) -> None:
    """Raises where this server asked to be left alone: nothing is sent to it before."""
    left = RESTING.get(urlsplit(url).netloc, 0.0) - now
    if left > 0:
        raise MarketError(f"{name} asked for a pause of {left:.0f} s more")


def let_rest(
    url: str, status: int, retry_after: str | None, now: float, most: float = MOST_REST_SECONDS
) -> float | None:
    """The seconds for which an answer of this status asks to be left alone; None for any other."""
    if status not in (_TOO_MANY_REQUESTS, _BANNED):
        return None
    asked = seconds_asked(retry_after, now)
    usual = _REST_SECONDS
    if status == _BANNED:
        usual, most = _BAN_SECONDS, MOST_BAN_SECONDS
    wait, host = min(usual if asked is None else asked, most), urlsplit(url).netloc
    RESTING[host] = max(now + wait, RESTING.get(host, 0.0))
    return wait


class MarketHttp:
    """The connection to one server; a server that asks for rest gets it."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, name: str, limits: HttpLimits
    ) -> None:
        part = urlsplit(base_url)
        if part.scheme not in ("http", "https") or not part.hostname:
            raise MarketError(f"the address set for {name} is not an http or https address")
        self._base_url = base_url.rstrip("/")
        self._headers = headers
        self._name = name
        self._limits = limits
        self._http = HttpClient(base_url)

    async def close(self) -> None:
        await self._http.close()

    async def get(self, path: str, parameters: Mapping[str, str], *, now: float) -> object:
        """The JSON at this path."""
        refuse_resting(self._name, self._base_url, now)
        url = f"{self._base_url}{path}?{urlencode(parameters, safe=',')}"
        try:
            answer = await self._http.get(url, self._headers, self._limits)
        except HttpError as error:
            raise MarketError(f"{self._name} {error}") from None
        wait = let_rest(self._base_url, answer.status, answer.retry_after, now)
        if wait is not None:
            raise MarketError(f"{self._name} asked for a pause of {wait:.0f} s")
        if answer.status != _OK:
            raise MarketError(f"{self._name} answered with HTTP status {answer.status}")
        return self._parsed(answer.body)

    def _parsed(self, body: bytes) -> object:
        try:
            return loads(body)
        except InvalidJsonError as error:
            raise MarketError(f"{self._name}'s answer is wrong: {clean_text(str(error))}") from None
