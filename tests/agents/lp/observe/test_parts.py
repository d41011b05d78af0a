"""The parts of an observation by themselves: movement, earnings, depth, fitting, wording."""

from fractions import Fraction
from math import log, sqrt

import pytest
from msgspec.structs import replace

from agents.lp.facts import depth_of
from agents.lp.observe.pool_facts import (
    MOST_CHANGES_A_SIDE,
    REACH,
    figure,
    nearest_changes,
    pool_facts,
    source_words,
)
from agents.lp.observe.pool_reading import (
    MarketCloses,
    UnitPrices,
    earnings,
    movement,
    read_market_closes,
)
from agents.numbers.regime import Regime
from agents.numbers.survival import SigmaWindows
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.hooks import NO_HOOK, hook_passport
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.history.events import FeeTerms
from chain.history.hours import PoolHours, RecentSwap
from chain.history.volatility import PairClass, PricePath, PricePoint
from chain.math.fees import ProtocolFee
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.depth import Depth
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.protocols.pool import PoolState
from chain.rpc.records import Block
from tests.chain.history.all_swaps import pool_hours
from tests.fakes.coingecko import CoinGeckoDouble

NOW = 1_760_000_000
HOUR = 3600
ETHEREUM = network_named("ethereum")
WETH = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
KEY = PoolKey(USDC, WETH, 3000, 60, NO_HOOK)
BLOCK = Block(900, "0x" + "aa" * 32, "0x" + "bb" * 32, NOW, 1, 0, 30_000_000)
OFF = MarketCloses(*(Unknown("market data is switched off"),) * 3)


def path(ticks: list[int], *, until: int = NOW) -> PricePath:
    """One price an hour, the last at the end."""
    points = tuple(
        PricePoint(until - HOUR * (len(ticks) - 1 - place), sqrt_price_at_tick(t))
        for place, t in enumerate(ticks)
    )
    return PricePath(KEY.pool_id, points, until, BLOCK.number)


def zigzag(hours: int, step: int) -> list[int]:
    return [step * (hour % 2) for hour in range(hours + 1)]


def state(liquidity: int = 10**18, *, protocol: ProtocolFee = ProtocolFee(0, 0)) -> PoolState:  # noqa: B008
    return PoolState(KEY, KEY.pool_id, 1 << 96, 0, 3000, protocol, liquidity)


def swap(
    hours_ago: float, amount0: int, amount1: int, fee: int = 3000, liquidity: int = 10**18
) -> RecentSwap:
    paid = -min(amount0, amount1)
    time = NOW - round(hours_ago * HOUR)
    return RecentSwap(1, time, False, amount0 < 0, paid, 1 << 96, liquidity, fee)


def history(*swaps: RecentSwap, protocol: ProtocolFee = ProtocolFee(0, 0)) -> PoolHours:  # noqa: B008
    return pool_hours(KEY.pool_id, 0, BLOCK, swaps, FeeTerms(KEY.fee, protocol))


def units(one: float, other: float) -> UnitPrices:
    return UnitPrices(
        Known(Fraction(str(one)), "a list", 900), Known(Fraction(str(other)), "a list", 900)
    )


def test_by_swaps_all_figures_are_the_swaps_own() -> None:
    found = movement(OFF, path(zigzag(200, 20)), PairClass.MAJOR)
    expected = sqrt(24) * 20 * log(1.0001)
    assert found.sigma == pytest.approx(expected, rel=1e-5)
    assert not found.is_assumed
    assert figure(found.sigma_24h) == figure(found.sigma_7d) == found.sigma
    assert figure(found.path_efficiency) == 0
    assert found.regime.regime is Regime.RANGING
    assert found.source == "168 pool swaps, 24 h and 7 d (market data is switched off)"


def test_a_day_wilder_than_its_week_is_stressed() -> None:
    calm, wild = zigzag(150, 1), [30 * (hour % 2) for hour in range(24)]
    assert movement(OFF, path([*calm, *wild]), PairClass.MAJOR).regime.regime is Regime.STRESSED


def test_a_quiet_day_after_a_wild_week_is_half_of_what_is_expected() -> None:
    wild, quiet = zigzag(150, 40), [4 * (hour % 2) for hour in range(25)]
    found = movement(OFF, path([*wild, *quiet]), PairClass.MAJOR)
    day, week = figure(found.sigma_24h), figure(found.sigma_7d)
    assert day is not None
    assert week is not None
    assert week > 5 * day
    assert found.sigma == pytest.approx(sqrt((day**2 + week**2) / 2), rel=1e-5)


def test_a_day_without_its_week_is_named() -> None:
    found = movement(OFF, path(zigzag(60, 20)), PairClass.MAJOR)
    assert found.sigma == figure(found.sigma_24h)
    assert found.estimate is not None
    assert found.estimate.windows is SigmaWindows.DAY


def test_without_a_market_or_swaps_the_assumption_says_it_is_one() -> None:
    found = movement(OFF, path([]), PairClass.STABLE)
    assert found.is_assumed
    assert found.sigma == 0.0005
    assert isinstance(found.sigma_24h, Unknown)
    assert found.regime.regime is Regime.RANGING
    assert found.regime.reason.startswith("By an assumption, nothing was measured: ")
    assert "the pool's swaps reach back 0 of 24 hours" in found.source


def test_a_price_that_stood_still_is_measured_calm_under_an_assumed_volatility() -> None:
    found = movement(OFF, path([0] * 200), PairClass.OTHER)
    assert found.is_assumed
    assert found.sigma == 0.06
    assert figure(found.sigma_24h) == 0
    assert found.regime.regime is Regime.RANGING


async def test_with_a_market_every_figure_is_the_markets_and_names_no_token() -> None:
    prices = [3000 * 1.01 ** (hour % 2) for hour in range(193)]
    rows = [[(NOW - HOUR * (192 - place)) * 1000, price] for place, price in enumerate(prices)]
    double = CoinGeckoDouble(charts={"ethereum": rows})
    async with (
        double.running() as url,
        CoinGecko(CoinGeckoSettings(url), clock=lambda: NOW) as coingecko,
    ):
        market = await read_market_closes(coingecko, ETHEREUM, KEY, now=NOW)
        none = await read_market_closes(
            coingecko, ETHEREUM, PoolKey(USDC, "0x" + "ee" * 20, 500, 10, NO_HOOK), now=NOW
        )
    assert len(double.asked) == 1
    found = movement(market, path(zigzag(200, 500)), PairClass.MAJOR)
    assert found.sigma == pytest.approx(sqrt(24) * log(1.01), rel=1e-5)
    assert figure(found.sigma_24h) == figure(found.sigma_7d) == found.sigma
    assert found.source == "CoinGecko, 169 hourly prices of ethereum, 24 h and 7 d"
    assert source_words(found.sigma_7d).startswith(
        "CoinGecko, 169 hourly prices of ethereum, Unix time "
    )
    assert none.day == Unknown("the market has no usable series for this pair")


def test_fees_of_a_day_leave_out_the_protocols_part_and_older_swaps() -> None:
    swaps = (swap(25, -(10**9), 1), swap(23, -(10**9), 1), swap(1, 1, -4 * 10**9))
    found = earnings(history(*swaps), state(), units(0.5, 0.25))
    assert figure(found.fees_24h_usd) == 10**9 * 0.003 * 0.5 + 4 * 10**9 * 0.003 * 0.25
    assert source_words(found.fees_24h_usd) == "2 pool swaps, block 900"
    shared = earnings(
        history(swap(1, -(10**9), 1, fee=3000 + 997), protocol=ProtocolFee(1000, 0)),
        state(protocol=ProtocolFee(1000, 0)),
        units(1, 1),
    )
    assert figure(shared.fees_24h_usd) == 2_997_000


def test_a_day_without_swaps_paid_nothing_and_that_is_known() -> None:
    found = earnings(history(), state(), units(1, 1))
    assert figure(found.fees_24h_usd) == 0
    assert figure(found.implied_sigma_24h) == 0
    assert found.implied_sigma_7d == Unknown("the pool's swaps reach back 0 of 168 hours")


def test_a_currency_of_which_nothing_was_paid_needs_no_price() -> None:
    unpriced = UnitPrices(Unknown("nobody knows"), Known(Fraction(1), "a list"))
    assert figure(earnings(history(swap(1, 1, -1000)), state(), unpriced).fees_24h_usd) == 3
    unknown = earnings(history(swap(1, -1000, 1)), state(), unpriced)
    assert unknown.fees_24h_usd == Unknown("a token's price is unknown")
    assert figure(unknown.fee_rate_24h) == 1.5e-18, "a rate is by the pool's own price"


def test_implied_volatility_is_of_the_full_range_worth_of_the_liquidity_that_was_met() -> None:
    found = earnings(history(*to_and_fro(4)), state(), units(1, 1))
    each = 3_000 / 997_000 * 100 * log(1.0001) / 4
    assert figure(found.fee_rate_24h) == pytest.approx(5 * each, rel=1e-5)
    assert figure(found.implied_sigma_24h) == pytest.approx(sqrt(8 * 5 * each), rel=1e-5)
    seconds = 167 * HOUR + NOW % HOUR
    week = 41 * each * 86_400 / seconds
    assert figure(found.fee_rate_7d) == pytest.approx(week, rel=1e-5)
    assert figure(found.implied_sigma_7d) == pytest.approx(sqrt(8 * week), rel=1e-5)
    still = earnings(history(swap(180, -1, 1), swap(2, -1, 1)), state(), units(1, 1))
    assert still.edge_7d == Unknown("the price did not move in the last 168 hours")


def to_and_fro(hours_between: int, liquidity: int = 10**18) -> list[RecentSwap]:
    """Swaps of a hundred ticks each, up and down in turn."""
    high = sqrt_price_at_tick(100)
    return [
        replace(
            swap(hours, *((1, -(10**15)) if place % 2 else (-(10**15), 1)), liquidity=liquidity),
            sqrt_price_x96=high if place % 2 else 1 << 96,
        )
        for place, hours in enumerate(range(192, 0, -hours_between))
    ]


def test_a_thin_second_changes_nothing() -> None:
    """What swaps paid is told by the liquidity they met, not by what is active this moment."""
    usual = earnings(history(*to_and_fro(4)), state(10**18), units(1, 1))
    thin = earnings(history(*to_and_fro(4)), state(10**17), units(1, 1))
    assert thin == usual
    # Nor does the liquidity at the end of a swap that went through more or less of it.
    crossing = earnings(history(*to_and_fro(4, 10**17)), state(10**18), units(1, 1))
    assert figure(crossing.fee_rate_7d) == figure(usual.fee_rate_7d)


def test_the_edge_is_what_the_pool_paid_over_what_arbitrage_took() -> None:
    moving = to_and_fro(1)
    found = earnings(history(*moving), state(), units(1, 1))
    week = [one for one in moving if one.time >= NOW - NOW % HOUR - 167 * HOUR]
    rate = len(week) * 3_000 / 997_000 * 100 * log(1.0001) / 4
    risk = len(week) * (100 * log(1.0001)) ** 2 / 8
    assert figure(found.edge_7d) == pytest.approx(rate / risk, rel=1e-5)
    young = earnings(history(*moving[-100:]), state(), units(1, 1))
    assert isinstance(young.edge_7d, Unknown)
    assert isinstance(young.fee_rate_7d, Unknown)


def test_the_widest_range_lies_within_reach_up_to_nine_percent_a_day() -> None:
    assert 9 * 3.5 * 0.087 / log(1.0001) + 2400 <= REACH


def test_depth_survives_facts_and_back() -> None:
    depth = Depth(state(protocol=ProtocolFee(200, 300)), ((-60, 5), (0, 7), (60, -12)), -600, 600)
    facts = pool_facts(depth, hook_passport(NO_HOOK, 3000))
    assert facts.protocol_fee == 300 << 12 | 200
    assert depth_of(facts) == depth


def test_too_many_changes_are_cut_where_nothing_is_missing_between() -> None:
    changes = tuple((60 * place, place) for place in range(-400, 401) if place)
    near = nearest_changes(Depth(state(), changes, -30_000, 30_000))
    assert len(near.changes) == 2 * MOST_CHANGES_A_SIDE
    assert (near.lowest, near.highest) == (-250 * 60, 250 * 60)
    assert near.changes == tuple(one for one in changes if abs(one[0]) <= 250 * 60)
    few = Depth(state(), changes[395:405], -30_000, 30_000)
    assert nearest_changes(few) == few


@pytest.mark.parametrize(
    ("quantity", "words", "number"),
    [
        (Unknown("nobody asked"), "unknown: nobody asked", None),
        (Known(1.23456789, "swaps", 5, 9.0), "swaps, block 5", 1.23457),
        (Known(2.0, "CoinGecko", None, 9.4), "CoinGecko, Unix time 9", 2.0),
        (Known(0.0, "an assumption"), "an assumption", 0.0),
    ],
)
def test_a_figure_and_what_is_said_of_it(
    quantity: Quantity[float], words: str, number: float | None
) -> None:
    assert source_words(quantity) == words
    assert figure(quantity) == number
