"""The swaps of several pools read together: the same as one by one, in fewer requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.base.store import Store
from chain.devnet.world.pools import POOLS
from chain.history.memory import SwapMemory
from chain.history.swaps import read_swaps, read_swaps_of
from chain.rpc.errors import StatePruned
from tests.chain.history.conftest import DEVNET, LiveWorld

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    LiveWorlds = Callable[..., AbstractAsyncContextManager[LiveWorld]]

POOL_IDS = [pool.key.pool_id for pool in POOLS]


def memory() -> SwapMemory:
    return SwapMemory(Store.in_memory(), DEVNET, clock=lambda: 0.0)


async def test_together_they_are_what_each_is_alone(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        head = live.world.ledger.head.number
        together = await read_swaps_of(live.client, DEVNET, POOL_IDS, 20, head)
        assert live.client.round_trips == 3
        for pool_id in POOL_IDS:
            alone = await read_swaps(live.client, DEVNET, pool_id, 20, head)
            assert together[pool_id] == alone
        assert sum(len(history.swaps) for history in together.values()) > 100


async def test_a_pool_met_for_the_first_time_does_not_make_the_others_be_read_again(
    live_world: LiveWorlds,
) -> None:
    async with live_world() as live:
        head = live.world.ledger.head.number
        remembered = memory()
        await read_swaps_of(live.client, DEVNET, POOL_IDS[:3], 10, head - 9, memory=remembered)
        live.log_ranges.clear()
        grown = await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, head, memory=remembered)
        assert live.log_ranges == [9, head - 9]
        assert grown == await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, head)
        live.log_ranges.clear()
        before = live.client.round_trips
        again = await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, head, memory=remembered)
        assert (live.log_ranges, live.client.round_trips - before) == ([], 1)
        assert again == grown


async def test_a_memory_beyond_the_head_is_no_memory(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        head = live.world.ledger.head.number
        remembered = memory()
        await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, head, memory=remembered)
        live.node.rollback(12)
        shorter = head - 12
        after = await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, shorter, memory=remembered)
        assert after == await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, shorter)
        with pytest.raises(StatePruned):
            await read_swaps_of(live.client, DEVNET, POOL_IDS, 10, head, memory=remembered)


async def test_of_no_pools_there_is_nothing_to_read(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        assert await read_swaps_of(live.client, DEVNET, [], 0, 5) == {}
        assert live.log_ranges == []
