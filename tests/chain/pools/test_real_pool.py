"""The real mainnet pool's state on the embedded chain: what is read, quoted, minted and left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import ETHER
from chain.pools.depth import quotes_across
from chain.positions.batch_reader import read_positions
from chain.protocols.reference import v4_position
from chain.rpc.client import RpcClient
from tests.chain.pools.quoting import quote_exact_input
from tests.chain.real_pool import DEVNET, REAL_POOL, RealPool, recorded_pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady
    from tests.chain.conftest import Desk
    from tests.chain.moves import Moves

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
