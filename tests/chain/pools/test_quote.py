"""Swaps replayed on a pool's depth, against V4Quoter on the embedded chain."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from chain.base.store import Store
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.pools import WETH_USDC, WETH_USDC_LOW
from chain.math.fees import ProtocolFee
from chain.pools.depth import (
    Depth,
    quote_at_most,
    quotes_across,
    read_depths,
)
from chain.protocols.pool import PoolState
from chain.protocols.v4.storage import plain_pools
from chain.read.block_reader import OneBlock
from chain.rpc.client import RpcClient
from chain.survey.discovery import discover_pools
from tests.chain.pools.quoting import quote_exact_input

if TYPE_CHECKING:
    from chain.devnet.launch import DevnetReady

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
