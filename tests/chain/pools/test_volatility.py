"""The ladder of volatility: the market, the pool's swaps, an assumption that says it is one."""

from itertools import pairwise
from math import exp, log, sqrt
from random import Random

import pytest

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.history.volatility import (
    ASSUMPTIONS,
    PairClass,
    PricePath,
    PricePoint,
    VolatilityStep,
    class_of,
    pair_class,
    read_volatility,
    volatility,
)
from chain.math.ticks import sqrt_price_at_tick
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.prices.ladder import market_closes
from chain.tokens.token import TokenClass
from tests.fakes.coingecko import Answer, CoinGeckoDouble

NOW = 1_760_000_000
HOUR = 3600
ETHEREUM = network_named("ethereum")
USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
USDT = "0xdac17f958d2ee523a2206206994597c13d831ec7"
WETH = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
WBTC = "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599"
STRANGER = "0x" + "5a" * 20
NO_MARKET = Unknown("market data is switched off")


def walk(seed: int, hours: int = 200, hourly: float = 0.01, start: float = 3000.0) -> list[float]:
    chance = Random(seed)
    prices = [start]
    for _ in range(hours):
        prices.append(prices[-1] * exp(chance.gauss(0, hourly)))
    return prices


def chart(prices: list[float], end: float = NOW - 60) -> list[list[float]]:
    first = end - HOUR * (len(prices) - 1)
    return [[(first + HOUR * place) * 1000, price] for place, price in enumerate(prices)]


def daily(prices: list[float]) -> float:
    returns = [log(after / before) for before, after in pairwise(prices)]
    return sqrt(24 * sum(r * r for r in returns) / len(returns))


async def closes(
    double: CoinGeckoDouble, one: str, other: str, hours: int = 24
) -> Quantity[tuple[float, ...]]:
    async with (
        double.running() as url,
        CoinGecko(CoinGeckoSettings(url), clock=lambda: NOW) as coingecko,
    ):
        return await market_closes(coingecko, ETHEREUM, one, other, hours=hours, now=NOW)


def path(ticks: list[int]) -> PricePath:
    points = tuple(
        PricePoint(NOW - HOUR * (len(ticks) - 1 - place), sqrt_price_at_tick(tick))
        for place, tick in enumerate(ticks)
    )
    return PricePath("0x" + "11" * 32, points, NOW, 100)


@pytest.mark.parametrize("hours", [24, 168])
async def test_a_coin_against_dollars_moves_as_its_hourly_prices_do(hours: int) -> None:
    prices = walk(1)
    market = await closes(CoinGeckoDouble(charts={"ethereum": chart(prices)}), USDC, WETH, hours)
    found = volatility(market, None, PairClass.MAJOR, hours=hours)
    assert found.step is VolatilityStep.MARKET
    assert found.daily_sigma == pytest.approx(daily(prices[-hours - 1 :]))
    assert found.window_hours == hours
    assert found.age(NOW) == 60
    assert found.source == f"CoinGecko, {hours + 1} hourly prices of ethereum"


async def test_two_coins_are_measured_by_their_ratio() -> None:
    ether, bitcoin = walk(1), walk(2, start=90_000.0)
    charts: dict[str, object] = {"ethereum": chart(ether), "wrapped-bitcoin": chart(bitcoin)}
    market = await closes(CoinGeckoDouble(charts=charts), WBTC, WETH)
    found = volatility(market, None, PairClass.MAJORS)
    ratio = [b / e for b, e in zip(bitcoin, ether, strict=True)]
    assert found.daily_sigma == pytest.approx(daily(ratio[-25:]))
    same: dict[str, object] = {"ethereum": chart(ether), "wrapped-bitcoin": chart(ether)}
    still = await closes(CoinGeckoDouble(charts=same), WBTC, WETH)
    assert volatility(still, None, PairClass.MAJORS).step is VolatilityStep.ASSUMED


async def test_a_straight_way_is_told_from_a_walk_in_place() -> None:
    rising = [3000 * 1.001**hour for hour in range(200)]
    market = await closes(CoinGeckoDouble(charts={"ethereum": chart(rising)}), USDC, WETH)
    assert volatility(market, None, PairClass.MAJOR).path_efficiency == pytest.approx(1)
    zigzag = [3000 * (1.01 if hour % 2 else 1) for hour in range(201)]
    market = await closes(CoinGeckoDouble(charts={"ethereum": chart(zigzag)}), USDC, WETH)
    assert volatility(market, None, PairClass.MAJOR).path_efficiency == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("double", "one", "other", "reason"),
    [
        (CoinGeckoDouble(fault=Answer(500)), USDC, WETH, "HTTP status 500"),
        (CoinGeckoDouble(), USDC, WETH, "HTTP status 404"),
        (CoinGeckoDouble(), USDC, STRANGER, "unlisted token"),
        (CoinGeckoDouble(), USDC, USDT, "too coarse"),
        (CoinGeckoDouble(), NATIVE, WETH, "too coarse"),
        (CoinGeckoDouble(charts={"ethereum": []}), USDC, WETH, "no prices"),
        (
            CoinGeckoDouble(charts={"ethereum": chart(walk(1), NOW - 9 * HOUR)}),
            USDC,
            WETH,
            "9.0 h old",
        ),
        (
            CoinGeckoDouble(charts={"ethereum": chart(walk(1, hours=20))}),
            USDC,
            WETH,
            "20 of 24 hours",
        ),
    ],
)
async def test_a_market_that_cannot_tell_is_passed_over(
    double: CoinGeckoDouble, one: str, other: str, reason: str
) -> None:
    market = await closes(double, one, other)
    found = volatility(market, path([0, 50] * 13), PairClass.MAJOR)
    assert found.step is VolatilityStep.SWAPS
    assert reason in found.passed_over[0]


def test_the_pools_own_swaps_are_the_second_step() -> None:
    found = volatility(NO_MARKET, path([0, 100] * 15), PairClass.MAJOR)
    assert found.step is VolatilityStep.SWAPS
    assert found.daily_sigma == pytest.approx(sqrt(24) * 100 * log(1.0001), rel=1e-6)
    assert found.time == NOW
    assert found.passed_over == ("market data is switched off",)


@pytest.mark.parametrize(
    ("swaps", "reason"),
    [
        (None, "were not read"),
        (path([]), "reach back 0 of 24 hours"),
        (path([0, 100]), "reach back 1 of 24 hours"),
        (path([7] * 30), "did not move"),
    ],
)
def test_without_either_the_assumption_says_that_it_is_one(
    swaps: PricePath | None, reason: str
) -> None:
    found = volatility(NO_MARKET, swaps, PairClass.STABLE)
    assert found.step is VolatilityStep.ASSUMED
    assert found.daily_sigma == ASSUMPTIONS[PairClass.STABLE].daily_sigma
    assert found.source == "assumed for two tokens of one currency"
    assert found.age(NOW) is None
    assert found.passed_over[0] == NO_MARKET.reason
    assert reason in found.passed_over[1]


async def test_without_coingecko_there_is_no_market() -> None:
    market = await market_closes(None, ETHEREUM, USDC, WETH, hours=24, now=NOW)
    assert market == NO_MARKET


@pytest.mark.parametrize(
    ("kind0", "kind1", "expected"),
    [
        (TokenClass.DOLLAR, TokenClass.DOLLAR, PairClass.STABLE),
        (TokenClass.EURO, TokenClass.EURO, PairClass.STABLE),
        (TokenClass.EURO, TokenClass.DOLLAR, PairClass.CURRENCIES),
        (TokenClass.ETHER, TokenClass.ETHER, PairClass.PEGGED),
        (TokenClass.ETHER, TokenClass.BITCOIN, PairClass.MAJORS),
        (TokenClass.BITCOIN, TokenClass.DOLLAR, PairClass.MAJOR),
        (TokenClass.OTHER, TokenClass.DOLLAR, PairClass.OTHER),
        (TokenClass.OTHER, TokenClass.OTHER, PairClass.OTHER),
    ],
)
def test_pairs_are_classed_by_what_their_tokens_follow(
    kind0: TokenClass, kind1: TokenClass, expected: PairClass
) -> None:
    assert pair_class(kind0, kind1) is pair_class(kind1, kind0) is expected


def test_a_coin_and_its_wrapped_form_are_pegged_whatever_the_coin() -> None:
    polygon = network_named("polygon")
    assert polygon.wrapped_native is not None
    assert class_of(polygon, NATIVE, polygon.wrapped_native) is PairClass.PEGGED
    assert class_of(ETHEREUM, USDC, WETH) is PairClass.MAJOR
    assert class_of(ETHEREUM, USDC, STRANGER) is PairClass.OTHER


def test_known_closes_must_move_to_count() -> None:
    flat = Known((3000.0,) * 25, "CoinGecko", time=float(NOW))
    assert volatility(flat, None, PairClass.MAJOR).step is VolatilityStep.ASSUMED


async def test_a_pool_is_asked_about_by_its_key() -> None:
    key = PoolKey(USDC, WETH, 500, 10, NO_HOOK)
    swaps = path([0, 100] * 15)
    double = CoinGeckoDouble(charts={"ethereum": chart(walk(3))})
    async with (
        double.running() as url,
        CoinGecko(CoinGeckoSettings(url), clock=lambda: NOW) as coingecko,
    ):
        found = await read_volatility(coingecko, ETHEREUM, key, swaps, now=NOW)
        assert found.step is VolatilityStep.MARKET
        week = await read_volatility(coingecko, ETHEREUM, key, swaps, hours=168, now=NOW)
        assert week.window_hours == 168
        assert len(double.asked) == 1, "one series serves the day and the week"
    without = await read_volatility(None, ETHEREUM, key, swaps, now=NOW)
    assert without.step is VolatilityStep.SWAPS
