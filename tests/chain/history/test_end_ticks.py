"""Ticks at the ends of blocks, against the swaps read one by one and a chain that changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from chain.devnet.world.accounts import ARBITRAGEUR
from chain.devnet.world.pools import POOLS, WETH_USDC_LOW
from chain.history.end_ticks import end_ticks, read_end_ticks
from chain.protocols.registry import protocol_named
from chain.protocols.v4.events import SWAP
from chain.rpc import requests
from chain.rpc.errors import RangeTooWide, Reorged
from chain.rpc.records import LogFilter
from tests.chain.history.all_swaps import read_swaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.rpc.client import RpcClient
    from chain.rpc.requests import Request
    from tests.chain.conftest import Desk
    from tests.chain.moves import Moves

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
