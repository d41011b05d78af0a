"""A market's whole history polled block by block: the alerts are the excursions it holds."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import httpx2

from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.base.store import Store
from chain.contracts.abi import encode_call
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET, NARROW_PROVIDER
from chain.devnet.world.pools import POOLS
from chain.positions.overview import Sources
from chain.rpc.requests import Call, aggregate, decode_aggregate
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.past_client import PastClient
from tests.agents.monitor.reference import reference_excursions, swap_ticks
from tests.agents.monitor.test_excursions_on_chain import ticks_of, told_excursions
from tests.chain.moves import Moves

if TYPE_CHECKING:
    from chain.base.home import Home
    from chain.devnet.launch import DevnetReady

SETTLE_BLOCKS = 3
THRESHOLDS = Thresholds(clearly_inside=0.05, settle_minutes=SETTLE_BLOCKS * 12 / 60)
FIRST_POLL = 25
"""The pools and their providers are there by this block."""

Excursions = dict[int, list[tuple[int, int | None]]]


async def test_the_demo_week_holds_the_excursions_that_were_told(
    demo_week: DevnetReady, home: Home
) -> None:
    assert await history_told(demo_week, home, Random(3), longest=90) > 2


async def history_told(ready: DevnetReady, home: Home, random: Random, *, longest: int) -> int:
    """Polls one wallet after the other through all of history; how many excursions there were."""
    network = network_named("devnet")
    count = 0
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, ready.url, network)
        head = int(moves.rpc("eth_blockNumber"), 16)
        for owner in (DEMO_WALLET, NARROW_PROVIDER):
            polls = [FIRST_POLL]
            while polls[-1] < head:
                polls.append(min(head, polls[-1] + random.randint(1, longest)))
            folder = home.root / owner.name
            folder.mkdir()
            told = await _polled(ready.url, type(home)(folder, home.cache), owner.address, polls)
            expected = _expected(moves, owner.address, polls)
            assert told == expected
            count += sum(map(len, told.values()))
    return count


async def _polled(url: str, home: Home, wallet: str, polls: list[int]) -> Excursions:
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    with Store.in_memory() as store:
        async with PastClient(network, [url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), [wallet])
            for block in polls:
                client.now = block
                [report] = await poll_once(watch, WatchSettings(THRESHOLDS), book, NOW + block)
                assert (report.trouble, report.block) == (None, block)
    return told_excursions(book)


def _expected(moves: Moves, wallet: str, polls: list[int]) -> Excursions:
    """By raw calls: when the wallet held what, and where the ticks went meanwhile."""
    manager = moves.network.contracts.pool_manager
    paths = {
        pool.key.pool_id: swap_ticks(moves.rpc, manager, pool.key.pool_id, 0, polls[-1])
        for pool in POOLS
    }
    held = {block: _held(moves, wallet, block) for block in polls}
    expected: Excursions = {}
    for number in sorted(set().union(*held.values())):
        seen = [block for block in polls if number in held[block]]
        gone = [block for block in polls if block > seen[-1]]
        assert seen == [block for block in polls if seen[0] <= block <= seen[-1]]
        info = held[seen[0]][number]
        lower, upper = ticks_of(info)
        # The word holds the first 25 of the 32 bytes of the pool's id.
        [pool_id] = [one for one in paths if int(one, 16) >> 56 == info >> 56]
        margin = min(max(1, int((upper - lower) * 0.05)), (upper - lower - 1) // 2)
        found = reference_excursions(
            lower,
            upper,
            margin,
            SETTLE_BLOCKS,
            start=(seen[0], _tick(moves, pool_id, seen[0])),
            ticks=[one for one in paths[pool_id] if one[0] > seen[0]],
            head=seen[-1],
        )
        if found and found[-1][1] is None and gone:
            found[-1] = (found[-1][0], gone[0])
        if found:
            expected[number] = found
    return expected


def _tick(moves: Moves, pool_id: str, block: int) -> int:
    data = "0x" + encode_call("getSlot0(bytes32)", bytes.fromhex(pool_id[2:])).hex()
    asked = {"to": moves.network.contracts.state_view, "data": data}
    word = int(moves.rpc("eth_call", asked, hex(block))[2 + 64 : 2 + 128], 16)
    return word - (1 << 256) if word >> 255 else word


def _held(moves: Moves, wallet: str, block: int) -> dict[int, int]:
    """The wallet's positions with liquidity at a block, and the word that tells their range."""
    contracts = moves.network.contracts
    signatures = ("ownerOf(uint256)", "getPositionLiquidity(uint256)", "positionInfo(uint256)")
    numbers = range(1, 60)
    calls = [
        Call(contracts.position_manager, encode_call(signature, number))
        for number in numbers
        for signature in signatures
    ]
    asked = {"to": contracts.multicall3, "data": "0x" + aggregate(calls).hex()}
    answers = decode_aggregate(bytes.fromhex(moves.rpc("eth_call", asked, hex(block))[2:]))
    words = [int.from_bytes(one.data, "big") if one.success else 0 for one in answers]
    assert words[-1] == 0, "there are more positions than were looked at"
    return {
        number: info
        for number, owner, liquidity, info in zip(
            numbers, words[0::3], words[1::3], words[2::3], strict=True
        )
        if owner == int(wallet, 16) and liquidity
    }
