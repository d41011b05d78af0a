"""Past prices by CoinGecko over real HTTP: with a key, in few requests, near the moment."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest

from chain.base.http import HttpLimits
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.bookkeeping.wallet_history import price_of_then
from chain.contracts.networks import NATIVE, network_named
from chain.prices.coingecko import (
    HOURLY_DAYS,
    MOST_REQUESTS,
    CoinGecko,
    CoinGeckoSettings,
    coingecko_prices_at,
    windows,
)
from chain.prices.ladder import median_of_two
from tests.fakes.coingecko import Answer, CoinGeckoDouble

NOW = 1_760_000_000
BASE = network_named("base")
TOKEN = "0x" + "5a" * 20
LIMITS = HttpLimits(connect_seconds=2, answer_seconds=2, most_bytes=1_000_000)


@asynccontextmanager
async def market(double: CoinGeckoDouble, key: str | None = "CG-demo") -> AsyncIterator[CoinGecko]:
    async with double.running() as url:
        settings = CoinGeckoSettings(url, key, LIMITS)
        async with CoinGecko(settings, clock=lambda: float(NOW)) as coingecko:
            yield coingecko


def hourly(usd: float, days: int) -> list[list[float]]:
    """A price an hour that rises by a dollar each time, up to now."""
    count = days * 24
    return [[(NOW - HOUR * (count - at)) * 1000, usd + at] for at in range(count)]


async def test_each_token_takes_one_request_for_a_season() -> None:
    charts: dict[str, object] = {
        "ethereum": hourly(1000.5, 60),
        f"base/contract/{TOKEN}": hourly(2, 60),
    }
    double = CoinGeckoDouble(charts=charts)
    moments = [NOW - 40 * DAY + 100, NOW - 3 * DAY - 600]
    async with market(double) as coingecko:
        found = await coingecko_prices_at(coingecko, BASE, [NATIVE, TOKEN], moments)
    then = found[moments[0]][NATIVE]
    assert then == Known(Fraction("1480.5"), "CoinGecko", None, float(NOW - 40 * DAY))
    assert found[moments[1]][TOKEN] == Known(
        Fraction(2 + 57 * 24), "CoinGecko", None, float(NOW - 3 * DAY)
    )
    assert len(double.asked) == 2
    assert all("x-cg-demo-api-key" in one.headers for one in double.asked)


async def test_without_a_key_nobody_is_asked() -> None:
    double = CoinGeckoDouble(charts={"ethereum": hourly(1, 3)})
    async with market(double, key=None) as coingecko:
        assert await coingecko_prices_at(coingecko, BASE, [NATIVE], [NOW - DAY]) == {NOW - DAY: {}}
    assert double.asked == []


@pytest.mark.parametrize(
    "double",
    [
        CoinGeckoDouble(charts={"ethereum": hourly(1, 3)}),
        CoinGeckoDouble(fault=Answer(401, b'{"error_code":10012}')),
        CoinGeckoDouble(fault=Answer(body=b'{"prices":[["then",1]]}')),
    ],
    ids=["before its data", "beyond the plan", "nonsense"],
)
async def test_what_it_does_not_tell_is_unknown(double: CoinGeckoDouble) -> None:
    async with market(double) as coingecko:
        found = await coingecko_prices_at(coingecko, BASE, [NATIVE], [NOW - 400 * DAY])
    assert isinstance(found[NOW - 400 * DAY][NATIVE], Unknown)


async def test_a_long_life_is_asked_about_from_its_end() -> None:
    double = CoinGeckoDouble(charts={"ethereum": hourly(1, 3)})
    moments = [NOW - DAY - place * (HOURLY_DAYS + 1) * DAY for place in range(MOST_REQUESTS + 5)]
    async with market(double) as coingecko:
        found = await coingecko_prices_at(coingecko, BASE, [NATIVE], moments)
    assert len(double.asked) == MOST_REQUESTS
    assert isinstance(found[moments[0]][NATIVE], Known)
    assert isinstance(found[moments[-1]][NATIVE], Unknown)


def test_windows_hold_every_moment_once_and_no_more_than_a_season() -> None:
    moments = [place * 17 * DAY for place in range(40)]
    found = windows(moments)
    assert [one for group in found for one in group] == moments
    assert all(group[-1] - group[0] < HOURLY_DAYS * DAY for group in found)
    assert len(found) == 7
    assert windows([]) == []


def test_two_markets_that_disagree_are_settled_by_the_pools_of_then_and_said() -> None:
    high, low = (
        Known(Fraction(usd), source, time=float(NOW))
        for usd, source in ((110, "CoinGecko"), (100, "DefiLlama"))
    )
    pools = Known(Fraction(101), "pool 0x1", 7)
    both = median_of_two(high, low)
    settled = price_of_then(both, pools)
    assert isinstance(settled, Known)
    assert (settled.value, settled.block) == (Fraction(101), 7)
    assert settled.source.startswith("disputed: ")
    agreed = price_of_then(median_of_two(low, Known(Fraction(101), "CoinGecko")), pools)
    assert isinstance(agreed, Known)
    assert (agreed.value, agreed.source) == (Fraction(201, 2), "DefiLlama and CoinGecko")
