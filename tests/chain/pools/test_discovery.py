"""Pools found on the embedded chain: all of them, worth what they hold, never silently partial."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from fractions import Fraction

import pytest

from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.abi import decode, encode_call
from chain.contracts.hooks import NO_HOOK, Danger
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.founding import LOOK_ALIKE_POOL
from chain.devnet.world.pools import DYNAMIC, ETH_USDC, GUARDED, POOLS, STABLE, WETH_USDC_LOW
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick
from chain.pools.depth import Depth, quote_at_most
from chain.pools.state import nearby_ticks
from chain.protocols.pool import PoolState
from chain.protocols.v4.storage import candidate_pools
from chain.read.logs import ScanProgress
from chain.rpc import requests
from chain.survey.discovery import (
    MOST_AGE,
    LogCoverage,
    PoolMemory,
    PoolSurvey,
    RememberedSurvey,
    ScanPlan,
    SurveyCursor,
    SurveyedPool,
    SurveyPlan,
    discover_pools,
    rank_pools,
)
from tests.chain.pools.conftest import Served
from tests.chain.pools.quoting import quote_exact_input, virtual_depth

DEVNET = network_named("devnet")
WALL = 1_900_000_000.0

ServedWorld = Callable[[], AbstractAsyncContextManager[Served]]


async def survey(
    chain: Served, store: Store, *, at: float = WALL, plan: SurveyPlan | None = None
) -> PoolSurvey:
    return await discover_pools(
        chain.client, DEVNET, store, clock=lambda: at, coingecko=None, plan=plan
    )


async def test_every_pool_between_known_tokens_is_found(served: ServedWorld) -> None:
    async with served() as chain:
        found = await survey(chain, Store.in_memory())
        head = chain.chain.head
    assert {pool.key for pool in found.pools} == {pool.key for pool in POOLS}
    assert found.found == len(POOLS)
    assert found.coverage.complete
    assert found.coverage.failure is None
    assert (found.block.number, found.block.hash) == (head.number, head.hash)
    assert all(pool.token0.verified and pool.token1.verified for pool in found.pools)


async def test_state_and_fees_are_what_the_contracts_say(served: ServedWorld) -> None:
    async with served() as chain:
        found = await survey(chain, Store.in_memory())
        for pool in found.pools:
            pool_id = bytes.fromhex(pool.state.pool_id[2:])
            view = DEVNET.contracts.state_view
            slot0, liquidity = await chain.client.together(
                requests.call(view, encode_call("getSlot0(bytes32)", pool_id), found.block.hash),
                requests.call(
                    view, encode_call("getLiquidity(bytes32)", pool_id), found.block.hash
                ),
            )
            state = pool.state
            packed = state.protocol_fee.one_for_zero << 12 | state.protocol_fee.zero_for_one
            expected = (state.sqrt_price_x96, state.tick, packed, state.lp_fee)
            assert decode(("uint160", "int24", "uint24", "uint24"), slot0) == expected
            assert decode(("uint128",), liquidity) == (state.liquidity,)
    by_key = {pool.key: pool for pool in found.pools}
    assert by_key[ETH_USDC.key].state.protocol_fee == (200, 300)
    dynamic = by_key[DYNAMIC.key]
    assert 0 < dynamic.state.lp_fee < 10_000
    assert dynamic.hook.can_change_fee
    assert dynamic.hook.danger is Danger.CAUTION
    guarded = by_key[GUARDED.key].hook
    assert guarded.danger is Danger.DANGEROUS
    assert guarded.can_refuse_exit
    assert guarded.code is not None
    assert not guarded.code.empty


async def test_depth_is_what_buyers_can_take_until_the_price_is_two_per_cent_up(
    served: ServedWorld,
) -> None:
    async with served() as chain:
        found = await survey(chain, Store.in_memory())
    for pool in found.pools:
        edge = sqrt_price_at_tick(nearby_ticks(pool.state.tick).highest)
        low, high = 0, 1 << 128
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _price_after(pool, middle) < edge else (low, middle)
        taken = quote_exact_input(pool.depth, low, zero_for_one=False).amount_out
        assert taken == pytest.approx(pool.depth.nearby().amount0, rel=1e-6)
    stable = next(pool for pool in found.pools if pool.key == STABLE.key)
    virtual = virtual_depth(stable.state)
    crowded = stable.depth.nearby()
    assert crowded.amount0 < virtual.amount0 / 4, "its liquidity is crowded near the price"


def _price_after(pool: SurveyedPool, amount1: int) -> int:
    quote = quote_at_most(pool.depth, amount1, zero_for_one=False)
    return quote.sqrt_price_after if quote.amount_in == amount1 else 1 << 160


async def test_pools_are_ranked_by_worth(served: ServedWorld) -> None:
    async with served() as chain:
        found = await survey(chain, Store.in_memory())
    worth: list[Fraction] = []
    for pool in found.pools:
        assert isinstance(pool.depth_usd, Known)
        worth.append(pool.depth_usd.value)
    assert worth == sorted(worth, reverse=True)
    raw = [pool.state.liquidity for pool in found.pools]
    assert raw != sorted(raw, reverse=True), "by raw liquidity the order would be another"


async def test_prices_come_from_the_deepest_pools_of_that_block(served: ServedWorld) -> None:
    async with served() as chain:
        found = await survey(chain, Store.in_memory())
    assert DEVNET.wrapped_native is not None
    ether = found.prices.prices[DEVNET.wrapped_native].usd
    assert isinstance(ether, Known)
    deepest = next(pool for pool in found.pools if pool.key == WETH_USDC_LOW.key)
    assert ether.value == deepest.state.price(18, 6)
    assert ether.source == "pool WETH/USDC 0.05%"
    assert ether.block == found.block.number
    assert ether.time == found.block.timestamp
    assert found.prices.ether == ether


async def test_a_remembered_list_is_read_again_at_the_new_head(served: ServedWorld) -> None:
    store = Store.in_memory()
    async with served() as chain:
        first = await survey(chain, store)
        asked = chain.client.round_trips
        logs = len(chain.spans)
        chain.chain.mine()
        again = await survey(chain, store, at=WALL + 60)
        assert len(chain.spans) == logs, "no logs are read for a list this young"
        assert chain.client.round_trips - asked <= 4
        assert again.block.number == first.block.number + 1
        assert again.listed_at == WALL
        assert [pool.key for pool in again.pools] == [pool.key for pool in first.pools]
        late = await survey(chain, store, at=WALL + MOST_AGE)
        assert len(chain.spans) > logs
        assert late.listed_at == WALL + MOST_AGE


async def test_logs_are_read_in_ranges_the_node_allows_and_never_twice(served: ServedWorld) -> None:
    store = Store.in_memory()
    seen: list[ScanProgress] = []
    plan = SurveyPlan(most_age=0.0, scan=ScanPlan(watch=seen.append, most_ranges=None))
    async with served() as chain:
        chain.widest = 9
        found = await survey(chain, store, plan=plan)
        assert {pool.key for pool in found.pools} == {pool.key for pool in POOLS}
        read = [block for first, last in chain.spans for block in range(first, last + 1)]
        assert sorted(read) == list(range(DEVNET.first_block, found.block.number + 1))
        assert seen[-1].fraction == 1
        chain.spans.clear()
        again = await survey(chain, store, plan=plan)
        assert again.coverage.complete
        assert {pool.key for pool in again.pools} == {pool.key for pool in POOLS}
        final = found.block.number - 64
        assert min(first for first, _ in chain.spans) > final, "only what may have been replaced"


async def test_a_scan_stopped_halfway_says_so_and_goes_on(served: ServedWorld) -> None:
    store = Store.in_memory()
    async with served() as chain:
        chain.widest = 2
        plan = SurveyPlan(scan=ScanPlan(most_ranges=1))
        partial = await survey(chain, store, plan=plan)
        assert not partial.coverage.complete
        assert partial.coverage.failure is None
        assert partial.coverage.through < partial.coverage.head
        hooked = {DYNAMIC.key, GUARDED.key}
        assert {pool.key for pool in partial.pools} == {p.key for p in POOLS} - hooked
        plan = SurveyPlan(scan=ScanPlan(most_ranges=None))
        whole = await survey(chain, store, at=WALL + 1, plan=plan)
        assert whole.coverage.complete, "an unfinished list is not kept for half an hour"
        assert {pool.key for pool in whole.pools} == {pool.key for pool in POOLS}


async def test_logs_that_fail_leave_a_reason(served: ServedWorld) -> None:
    async with served() as chain:
        chain.broken_from = 0
        found = await survey(chain, Store.in_memory())
    assert not found.coverage.complete
    assert found.coverage.failure is not None
    assert "rebuilt" in found.coverage.failure
    assert WETH_USDC_LOW.key in {pool.key for pool in found.pools}, "what can be probed is there"


async def test_what_is_remembered_of_another_chain_is_forgotten(served: ServedWorld) -> None:
    store = Store.in_memory()
    plan = SurveyPlan(most_age=0.0)
    async with served() as chain:
        await survey(chain, store, plan=plan)
        [key] = store.items("initialised pools")
        value = store.get("initialised pools", key)
        assert isinstance(value, dict)
        value |= {"hash": "0x" + "99" * 32, "keys": []}
        store.put("initialised pools", key, value, now=WALL)
        found = await survey(chain, store, plan=plan)
    assert {pool.key for pool in found.pools} == {pool.key for pool in POOLS}


async def test_a_stranger_is_looked_for_when_asked_and_worth_nothing_known(
    served: ServedWorld,
) -> None:
    fake = LOOK_ALIKE_POOL.currency1.address
    if fake == DEVNET.wrapped_native:
        fake = LOOK_ALIKE_POOL.currency0.address
    async with served() as chain:
        found = await survey(chain, Store.in_memory(), plan=SurveyPlan(tokens=(fake,)))
    last = found.pools[-1]
    assert last.key == LOOK_ALIKE_POOL.key
    assert isinstance(last.depth_usd, Unknown)
    [stranger] = [token for token in (last.token0, last.token1) if not token.verified]
    assert stranger.address == fake
    assert stranger.suspicious
    assert stranger.label.endswith("look-alike")


@pytest.mark.parametrize("most", [0, 3])
async def test_fewer_pools_can_be_shown_than_exist(served: ServedWorld, most: int) -> None:
    async with served() as chain:
        found = await survey(chain, Store.in_memory(), plan=SurveyPlan(most_pools=most))
    assert len(found.pools) == most
    assert found.found == len(POOLS)


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
