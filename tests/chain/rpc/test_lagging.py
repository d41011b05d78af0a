"""Machines behind one address that do not all have the newest block, or take no block hashes."""

from random import Random

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import Network
from chain.positions.discovery import Discovery
from chain.protocols.v4.memory import PositionMemory
from chain.rpc import requests
from chain.rpc.errors import BlockMissing, ErrorKind, Reorged, StatePruned, TimedOut
from chain.rpc.records import Block, LogFilter
from chain.rpc.requests import Request, RequestLimits
from tests.chain.rpc.conftest import NOW, QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import Asked, Connection, FaultServer, honest
from tests.fakes.honest_node import LOG_TOPIC, HonestNode
from tests.virtual_time import pass_time, virtual_now

HOLDER = "0x" + "11" * 20
PATIENT = replace(QUICK, catch_up_pause=0.02, total_seconds=8.0)
SEQUENCES = 60


@pytest.mark.parametrize("takes_hashes", [True, False])
async def test_one_call_in_five_a_block_behind_fails_no_reading(
    base: Network, takes_hashes: bool
) -> None:
    random = Random(5)
    node = HonestNode(takes_block_hashes=takes_hashes, behind=lambda: int(random.random() < 0.2))
    async with FaultServer(node=node) as server, client_of(base, [server.url], PATIENT) as client:
        for _ in range(SEQUENCES):
            node.head += 1
            head = await client.head()
            state = requests.balance(HOLDER, head.hash)
            assert await client.ask(state) == head.number * 1000
            assert await client.at(head).ask(state) == head.number * 1000
            assert await client.ask(requests.block(head.hash)) == head
            assert await client.ask(requests.block(head.number)) == head
            logs = await client.ask(requests.logs(LogFilter((), (LOG_TOPIC,), 1, head.number)))
            assert len(logs) == head.number
        assert client.endpoints[0].pins_by_hash is takes_hashes


async def test_one_block_in_four_told_as_null_fails_no_reading(base: Network) -> None:
    """Machines of a load balancer that know state and logs, and now and then no header."""
    random = Random(7)
    node = HonestNode(null_blocks=lambda: random.random() < 0.25)
    async with FaultServer(node=node) as server, client_of(base, [server.url], PATIENT) as client:
        for _ in range(SEQUENCES):
            node.head += 1
            head = await client.head()
            assert await client.ask(requests.block(head.hash)) == head
            past = await client.settle([requests.block(number) for number in range(1, 30)])
            assert [one.number for one in past if isinstance(one, Block)] == [*range(1, 30)]
            assert await client.ask(requests.block("latest")) == head


def about(head: str, number: int) -> dict[str, Request[object]]:
    return {
        "state by hash": requests.balance(HOLDER, head),
        "state by number": requests.balance(HOLDER, number),
        "logs": requests.logs(LogFilter((), (LOG_TOPIC,), 1, number)),
    }


@pytest.mark.parametrize("what", ["state by hash", "state by number", "logs"])
async def test_a_new_block_is_waited_for_four_seconds_and_then_not_called_pruned(
    base: Network, what: str
) -> None:
    node = HonestNode()
    async with (
        FaultServer(node=node) as server,
        client_of(base, [server.url], RequestLimits()) as client,
    ):
        head = await client.head()
        node.behind = lambda: 1
        began = virtual_now()
        with pytest.raises(BlockMissing) as caught:
            await client.ask(about(head.hash, head.number)[what])
        assert 3 < virtual_now() - began <= 5
        assert caught.value.kind is ErrorKind.BLOCK_MISSING
        assert_fit_to_show(caught.value)


async def test_a_block_long_past_or_never_heard_of_is_not_waited_for(base: Network) -> None:
    node = HonestNode(head=200, branch=1)
    async with (
        FaultServer(node=node) as server,
        client_of(base, [server.url], RequestLimits()) as client,
    ):
        await client.head()
        node.behind = lambda: 150
        began = virtual_now()
        for ref in (100, "0x" + "77" * 32):
            with pytest.raises(StatePruned):
                await client.ask(requests.balance(HOLDER, ref))
            assert await client.ask(requests.block(ref)) is None
        assert virtual_now() - began < 3


async def test_without_block_hashes_what_was_written_for_one_is_asked_by_number(
    base: Network,
) -> None:
    node = HonestNode(takes_block_hashes=False)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        unheard = node.hash(95)
        both = await client.settle(
            [
                requests.balance(HOLDER, node.hash(99)),
                requests.gas_price(),
                requests.transaction_count(HOLDER, unheard),
            ]
        )
        assert both == [99_000, 1_234_567_890, 95]
        assert not client.endpoints[0].pins_by_hash


async def test_by_number_the_block_must_still_be_the_same_afterwards(base: Network) -> None:
    node = HonestNode(takes_block_hashes=False)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        head = await client.head()
        state = requests.balance(HOLDER, head.hash)
        assert await client.ask(state) == 100_000
        node.reorg_after_calls = len(node.methods) + 2
        with pytest.raises(Reorged):
            await client.ask(state)


async def test_an_endpoint_that_never_answers_is_not_asked_for_less(base: Network) -> None:
    limits = replace(QUICK, total_seconds=1.0)
    async with (
        FaultServer(faults.silence) as server,
        client_of(base, [server.url], limits) as client,
    ):
        memory = PositionMemory(Store.in_memory(), base, lambda: NOW)
        began = virtual_now()
        with pytest.raises(TimedOut):
            await Discovery(client, base, memory).read(HOLDER)
        assert virtual_now() - began <= limits.total_seconds


async def test_a_slow_answer_leaves_time_to_wait_for_the_block(base: Network) -> None:
    node = HonestNode()
    late = iter((1, 0))
    limits = replace(PATIENT, catch_up_seconds=0.03)

    async def slow(asked: Asked, connection: Connection, node: HonestNode) -> None:
        await pass_time(2 * limits.catch_up_seconds)
        await honest(asked, connection, node)

    async with FaultServer(node=node) as server, client_of(base, [server.url], limits) as client:
        head = await client.head()
        server.behaviour = slow
        node.behind = lambda: next(late, 0)
        assert await client.ask(requests.balance(HOLDER, head.hash)) == head.number * 1000
