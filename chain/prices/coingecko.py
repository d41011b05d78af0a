"""CoinGecko: US dollar prices by coin or by contract, and hourly series, every value checked."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from itertools import islice, product
from urllib.parse import quote, urlsplit

from msgspec import Struct

from chain.base.clean_text import SecretStruct
from chain.base.http import ClosedAtEnd, HttpLimits
from chain.base.units import DAY, HOUR, Known, Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.prices import market_http
from chain.prices.defillama import DefiLlama
from chain.tokens.token import listed_token, listed_tokens

SOURCE = "CoinGecko"
CONTRACTS_A_REQUEST = 30
CONTRACTS_A_FREE_REQUEST = 1
"""Without a key CoinGecko prices one contract a request, and refuses more."""
MOST_CONTRACT_REQUESTS = 5
"""A wallet full of strangers' gifts must not use up the requests of an hour."""


class CoinGeckoSettings(SecretStruct, frozen=True):
    base_url: str = "https://api.coingecko.com/api/v3"
    api_key: str | None = None
    limits: HttpLimits = market_http.MARKET_LIMITS


class MarketPoint(Struct, frozen=True):
    time: float
    usd: float


class PriceSeries(Struct, frozen=True):
    """Prices in order of time, each moment once."""

    coin: str
    points: tuple[MarketPoint, ...]


class _KeptAnswer(Struct, frozen=True):
    answer: object
    time: float


class CoinGecko(ClosedAtEnd):
    """A client whose questions raise `MarketError` when the server cannot be used at all."""

    def __init__(
        self,
        settings: CoinGeckoSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        second: DefiLlama | None = None,
    ) -> None:
        settings = settings or CoinGeckoSettings()
        self.second = second
        """Who is asked for prices beside it, and closed with it."""
        self.has_key = bool(settings.api_key)
        self._http = market_http.MarketHttp(
            settings.base_url, _key_header(settings), name=SOURCE, limits=settings.limits
        )
        self._clock = clock
        self._kept: dict[tuple[str, str], _KeptAnswer] = {}

    async def close(self) -> None:
        await self._http.close()
        if self.second is not None:
            await self.second.close()

    async def usd_by_coin(self, coins: Iterable[str]) -> dict[str, Quantity[Fraction]]:
        """Dollars for one of each coin, by CoinGecko's ids."""
        wanted = sorted(set(coins))
        if not wanted:
            return {}
        answer = await self._ask("/simple/price", {"ids": ",".join(wanted)})
        return {coin: self._price(answer, coin) for coin in wanted}

    async def usd_by_address(
        self, platform: str, addresses: Iterable[Address]
    ) -> dict[Address, Quantity[Fraction]]:
        """Dollars for one of each token, by its contract; those beyond the limit are not asked."""
        wanted = list(dict.fromkeys(addresses))
        size = CONTRACTS_A_REQUEST if self.has_key else CONTRACTS_A_FREE_REQUEST
        asked = wanted[: size * MOST_CONTRACT_REQUESTS]
        too_many = Unknown(f"{SOURCE} was asked about {len(asked)} other tokens first")
        prices: dict[Address, Quantity[Fraction]] = dict.fromkeys(wanted, too_many)
        batches = [asked[start : start + size] for start in range(0, len(asked), size)]
        for answer in await asyncio.gather(*(self._batch(platform, batch) for batch in batches)):
            prices.update(answer)
        return prices

    async def _batch(
        self, platform: str, addresses: list[Address]
    ) -> dict[Address, Quantity[Fraction]]:
        path = f"/simple/token_price/{quote(platform, safe='')}"
        answer = await self._ask(path, {"contract_addresses": ",".join(addresses)})
        return {address: self._price(answer, address) for address in addresses}

    async def hourly(self, coin: str, *, days: int) -> PriceSeries:
        """Hourly prices of the last days; CoinGecko chooses the hour for 2 to 90 of them."""
        path = f"/coins/{quote(coin, safe='')}/market_chart"
        answer = await self._fetched(path, {"vs_currency": "usd", "days": str(days)})
        return PriceSeries(coin, _points(answer, self._clock() + market_http.AHEAD_SECONDS))

    async def between(self, name: str, first: int, last: int) -> PriceSeries:
        """Prices from one time to another, of a coin or of `PLATFORM/contract/ADDRESS`."""
        path = f"/coins/{quote(name)}/market_chart/range"
        parameters = {"vs_currency": "usd", "from": str(first), "to": str(last)}
        answer = await self._fetched(path, {**parameters, "precision": "full"})
        return PriceSeries(name, _points(answer, self._clock() + market_http.AHEAD_SECONDS))

    async def _ask(self, path: str, parameters: dict[str, str]) -> dict[str, object]:
        precise = {"vs_currencies": "usd", "include_last_updated_at": "true", "precision": "full"}
        answer = await self._fetched(path, {**parameters, **precise})
        if not isinstance(answer, dict):
            raise market_http.MarketError(f"{SOURCE}'s answer is wrong: it is not an object")
        return answer

    async def _fetched(self, path: str, parameters: dict[str, str]) -> object:
        now = self._clock()
        key = (path, repr(sorted(parameters.items())))
        kept = self._kept.get(key)
        if kept is not None and 0 <= now - kept.time < market_http.KEPT_SECONDS:
            return kept.answer
        answer = await self._http.get(path, parameters, now=now)
        self._kept[key] = _KeptAnswer(answer, now)
        return answer

    def _price(self, answer: dict[str, object], name: str) -> Quantity[Fraction]:
        entry = answer.get(name)
        if entry is None or entry == {}:
            return Unknown(f"{SOURCE} has no price for it")
        if not isinstance(entry, dict):
            return Unknown(f"{SOURCE}'s price for it is wrong")
        usd = market_http.checked_dollars(entry.get("usd"))
        updated = entry.get("last_updated_at")
        if usd is None or not isinstance(updated, int) or isinstance(updated, bool):
            return Unknown(f"{SOURCE}'s price for it is wrong")
        age = self._clock() - updated
        if age < -market_http.AHEAD_SECONDS:
            return Unknown(f"{SOURCE}'s price for it is from the future")
        if age > market_http.OLDEST_SECONDS:
            return Unknown(f"{SOURCE}'s price for it is {age / HOUR:.1f} h old")
        return Known(usd, SOURCE, time=float(updated))


def _points(answer: object, latest: float) -> tuple[MarketPoint, ...]:
    rows = answer.get("prices") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise market_http.MarketError(f"{SOURCE}'s price series is wrong")
    points: dict[float, MarketPoint] = {}
    for row in rows:
        match row:
            case [int() | float() as milliseconds, int() | float() as price]:
                usd = market_http.checked_dollars(price)
                moment = milliseconds / 1000
                if usd is None or isinstance(milliseconds, bool) or not 0 < moment <= latest:
                    raise market_http.MarketError(f"{SOURCE}'s price series is wrong")
                points[moment] = MarketPoint(moment, float(usd))
            case _:
                raise market_http.MarketError(f"{SOURCE}'s price series is wrong")
    return tuple(points[moment] for moment in sorted(points))


def _key_header(settings: CoinGeckoSettings) -> dict[str, str]:
    if not settings.api_key:
        return {}
    if not (settings.api_key.isascii() and settings.api_key.isprintable()):
        raise market_http.MarketError(f"the key set for {SOURCE} holds characters that no key has")
    paid = (urlsplit(settings.base_url).hostname or "").startswith("pro-")
    return {"x-cg-pro-api-key" if paid else "x-cg-demo-api-key": settings.api_key}


HOURLY_DAYS = 90
"""Of so many days at once CoinGecko tells a price an hour; of more, one a day."""
MOST_REQUESTS = 60
"""For one history: what a free key is worth in two minutes."""

_NO_PRICE = Unknown(f"{SOURCE} has no price for it within an hour of then")
_NOT_ASKED = Unknown(f"{SOURCE} was asked about other times first")


async def coingecko_prices_at(
    coingecko: CoinGecko, network: Network, addresses: Collection[Address], moments: Iterable[int]
) -> dict[int, dict[Address, Quantity[Fraction]]]:
    """By moment: dollars for one of each token then; never raises, and asks nobody without a key.

    A part of a year is one request a token, whatever happened in it.
    """
    wanted = sorted(set(moments))
    found: dict[int, dict[Address, Quantity[Fraction]]] = {moment: {} for moment in wanted}
    if not coingecko.has_key:
        return found
    for moment in wanted:
        found[moment] = dict.fromkeys(addresses, _NOT_ASKED)
    # The newest first: a free key is told the last year alone.
    questions = product(reversed(windows(wanted)), addresses)
    for window, address in islice(questions, MOST_REQUESTS):
        prices = await _prices(coingecko, network, address, window)
        for moment, price in zip(window, prices, strict=True):
            found[moment][address] = price
    return found


def windows(moments: Sequence[int]) -> list[list[int]]:
    """The moments, in order, in groups short enough for hourly prices."""
    widest = HOURLY_DAYS * DAY - 2 * market_http.PAST_SECONDS
    groups: list[list[int]] = []
    for moment in moments:
        if groups and moment - groups[-1][0] <= widest:
            groups[-1].append(moment)
        else:
            groups.append([moment])
    return groups


async def _prices(
    coingecko: CoinGecko, network: Network, address: Address, window: Sequence[int]
) -> list[Quantity[Fraction]]:
    name = _name(network, address)
    if name is None:
        return [Unknown(f"{SOURCE} does not price it on {network.title}")] * len(window)
    try:
        series = await coingecko.between(
            name, window[0] - market_http.PAST_SECONDS, window[-1] + market_http.PAST_SECONDS
        )
    except market_http.MarketError as error:
        return [Unknown(str(error))] * len(window)
    return [_nearest(series.points, moment) for moment in window]


def _name(network: Network, address: Address) -> str | None:
    """How CoinGecko's paths name a token: by its coin, or by its contract."""
    listed, platform = listed_token(network, address), listed_tokens(network).platform
    if listed is not None and listed.coin is not None:
        return listed.coin
    return None if platform is None else f"{platform}/contract/{address}"


def _nearest(points: Sequence[MarketPoint], moment: int) -> Quantity[Fraction]:
    after = bisect_left(points, float(moment), key=lambda point: point.time)
    beside = points[max(0, after - 1) : after + 1]
    nearest = min(beside, key=lambda one: abs(one.time - moment), default=None)
    if nearest is None or abs(nearest.time - moment) > market_http.PAST_SECONDS:
        return _NO_PRICE
    return Known(Fraction(repr(nearest.usd)), SOURCE, time=nearest.time)
