"""The limits a person lives with: ten seconds, fifty megabytes, and a library loaded late."""

import asyncio
import subprocess
import sys
import threading
from random import Random

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import Network
from chain.positions.discovery import Discovery
from chain.protocols.v4.memory import PositionMemory
from chain.rpc import records, requests
from chain.rpc.errors import (
    BlockMissing,
    ErrorKind,
    HttpFault,
    Reorged,
    RpcError,
    StatePruned,
    TimedOut,
    Unreachable,
)
from chain.rpc.records import Block, LogFilter
from chain.rpc.requests import Request, RequestLimits
from tests.chain.rpc.conftest import NOW, QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import Asked, Behaviour, Connection, FaultServer, honest
from tests.fakes.honest_node import GAS_PRICE, LOG_TOPIC, HonestNode
from tests.virtual_time import pass_time, virtual_now


async def test_with_the_real_limits_nothing_takes_ten_seconds(base: Network) -> None:
    async def seconds_alone(behaviour: Behaviour) -> float:
        async with FaultServer(behaviour) as server:
            return await seconds_until_error([server.url])

    async def seconds_among_silent(count: int) -> float:
        async with FaultServer(faults.silence) as server:
            return await seconds_until_error([server.url] * count)

    async def seconds_until_error(urls: list[str]) -> float:
        started = virtual_now()
        async with client_of(base, urls, RequestLimits()) as client:
            with pytest.raises(TimedOut) as caught:
                await client.ask(requests.gas_price())
        assert caught.value.seconds > 4, "the longest wait is told, not what was left for the last"
        return virtual_now() - started

    async def seconds_until_answer() -> float:
        started = virtual_now()
        async with (
            FaultServer(faults.slow_loris) as slow,
            FaultServer() as well,
            client_of(base, [slow.url, well.url], RequestLimits()) as client,
        ):
            assert await client.ask(requests.gas_price()) == GAS_PRICE
        return virtual_now() - started

    took = await asyncio.gather(
        seconds_alone(faults.silence),
        seconds_alone(faults.slow_header),
        seconds_among_silent(3),
        seconds_among_silent(6),
        seconds_until_answer(),
    )
    assert max(took) < 9


async def test_a_slow_line_has_as_long_as_is_set_and_the_message_names_the_setting(
    base: Network,
) -> None:
    async def slow(asked: Asked, connection: Connection, node: HonestNode) -> None:
        await pass_time(1.2)
        await honest(asked, connection, node)

    async with FaultServer(slow) as server:
        async with client_of(base, [server.url], QUICK) as client:
            with pytest.raises(TimedOut) as caught:
                await client.ask(requests.gas_price())
        assert "answer_seconds" in str(caught.value)
        async with client_of(base, [server.url], QUICK.answering_within(3)) as client:
            assert await client.ask(requests.gas_price()) == GAS_PRICE


async def test_what_went_wrong_is_told_and_not_how_little_time_was_left(base: Network) -> None:
    limits = replace(QUICK, total_seconds=0.6, pause_seconds=0.2, rounds=3)

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        first = len(server.asked) == 1
        await (faults.status("502 Bad Gateway") if first else faults.silence)(
            asked, connection, node
        )

    async with FaultServer(behave) as server, client_of(base, [server.url], limits) as client:
        with pytest.raises(HttpFault):
            await client.ask(requests.gas_price())
        assert len(server.asked) > 1


@pytest.mark.real_time
async def test_three_hundred_megabytes_cost_less_than_fifty() -> None:
    async with (
        FaultServer() as well,
        FaultServer(faults.endless_body) as endless,
        FaultServer(faults.gzip_bomb) as bomb,
    ):
        urls = (well.url, endless.url, bomb.url)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.chain.rpc.peak_memory", *urls, stdout=subprocess.PIPE
        )
        output, _ = await child.communicate()
    growth, *kinds = output.decode().split(",")
    assert kinds == ["too large"] * 4
    assert int(growth) < 50_000_000


def test_a_resolver_that_never_answers_does_not_hold_the_process() -> None:
    child = [sys.executable, "-m", "tests.chain.rpc.dead_resolver"]
    ended = subprocess.run(child, capture_output=True, check=True, text=True)
    assert ended.stdout == "timed out"


@pytest.mark.real_time
async def test_a_name_without_an_address_is_said(base: Network) -> None:
    async with client_of(
        base, ["http://no-such-host.invalid/"], QUICK.answering_within(600)
    ) as client:
        with pytest.raises(Unreachable, match="is a host name that does not resolve") as caught:
            await client.ask(requests.gas_price())
        assert caught.value.before_sending


async def test_many_at_once_share_the_connections(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url], RequestLimits()) as client:
        prices = await asyncio.gather(*(client.ask(requests.gas_price()) for _ in range(200)))
        assert set(prices) == {GAS_PRICE}


@pytest.mark.parametrize(("size", "on_the_loop"), [(1_000, True), (2_000_000, False)])
async def test_large_answers_are_read_beside_the_event_loop(
    base: Network, size: int, on_the_loop: bool
) -> None:
    threads: list[threading.Thread] = []

    def parse(value: object) -> bytes:
        threads.append(threading.current_thread())
        return records.data(value)

    echo = replace(requests.call("0x" + "11" * 20, b"a" * size), parse=parse)
    async with FaultServer() as server, client_of(base, [server.url], RequestLimits()) as client:
        assert await client.ask(echo) == b"a" * size
    assert (threads[0] is threading.main_thread()) is on_the_loop


def test_importing_the_client_loads_no_http_library() -> None:
    listed = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, chain.rpc.client, chain.rpc.requests; print(' '.join(sys.modules))",
        ],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    heavy = {"httpx2", "httpcore2", "anyio", "aiohttp", "web3", "eth_abi", "pydantic"}
    assert heavy.isdisjoint(listed)
    assert RpcError.__module__ in listed


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
