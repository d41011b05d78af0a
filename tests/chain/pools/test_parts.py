"""The parts of discovery by themselves: candidates, depth at the edges, and what is remembered."""

from fractions import Fraction

import pytest

from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick
from chain.pools.depth import Depth
from chain.pools.state import nearby_ticks
from chain.protocols.pool import PoolState
from chain.protocols.v4.storage import candidate_pools
from chain.survey.discovery import (
    LogCoverage,
    PoolMemory,
    RememberedSurvey,
    SurveyCursor,
    rank_pools,
)
from tests.chain.pools.quoting import virtual_depth

DEVNET = network_named("devnet")
ONE, OTHER = "0x" + "11" * 20, "0x" + "22" * 20
KEY = PoolKey(ONE, OTHER, 3000, 60, NO_HOOK)
LIQUIDITY = 10**18


def state(tick: int, fee: int = 3000, liquidity: int = LIQUIDITY) -> PoolState:
    key = PoolKey(ONE, OTHER, fee, 60, NO_HOOK)
    price = sqrt_price_at_tick(tick)
    return PoolState(key, key.pool_id, price, tick, fee, ProtocolFee(0, 0), liquidity)


def depth_of(pool: PoolState, changes: dict[int, int]) -> Amounts:
    return Depth(pool, tuple(sorted(changes.items())), MIN_TICK, MAX_TICK).nearby()


def test_candidates_are_all_pairs_at_all_usual_fees_in_order() -> None:
    keys = candidate_pools([OTHER, NATIVE, ONE])
    assert len(keys) == len(set(keys)) == 3 * 4
    assert all(key.currency0 < key.currency1 for key in keys)
    assert all(key.hooks == NO_HOOK for key in keys)
    assert {(key.fee, key.tick_spacing) for key in keys} == {
        (100, 1),
        (500, 10),
        (3000, 60),
        (10000, 200),
    }
    assert sum(key.currency0 == NATIVE for key in keys) == 8


def test_without_a_change_nearby_the_depth_is_that_of_the_active_liquidity() -> None:
    pool = state(7)
    assert depth_of(pool, {}) == virtual_depth(pool)


def test_liquidity_that_ends_nearby_is_counted_only_so_far() -> None:
    pool = state(0)
    only = depth_of(pool, {-60: LIQUIDITY, 60: -LIQUIDITY})
    whole = virtual_depth(pool)
    assert 0 < only.amount0 < whole.amount0 * 0.31
    assert 0 < only.amount1 < whole.amount1 * 0.31
    doubled = depth_of(pool, {60: LIQUIDITY, -60: -LIQUIDITY})
    assert doubled.amount0 > whole.amount0 * 1.6
    assert doubled.amount1 > whole.amount1 * 1.6


def test_a_tick_at_the_price_was_crossed_already() -> None:
    pool = state(60)
    entered_here = depth_of(pool, {60: LIQUIDITY})
    assert entered_here.amount1 == 0, "below this tick there is nothing"
    assert entered_here.amount0 == virtual_depth(pool).amount0


@pytest.mark.parametrize("tick", [MIN_TICK, MAX_TICK - 1])
def test_depth_ends_where_prices_end(tick: int) -> None:
    nearby = nearby_ticks(tick)
    assert nearby.lowest >= MIN_TICK
    assert nearby.highest <= MAX_TICK
    assert min(depth_of(state(tick), {})) >= 0


def test_unknown_worth_comes_last_and_ties_keep_one_order() -> None:
    pools = [state(0, fee) for fee in (100, 500, 3000, 10000)]
    values: dict[str, Quantity[Fraction]] = {
        pools[0].pool_id: Unknown("nobody knows"),
        pools[1].pool_id: Known(Fraction(5), "pool"),
        pools[2].pool_id: Known(Fraction(7), "pool"),
        pools[3].pool_id: Known(Fraction(5), "pool"),
    }
    order = rank_pools(pools, values)
    assert order[0] is pools[2]
    assert order[3] is pools[0]
    assert order == rank_pools(list(reversed(pools)), values)


def test_memory_gives_back_what_it_was_given() -> None:
    memory = PoolMemory(Store.in_memory(), DEVNET, [ONE, OTHER])
    assert memory.cursor() is None
    assert memory.survey() is None
    cursor = SurveyCursor(70, "0x" + "ab" * 32, (KEY,))
    memory.keep_cursor(cursor, now=5)
    assert memory.cursor() == cursor
    survey = RememberedSurvey((KEY,), LogCoverage(2, 70, 90, "the node gave up"), 5.0)
    memory.keep_survey(survey)
    assert memory.survey() == survey
    assert not survey.coverage.complete


def test_another_set_of_tokens_or_network_remembers_nothing() -> None:
    store = Store.in_memory()
    PoolMemory(store, DEVNET, [ONE, OTHER]).keep_cursor(SurveyCursor(7, "0x", (KEY,)), now=0)
    assert PoolMemory(store, DEVNET, [OTHER, ONE]).cursor() is not None
    assert PoolMemory(store, DEVNET, [ONE]).cursor() is None
    assert PoolMemory(store, network_named("base"), [ONE, OTHER]).cursor() is None


@pytest.mark.parametrize(
    "damaged", ["text", [], {}, {"through": "7", "hash": "0x", "keys": []}, {"through": 7}]
)
def test_a_damaged_memory_is_no_memory(damaged: object) -> None:
    store = Store.in_memory()
    memory = PoolMemory(store, DEVNET, [ONE])
    memory.keep_cursor(SurveyCursor(7, "0x", ()), now=0)
    memory.keep_survey(RememberedSurvey((), LogCoverage(0, 1, 1), 0.0))
    for namespace in ("initialised pools", "pool survey"):
        [key] = store.items(namespace)
        store.put(namespace, key, damaged, now=0)
    assert memory.cursor() is None
    assert memory.survey() is None
