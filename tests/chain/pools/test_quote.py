"""Quotes and pools as the contracts answer them."""

import random
from collections.abc import Iterator

import pytest

from chain.base.store import Store
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import ETHER
from chain.devnet.world.pools import WETH_USDC, WETH_USDC_LOW
from chain.math.fees import ProtocolFee
from chain.pools.depth import Depth, quote_at_most, quotes_across, read_depths
from chain.positions.batch_reader import read_positions
from chain.protocols.pool import PoolState
from chain.protocols.reference import v4_position
from chain.protocols.v4.storage import plain_pools
from chain.read.block_reader import OneBlock
from chain.rpc.client import RpcClient
from chain.survey.discovery import discover_pools
from tests.chain.conftest import Desk
from tests.chain.moves import Moves
from tests.chain.pools.quoting import quote_exact_input
from tests.chain.real_pool import DEVNET, REAL_POOL, RealPool, recorded_pool

NETWORK = network_named("devnet")
REACH = 4_000


async def test_every_pool_quotes_as_the_quoter_does_to_the_unit(devnet: DevnetReady) -> None:
    amounts = random.Random(5)
    compared = 0
    async with RpcClient(NETWORK, (devnet.url,)) as client:
        survey = await discover_pools(
            client, NETWORK, Store.in_memory(), clock=lambda: 0.0, coingecko=None
        )
        at = survey.block.hash
        states = [pool.state for pool in survey.pools]
        nearby = {pool.state.pool_id: pool.depth.nearby() for pool in survey.pools}
        before = client.round_trips
        depths = await read_depths(OneBlock(client, NETWORK, at), NETWORK, states, reach=REACH)
        assert client.round_trips - before == 2
        for state in states:
            side = nearby[state.pool_id]
            for zero_for_one in (True, False):
                reserve = side.amount0 if zero_for_one else side.amount1
                for share in (1, 10, 1_000, 20_000, 90_000):
                    amount = reserve * share // 100_000 + amounts.randrange(1, 1_000)
                    ours = quote_exact_input(
                        depths[state.pool_id], amount, zero_for_one=zero_for_one
                    )
                    theirs = await quotes_across(
                        client, NETWORK, [state.key], amount, zero_for_one=zero_for_one, at=at
                    )
                    assert theirs == {state.key: ours.amount_out}
                    compared += 1
    assert compared == 10 * len(states) >= 80


async def test_pools_are_quoted_in_one_request_and_those_that_refuse_left_out(
    devnet: DevnetReady,
) -> None:
    pools = plain_pools(WETH_USDC.currency0.address, WETH_USDC.currency1.address)
    async with RpcClient(NETWORK, (devnet.url,)) as client:
        await client.head()
        before = client.round_trips
        quotes = await quotes_across(client, NETWORK, pools, 10**15, zero_for_one=True, at="latest")
        trips = client.round_trips - before

    assert set(quotes) == {WETH_USDC.key, WETH_USDC_LOW.key}
    assert len(pools) == 4
    assert trips == 1


async def test_the_liquidity_of_all_stretches_adds_up(devnet: DevnetReady) -> None:
    async with RpcClient(NETWORK, (devnet.url,)) as client:
        survey = await discover_pools(
            client, NETWORK, Store.in_memory(), clock=lambda: 0.0, coingecko=None
        )

    for pool in survey.pools:
        steps = list(pool.depth.steps())
        here = [liquidity for start, end, liquidity in steps if start <= pool.state.tick < end]
        assert here == [pool.state.liquidity]
        assert all(liquidity >= 0 for _, _, liquidity in steps)


def test_a_swap_beyond_what_was_read_is_refused_not_guessed() -> None:
    key = PoolKey("0x" + "11" * 20, "0x" + "22" * 20, 3000, 60, NO_HOOK)
    state = PoolState(key, key.pool_id, 1 << 96, 0, 3000, ProtocolFee(0, 0), 10**18)
    depth = Depth(state, (), lowest=-15_360, highest=15_360)

    assert quote_exact_input(depth, 10**12, zero_for_one=True).amount_out > 0
    assert quote_at_most(depth, 10**24, zero_for_one=True).amount_in < 10**24


SIZES = 40


@pytest.fixture
def real_pool(devnet: DevnetReady, moves: Moves) -> Iterator[RealPool]:
    recorded_pool()
    with moves.undone():
        pool = RealPool(devnet)
        assert pool.write() == 537
        yield pool


async def _quotes_compared(real_pool: RealPool, url: str, places: range) -> int:
    """How many of the forty sizes, both ways, were quoted by replay as by V4Quoter."""
    compared = 0
    async with RpcClient(DEVNET, (url,)) as client:
        depth = await real_pool.depth(client)
        recorded = recorded_pool()
        nets = ((tick, net) for tick, (_, net) in sorted(recorded.ticks.items()))
        assert depth.changes == tuple(
            one for one in nets if depth.lowest <= one[0] <= depth.highest
        )
        assert len(depth.changes) > 490
        assert depth.state.liquidity == recorded.liquidity
        for zero_for_one, smallest, largest in (
            (True, 1, 900 * ETHER),
            (False, 1, 1_100_000 * 10**6),
        ):
            for place in places:
                amount = _size(smallest, largest, place)
                ours = quote_exact_input(depth, amount, zero_for_one=zero_for_one)
                theirs = await quotes_across(
                    client, DEVNET, [REAL_POOL], amount, zero_for_one=zero_for_one, at="latest"
                )
                assert theirs == {REAL_POOL: ours.amount_out}, (amount, zero_for_one)
                compared += 1
    return compared


async def test_sizes_both_ways_are_quoted_as_the_quoter_does(
    real_pool: RealPool, devnet: DevnetReady
) -> None:
    places = range(2, SIZES, 9)
    assert await _quotes_compared(real_pool, devnet.url, places) == 2 * len(places)


@pytest.mark.soak
async def test_forty_sizes_both_ways_are_quoted_as_the_quoter_does(
    real_pool: RealPool, devnet: DevnetReady
) -> None:
    assert await _quotes_compared(real_pool, devnet.url, range(SIZES)) == 2 * SIZES


def _size(smallest: int, largest: int, place: int) -> int:
    """From the smallest to the largest, each as many times the one before, and no round numbers."""
    share = place / (SIZES - 1)
    return max(1, int(smallest * (largest / smallest) ** share)) + place * 7 % 11


async def test_positions_minted_on_it_hold_what_burning_them_pays(
    real_pool: RealPool, moves: Moves, desk: Desk
) -> None:
    tick, spacing = recorded_pool().tick, REAL_POOL.tick_spacing
    ranges = {
        "around the price": (tick - 60 * spacing, tick + 60 * spacing),
        "above it": (tick + 10 * spacing, tick + 110 * spacing),
        "below it": (tick - 110 * spacing, tick - 10 * spacing),
    }
    minted = [real_pool.mint(ticks, 10**14, DEMO_WALLET.address) for ticks in ranges.values()]
    for amount in (30 * ETHER, 7 * ETHER):
        real_pool.swap(REAL_POOL, amount, zero_for_one=True)
    real_pool.swap(REAL_POOL, 120_000 * 10**6, zero_for_one=False)

    head = await desk.client.head()
    found = await read_positions(
        desk.client, DEVNET, desk.memory, map(v4_position, minted), at=head.number
    )
    snapshots = [found[v4_position(token_id)] for token_id in minted]
    owned = [(one.identity, DEMO_WALLET.address) for one in snapshots]
    paid = moves.burn_payouts(owned, head.number)

    told = [(one.amount0 + one.fees0, one.amount1 + one.fees1) for one in snapshots]
    assert told == paid
    assert all(one.fees0 or one.fees1 for one in snapshots)
