"""The way of a price, and the ranges it was in."""

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import exp, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.devnet.world.accounts import ARBITRAGEUR
from chain.devnet.world.pools import POOLS, WETH_USDC_LOW
from chain.history.end_ticks import end_ticks, read_end_ticks
from chain.history.events import FeeTerms, fees, fees_of_swap
from chain.history.fee_rate import LiquidityRange, realised_lvr
from chain.history.volatility import PricePath, path_efficiency, realised_volatility
from chain.math.fees import ProtocolFee
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.registry import protocol_named
from chain.protocols.v4.events import SWAP
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RangeTooWide, Reorged
from chain.rpc.records import LogFilter
from chain.rpc.requests import Request
from tests.chain.conftest import Desk
from tests.chain.history.all_swaps import read_swaps
from tests.chain.history.exact_fees import range_fees
from tests.chain.history.market import LIQUIDITY, path_of, swap_between, swaps_through
from tests.chain.moves import Moves

NOW = 1_000_000_000


def at(log_price: float) -> int:
    return int(exp(log_price / 2) * 2**96)


def hourly(log_prices: list[float]) -> PricePath:
    """One swap a minute before each full hour back from now."""
    count = len(log_prices)
    return path_of(
        (
            (NOW - (count - 1 - index) * HOUR - 60, at(value))
            for index, value in enumerate(log_prices)
        ),
        NOW,
    )


def value(quantity: Quantity[float]) -> float:
    assert isinstance(quantity, Known), quantity
    return quantity.value


def test_alternating_hours_have_the_volatility_of_one_step() -> None:
    path = hourly([0.01 * (index % 2) for index in range(25)])
    assert value(realised_volatility(path, 24)) == pytest.approx(0.01 * sqrt(24), rel=1e-9)
    assert value(path_efficiency(path, 24)) == pytest.approx(0, abs=1e-9)


def test_a_straight_line_is_efficient() -> None:
    path = hourly([0.002 * index for index in range(25)])
    assert value(path_efficiency(path, 24)) == pytest.approx(1)


def test_a_random_walk_is_measured_as_it_was_made() -> None:
    draw = random.Random(11)
    sigma = 0.03 / sqrt(24)
    levels = [0.0]
    for _ in range(168):
        levels.append(levels[-1] + draw.gauss(0, sigma))
    measured = value(realised_volatility(hourly(levels), 168))
    assert measured == pytest.approx(0.03, rel=0.15)


def test_only_the_hours_asked_for_count() -> None:
    wild = [0.5 * (index % 2) for index in range(100)]
    path = hourly(wild + [0.01 * (index % 2) for index in range(25)])
    assert value(realised_volatility(path, 24)) == pytest.approx(0.01 * sqrt(24), rel=1e-9)


def test_what_happens_between_two_closes_is_no_volatility() -> None:
    calm = [(NOW - back * HOUR - 60, at(0)) for back in range(24, -1, -1)]
    spike = (NOW - 5 * HOUR - 30, at(1.0))
    back = (NOW - 5 * HOUR - 20, at(0))
    path = path_of(sorted([*calm, spike, back]), NOW)
    assert value(realised_volatility(path, 24)) == 0


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (path_of([], NOW), "the pool's swaps reach back 0 of 24 hours"),
        (
            path_of([(NOW - 5 * HOUR, at(0)), (NOW, at(1))], NOW),
            "the pool's swaps reach back 5 of 24 hours",
        ),
        (
            path_of([(NOW - 50 * HOUR, at(0)), (NOW - 30 * HOUR, at(1))], NOW),
            "nobody swapped in the last 24 hours",
        ),
    ],
)
def test_what_cannot_be_known_is_unknown(path: PricePath, reason: str) -> None:
    for measure in (realised_volatility, path_efficiency):
        assert measure(path, 24) == Unknown(reason)


def test_a_still_price_has_no_direction() -> None:
    path = hourly([0.0] * 25)
    assert path_efficiency(path, 24) == Unknown("the price did not move in the last 24 hours")


def test_figures_name_their_source_block_and_time() -> None:
    found = realised_volatility(hourly([0.01 * (index % 2) for index in range(25)]), 24)
    assert isinstance(found, Known)
    assert (found.source, found.block, found.time) == ("24 pool swaps", 99, float(NOW))


FREE = FeeTerms(3000, ProtocolFee(0, 0))
near = st.integers(-50_000, 50_000)
HELD = LiquidityRange(sqrt_price_at_tick(-1000), sqrt_price_at_tick(1000), 10**18)


def holdings(sqrt_price: int, held: LiquidityRange) -> tuple[Fraction, Fraction]:
    """x and y of the white paper, without any rounding."""
    inside = held.clamp(sqrt_price)
    amount0 = Fraction(held.liquidity << 96, inside) - Fraction(
        held.liquidity << 96, held.sqrt_upper
    )
    return amount0, Fraction(held.liquidity * (inside - held.sqrt_lower), 2**96)


def worth(sqrt_price: int, held: LiquidityRange) -> Fraction:
    amount0, amount1 = holdings(sqrt_price, held)
    return amount0 * Fraction(sqrt_price**2, 2**192) + amount1


@given(st.lists(near, min_size=1, max_size=12), near, st.integers(1, 40_000), st.integers(1, 2**80))
def test_lvr_is_the_definition_to_the_unit(
    path: list[int], lower: int, width: int, liquidity: int
) -> None:
    held = LiquidityRange(sqrt_price_at_tick(lower), sqrt_price_at_tick(lower + width), liquidity)
    prices = [sqrt_price_at_tick(tick) for tick in path]
    exact = Fraction(0)
    for before, after in pairwise(prices):
        amount0, _ = holdings(before, held)
        move = Fraction(after**2 - before**2, 2**192)
        step = worth(before, held) + amount0 * move - worth(after, held)
        assert step >= 0
        exact += step
    assert abs(realised_lvr(prices, held) - exact) <= Fraction(1, 2) + Fraction(1, 2**60)


def test_lvr_of_a_random_walk_is_sigma_squared_over_eight() -> None:
    draw = random.Random(5)
    sigma, steps = 0.02, 20_000
    full = LiquidityRange(sqrt_price_at_tick(-887220), sqrt_price_at_tick(887220), 10**30)
    level, prices, rate = 0.0, [2**96], 0.0
    for _ in range(steps):
        level += draw.gauss(0, sigma / sqrt(steps))
        prices.append(int(exp(level / 2) * 2**96))
        rate += sigma**2 / 8 / steps * float(worth(prices[-1], full))
    assert realised_lvr(prices, full) == pytest.approx(rate, rel=0.05)


def test_outside_the_range_nothing_is_lost_or_earned() -> None:
    away = [sqrt_price_at_tick(tick) for tick in (2000, 3000, 2500, 5000)]
    assert realised_lvr(away, HELD) == 0
    assert range_fees(swaps_through(away), HELD, FREE, included=False) == (0, 0, 0)


def test_the_share_of_a_range_that_is_all_the_liquidity_is_all_the_fees() -> None:
    prices = [sqrt_price_at_tick(tick) for tick in (0, 300, -200, 500, 100)]
    swaps = swaps_through(prices)
    whole = HELD._replace(liquidity=LIQUIDITY)
    total = fees(swaps[1:], FREE)
    earned = range_fees(swaps, whole, FREE, included=True)
    assert earned.swaps_inside == 4
    assert 0 <= total.providers0 - earned.fees0 <= 4
    assert 0 <= total.providers1 - earned.fees1 <= 4
    shared = range_fees(swaps, whole, FREE, included=False)
    assert shared.fees0 == pytest.approx(total.providers0 / 2, rel=1e-9)
    assert shared.fees1 == pytest.approx(total.providers1 / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 3000), (3000, 0), (-4000, 500), (500, -4000), (-3000, 3000)]
)
def test_a_swap_through_the_edge_pays_for_the_part_inside(start: int, end: int) -> None:
    """With one liquidity everywhere the fee of the part inside is known exactly."""
    first, last = sqrt_price_at_tick(start), sqrt_price_at_tick(end)
    swaps = [swap_between(first - first // 10**9, first), swap_between(first, last)]
    whole = HELD._replace(liquidity=LIQUIDITY)
    earned = range_fees(swaps, whole, FREE, included=True)
    inside = fees_of_swap(swap_between(HELD.clamp(first), HELD.clamp(last)), FREE)
    assert earned.fees0 == pytest.approx(inside.providers0, rel=1e-9, abs=1)
    assert earned.fees1 == pytest.approx(inside.providers1, rel=1e-9, abs=1)


POOL = WETH_USDC_LOW.key
IDS = [pool.key.pool_id for pool in POOLS]


async def test_every_block_has_the_tick_its_last_swap_left(desk: Desk) -> None:
    head = await desk.client.head()
    first = await desk.client.ask(requests.block(10))
    assert first is not None

    read = await read_end_ticks(desk.client, desk.network, IDS, [(first.number, first.hash)], head)

    assert read is not None
    assert read.since == first
    for pool_id in IDS:
        history = await read_swaps(desk.client, desk.network, pool_id, 11, head.number)
        last = {one.swap.place.block_number: one.swap.tick for one in history.swaps}
        assert list(read.of_pools.get(pool_id, ())) == sorted(last.items())
    assert sum(map(len, read.of_pools.values())) > 50


async def test_it_takes_one_request_where_nothing_is_refused(desk: Desk) -> None:
    head = await desk.client.head()
    before = desk.client.round_trips

    await read_end_ticks(desk.client, desk.network, IDS, [(head.number, head.hash)], head)

    assert desk.client.round_trips - before == 1


async def test_a_refused_range_is_read_in_parts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = await desk.client.head()
    first = await desk.client.ask(requests.block(10))
    assert first is not None
    landmarks = [(first.number, first.hash)]
    whole = await read_end_ticks(desk.client, desk.network, IDS, landmarks, head)
    settle = type(desk.client).settle

    async def narrow(client: RpcClient, asked: Sequence[Request[object]]) -> list[object]:
        answers = await settle(client, asked)
        return [
            RangeTooWide("too wide", endpoint="it") if _span(one) > 20 else answer
            for one, answer in zip(asked, answers, strict=True)
        ]

    monkeypatch.setattr(type(desk.client), "settle", narrow)

    assert await read_end_ticks(desk.client, desk.network, IDS, landmarks, head) == whole


async def test_a_replaced_landmark_gives_way_to_an_older_one(desk: Desk, changing: Moves) -> None:
    head = await desk.client.head()
    older = await desk.client.ask(requests.block(head.number - 3))
    assert older is not None
    elsewhere = (head.number, "0x" + "ee" * 32)

    landmarks = [elsewhere, (older.number, older.hash)]
    read = await read_end_ticks(desk.client, desk.network, IDS, landmarks, head)

    assert read is not None
    assert read.since == older
    assert await read_end_ticks(desk.client, desk.network, IDS, [elsewhere], head) is None


async def test_a_head_that_is_replaced_meanwhile_is_an_error(desk: Desk, changing: Moves) -> None:
    start = await desk.client.head()
    with changing.undone():
        changing.swap(ARBITRAGEUR, POOL, 10**15, zero_for_one=True)
        gone = await desk.client.head()
    changing.swap(ARBITRAGEUR, POOL, 2 * 10**15, zero_for_one=True)

    with pytest.raises(Reorged):
        await read_end_ticks(desk.client, desk.network, IDS, [(start.number, start.hash)], gone)


async def test_of_several_swaps_in_a_block_the_last_decides(desk: Desk, changing: Moves) -> None:
    changing.rpc("evm_setAutomine", False)
    for amount in (10**18, 10**17, 10**16):
        changing.swap(ARBITRAGEUR, POOL, amount, zero_for_one=True, mined=False)
    changing.rpc("evm_mine")
    changing.rpc("evm_setAutomine", True)
    head = await desk.client.head()
    wanted = LogFilter(
        desk.network.contracts.pool_manager, (SWAP, POOL.pool_id), head.number, head.number
    )
    logs = await desk.client.ask(requests.logs(wanted))

    assert len(logs) == 3
    told = partial(end_ticks, protocol=protocol_named("v4"))
    assert told(reversed(logs)) == told(logs) == told(logs[-1:])


def _span(asked: Request[object]) -> int:
    if asked.method != "eth_getLogs":
        return 0
    query = asked.params[0]
    assert isinstance(query, dict)
    return int(str(query["toBlock"]), 16) - int(str(query["fromBlock"]), 16)
