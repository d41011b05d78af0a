"""When blocks were made: asked of some, interpolated between them."""

from typing import cast

import pytest

from agents.monitor.reader import MOST_TIMES, WatchReader
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from chain.rpc.records import Block, Json
from tests.fakes.told_reader import ToldReader

FIRST, LAST = 1_000, 2_000


def made_at(number: int) -> int:
    return 50_000 + 12 * (number - FIRST)


def header(method: str, params: tuple[Json, ...]) -> Block:
    assert method == "eth_getBlockByNumber"
    number = int(str(params[0]), 16)
    return Block(number, f"0x{number:064x}", f"0x{number - 1:064x}", made_at(number), 1, 0, 1)


@pytest.mark.parametrize("count", [0, 1, MOST_TIMES, MOST_TIMES + 1, 5 * MOST_TIMES])
async def test_every_block_gets_its_time_and_few_are_asked_about(count: int) -> None:
    blocks = range(FIRST + 1, FIRST + 1 + count)
    reader = ToldReader(header)
    known = [(FIRST, made_at(FIRST)), (LAST, made_at(LAST))]
    with Store.in_memory() as store:
        client = cast("RpcClient", reader)
        sources = Sources(client, network_named("base"), store, None, lambda: 0.0)
        times = await WatchReader(sources).times([*blocks, FIRST], known)

    assert times == {number: made_at(number) for number in (FIRST, *blocks, LAST)}
    assert len(reader.asked) == min(count, MOST_TIMES)
