"""DefiLlama: US dollar prices of tokens by contract, now and at past times, every value checked."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from urllib.parse import quote

from chain.base.clean_text import SecretStruct
from chain.base.http import ClosedAtEnd, HttpLimits
from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.prices import market_http

SOURCE = "DefiLlama"
LEAST_CONFIDENCE = 0.8
"""DefiLlama says how sure it is of each price, from 0 to 1."""
TOKENS_A_REQUEST = 50
MOMENTS_A_REQUEST = 20

_CHAINS = {
    "ethereum": "ethereum",
    "optimism": "optimism",
    "bnb": "bsc",
    "unichain": "unichain",
    "polygon": "polygon",
    "base": "base",
    "arbitrum": "arbitrum",
}
_NO_PRICE = Unknown(f"{SOURCE} has no price for it")
_WRONG = Unknown(f"{SOURCE}'s price for it is wrong")


class DefiLlamaSettings(SecretStruct, frozen=True):
    base_url: str = "https://coins.llama.fi"
    limits: HttpLimits = market_http.MARKET_LIMITS


class DefiLlama(ClosedAtEnd):
    """A client whose questions never raise: a server that cannot be used is a reason."""

    def __init__(
        self, settings: DefiLlamaSettings | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        settings = settings or DefiLlamaSettings()
        self._http = market_http.MarketHttp(
            settings.base_url, {}, name=SOURCE, limits=settings.limits
        )
        self._clock = clock
        self._kept: dict[str, tuple[float, Mapping[str, object]]] = {}

    async def close(self) -> None:
        await self._http.close()

    async def usd_by_address(
        self, network: Network, addresses: Iterable[Address]
    ) -> dict[Address, Quantity[Fraction]]:
        """Dollars for one of each token; the zero address is the network's coin."""
        wanted = tuple(dict.fromkeys(addresses))
        chain = _CHAINS.get(network.name)
        if chain is None:
            return dict.fromkeys(wanted, Unknown(f"{SOURCE} does not know {network.title}"))
        prices: dict[Address, Quantity[Fraction]] = {}
        for start in range(0, len(wanted), TOKENS_A_REQUEST):
            some = wanted[start : start + TOKENS_A_REQUEST]
            names = ",".join(f"{chain}:{address}" for address in some)
            told = await self._coins(f"/prices/current/{quote(names, safe=':,')}", {})
            prices |= {
                address: told
                if isinstance(told, Unknown)
                else self._now(told.get(f"{chain}:{address}"))
                for address in some
            }
        return prices

    async def usd_at(
        self, network: Network, addresses: Collection[Address], moments: Iterable[int]
    ) -> dict[int, dict[Address, Quantity[Fraction]]]:
        """By moment: dollars for one of each token then."""
        wanted = sorted(set(moments))
        chain = _CHAINS.get(network.name)
        if chain is None:
            unknown = Unknown(f"{SOURCE} does not know {network.title}")
            return {moment: dict.fromkeys(addresses, unknown) for moment in wanted}
        found: dict[int, dict[Address, Quantity[Fraction]]] = {}
        for start in range(0, len(wanted), MOMENTS_A_REQUEST):
            some = wanted[start : start + MOMENTS_A_REQUEST]
            asked = json.dumps(
                {f"{chain}:{address}": some for address in addresses}, separators=(",", ":")
            )
            parameters = {"coins": asked, "searchWidth": str(market_http.PAST_SECONDS)}
            told = await self._coins("/batchHistorical", parameters)
            for moment in some:
                found[moment] = {
                    address: told
                    if isinstance(told, Unknown)
                    else _then(told.get(f"{chain}:{address}"), moment)
                    for address in addresses
                }
        return found

    async def _coins(
        self, path: str, parameters: Mapping[str, str]
    ) -> Mapping[str, object] | Unknown:
        now, key = self._clock(), f"{path} {sorted(parameters.items())}"
        kept = self._kept.get(key)
        if kept is not None and 0 <= now - kept[0] < market_http.KEPT_SECONDS:
            return kept[1]
        try:
            answer = await self._http.get(path, parameters, now=now)
        except market_http.MarketError as error:
            return Unknown(str(error))
        match answer:
            case {"coins": dict(coins)}:
                # It writes addresses as it was asked, or with their capitals.
                told = {str(name).lower(): coin for name, coin in coins.items()}
                self._kept[key] = now, told
                return told
        return Unknown(f"{SOURCE}'s answer is wrong: it lists no coins")

    def _now(self, told: object) -> Quantity[Fraction]:
        price = _checked(told)
        if isinstance(price, Unknown) or price.time is None:
            return price
        age = self._clock() - price.time
        if age < -market_http.AHEAD_SECONDS:
            return Unknown(f"{SOURCE}'s price for it is from the future")
        if age > market_http.OLDEST_SECONDS:
            return Unknown(f"{SOURCE}'s price for it is {age / HOUR:.1f} h old")
        return price


def _then(told: object, moment: int) -> Quantity[Fraction]:
    match told:
        case {"prices": list(rows)}:
            prices = [price for row in rows if isinstance(price := _checked(row), Known)]
        case _:
            return _NO_PRICE
    nearest = min(prices, key=lambda price: abs((price.time or 0.0) - moment), default=None)
    if nearest is None or abs((nearest.time or 0.0) - moment) > market_http.PAST_SECONDS:
        return Unknown(f"{SOURCE} has no price for it within an hour of then")
    return nearest


def _checked(told: object) -> Quantity[Fraction]:
    match told:
        case None:
            return _NO_PRICE
        case {"price": price, "timestamp": int(stamp)} if not isinstance(stamp, bool):
            usd = market_http.checked_dollars(price)
            sure = told.get("confidence") if isinstance(told, dict) else None
            if usd is None:
                return _WRONG
            if isinstance(sure, int | float) and sure < LEAST_CONFIDENCE:
                return Unknown(f"{SOURCE} is not sure of its price for it")
            return Known(usd, SOURCE, time=float(stamp))
    return _WRONG
