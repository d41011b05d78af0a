"""From one endpoint to the next: wrong chains, stale heads, waits, rests and second tries."""

import asyncio

import pytest
from msgspec.structs import replace

from chain.contracts.networks import Network
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import Endpoint, endpoints_of
from chain.rpc.errors import (
    HttpFault,
    NoEndpoint,
    RateLimited,
    RpcError,
    StaleHead,
    TimedOut,
    WrongChain,
)
from chain.rpc.exchange import Outcome
from chain.rpc.failover import Failover
from chain.rpc.requests import Request
from tests.chain.rpc.conftest import NOW, QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import Asked, Behaviour, Connection, FaultServer, honest
from tests.fakes.honest_node import GAS_PRICE, HonestNode
from tests.virtual_time import pass_time, virtual_now

HOLDER = "0x" + "11" * 20


async def test_a_wrong_chain_is_refused_before_anything_is_parsed(base: Network) -> None:
    parsed: list[object] = []
    watched: Request[None] = Request("eth_gasPrice", (), parsed.append)
    node = HonestNode(chain_id=1)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        for _ in range(2):
            with pytest.raises(WrongChain) as caught:
                await client.ask(watched)
            assert str(caught.value).startswith(
                "The RPC answered for chain 1, but this desk is set to Base (8453)."
            )
            assert "zuno --network base --rpc URL" in str(caught.value)
            assert_fit_to_show(caught.value)
        assert client.endpoints[0].state == "wrong chain"
        assert client.endpoints[0].answered_chain_id == 1
    assert parsed == []
    assert len(server.asked) == 1


async def test_failover_never_ends_at_a_wrong_chain(base: Network) -> None:
    async with (
        FaultServer(faults.status("500 X")) as broken,
        FaultServer(node=HonestNode(chain_id=10)) as other_chain,
        client_of(base, [broken.url, other_chain.url]) as client,
    ):
        with pytest.raises(HttpFault) as caught:
            await client.ask(requests.gas_price())
        assert [type(error) for error in caught.value.elsewhere] == [WrongChain]
        assert "answered for chain 10" in str(caught.value)
        assert_fit_to_show(caught.value)


async def test_when_every_chain_is_wrong_that_is_the_error(base: Network) -> None:
    async with (
        FaultServer(node=HonestNode(chain_id=1)) as first,
        FaultServer(node=HonestNode(chain_id=10)) as second,
        client_of(base, [first.url, second.url]) as client,
    ):
        with pytest.raises(WrongChain) as caught:
            await client.ask(requests.gas_price())
        assert caught.value.answered == 1
        assert [error.endpoint for error in caught.value.elsewhere] == [client.endpoints[1].label]


async def test_a_stale_head_is_left_for_a_fresh_one(base: Network) -> None:
    stale = HonestNode(head_time=int(NOW) - 61)
    async with FaultServer(node=stale) as behind, FaultServer() as fresh:
        async with client_of(base, [behind.url]) as client:
            with pytest.raises(StaleHead) as caught:
                await client.head()
            assert caught.value.age == 61
            assert_fit_to_show(caught.value)
            assert (await client.head(max_age=100)).number == 100
        async with client_of(base, [behind.url, fresh.url]) as client:
            assert (await client.head()).timestamp == HonestNode.head_time
            asked = len(behind.asked)
            assert (await client.head()).timestamp == HonestNode.head_time
            assert len(behind.asked) == asked, "a lagging endpoint is not asked first again"


async def test_how_old_is_stale_follows_the_networks_blocks_and_clock(base: Network) -> None:
    node = HonestNode(head_time=int(NOW) - 110)
    async with FaultServer(node=node) as server:
        async with client_of(replace(base, block_seconds=12), [server.url]) as client:
            assert (await client.head()).number == 100
        async with client_of(replace(base, block_seconds=10), [server.url]) as client:
            with pytest.raises(StaleHead):
                await client.head()
        async with client_of(replace(base, clock="head"), [server.url]) as client:
            assert (await client.head(max_age=1)).number == 100


async def test_a_wait_within_the_budget_is_waited(base: Network) -> None:
    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        if len(server.asked) == 1:
            await connection.respond(b"", status="429 X", headers={"Retry-After": "1"})
        else:
            await honest(asked, connection, node)

    limits = replace(QUICK, total_seconds=3.0)
    async with FaultServer(behave) as server, client_of(base, [server.url], limits) as client:
        started = virtual_now()
        assert await client.ask(requests.gas_price()) == GAS_PRICE
        assert virtual_now() - started == 1.0


async def test_a_longer_wait_is_an_error_that_says_when_and_is_kept_to(base: Network) -> None:
    limited = faults.status("429 X", headers={"Retry-After": "30"})
    async with FaultServer(limited) as server, client_of(base, [server.url]) as client:
        for _ in range(2):
            with pytest.raises(RateLimited) as caught:
                await client.ask(requests.gas_price())
            assert caught.value.retry_after == pytest.approx(30, abs=1)
            assert "30 s" in caught.value.sentence
        assert len(server.asked) == 1, "it was told to wait and waits"


async def test_an_endpoint_rests_after_faults_and_one_probe_brings_it_back(base: Network) -> None:
    now = 0.0
    async with FaultServer() as server:
        client = RpcClient(
            base,
            [server.url],
            clock=lambda: NOW,
            limits=replace(QUICK, rounds=1, faults_to_rest=3, rest_seconds=5.0),
            monotonic=lambda: now,
            jitter=lambda: 0.0,
        )
        async with client:
            assert await client.ask(requests.gas_price()) == GAS_PRICE
            server.behaviour = faults.status("500 X")
            for _ in range(3):
                with pytest.raises(HttpFault):
                    await client.ask(requests.gas_price())
            with pytest.raises(NoEndpoint, match="left alone for 5 s") as caught:
                await client.ask(requests.gas_price())
            assert_fit_to_show(caught.value)
            assert client.endpoints[0].state == "resting"
            assert len(server.asked) == 4
            now = 5.0
            server.behaviour = honest
            prices = await asyncio.gather(
                *(client.ask(requests.gas_price()) for _ in range(3)), return_exceptions=True
            )
            assert sorted(map(str, prices))[0] == str(GAS_PRICE)
            assert sum(isinstance(price, NoEndpoint) for price in prices) == 2, "one probe only"
            assert len(server.asked) == 5
            assert server.asked[4].calls[0]["method"] == "eth_chainId", "checked anew after a rest"
            assert await client.ask(requests.gas_price()) == GAS_PRICE
            [status] = client.endpoints
            assert status.state == "ready"


async def test_a_cancelled_probe_leaves_the_way_free(base: Network) -> None:
    async with FaultServer(faults.status("500 X")) as server:
        limits = replace(QUICK, rounds=1, faults_to_rest=1, rest_seconds=0.01)
        async with client_of(base, [server.url], limits) as client:
            with pytest.raises(HttpFault):
                await client.ask(requests.gas_price())
            await pass_time(0.02)
            server.behaviour = faults.silence
            probe = asyncio.create_task(client.ask(requests.gas_price()))
            await pass_time(0.1)
            probe.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probe
            server.behaviour = honest
            assert await client.ask(requests.gas_price()) == GAS_PRICE


async def test_reads_are_tried_again_and_a_fault_puts_an_endpoint_behind(base: Network) -> None:
    async def first_breaks(asked: Asked, connection: Connection, node: HonestNode) -> None:
        if len(flaky.asked) == 1:
            connection.reset()
        else:
            await honest(asked, connection, node)

    async with FaultServer(first_breaks) as flaky, FaultServer() as steady:
        async with client_of(base, [flaky.url]) as client:
            assert await client.ask(requests.gas_price()) == GAS_PRICE
            assert client.round_trips == 2
        flaky.asked.clear()
        async with client_of(base, [flaky.url, steady.url]) as client:
            await client.ask(requests.gas_price())
            await client.ask(requests.gas_price())
            assert (len(flaky.asked), len(steady.asked)) == (1, 2)


@pytest.mark.parametrize(
    ("behaviour", "times"),
    [
        (faults.status("500 X"), 2),
        (faults.body(b"<html>"), 2),
        (faults.status("403 Forbidden"), 2),
        (faults.status("404 Not Found"), 2),
        (faults.status("401 Unauthorized"), 1),
        (faults.status("402 Payment Required"), 1),
        (faults.error(-32046, "Cannot fulfill request"), 2),
        (faults.error(-32005, "daily request count exceeded, request rate limited"), 1),
        (faults.endless_body, 2),  # what was asked together is asked apart
        (faults.error(-32000, "missing trie node"), 1),
        (faults.error(-32601, "no such method"), 1),
    ],
)
async def test_what_would_be_the_same_again_is_not_asked_again(
    base: Network, behaviour: Behaviour, times: int
) -> None:
    async with FaultServer(behaviour) as server, client_of(base, [server.url]) as client:
        with pytest.raises(RpcError):
            await client.ask(requests.gas_price())
        assert len(server.asked) == times


async def test_an_attempt_of_many_requests_has_one_limit(base: Network) -> None:
    """However many requests one attempt makes, and however long each is within its own limit."""
    limits = replace(QUICK, total_seconds=0.3)
    endpoints = endpoints_of(["http://127.0.0.1:1", "http://127.0.0.1:2"], limits)
    failover = Failover(base, endpoints, limits, virtual_now, lambda: 0.5, asyncio.sleep)

    async def attempt(endpoint: Endpoint, seconds: float) -> list[Outcome]:
        for _ in range(100):
            await pass_time(seconds / 10)
        return []

    started = virtual_now()
    with pytest.raises(TimedOut):
        await failover.run(attempt)
    assert virtual_now() - started <= limits.total_seconds


async def test_whoever_asks_all_the_time_sees_an_endpoint_return(base: Network) -> None:
    """A probe squeezed into what a run has left would fail, and double the rest, for ever."""
    limits = replace(QUICK, faults_to_rest=1, rest_seconds=0.25, total_seconds=0.4, rounds=3)
    limits = replace(limits, reserve_seconds=0.2, most_rest_seconds=0.5)
    [endpoint] = endpoints_of(["http://127.0.0.1:1"], limits)
    failover = Failover(base, [endpoint], limits, virtual_now, lambda: 0.5, asyncio.sleep)
    endpoint.breaker.record_failure(virtual_now())

    async def attempt(asked: Endpoint, seconds: float) -> list[Outcome]:
        await pass_time(0.15)
        return []

    async with asyncio.timeout(60):
        while endpoint.breaker.faults:
            try:
                await failover.run(attempt)
            except NoEndpoint:
                await pass_time(0.001)
            except TimedOut:
                pytest.fail("the probe was given too little time")


async def test_a_batch_comes_whole_from_one_endpoint(base: Network) -> None:
    """Half from here and half from there could be of two different moments."""
    pruned = faults.error(-32000, "missing trie node")
    async with FaultServer(pruned) as partial, FaultServer(node=HonestNode(head=200)) as whole:
        async with client_of(base, [partial.url, whole.url]) as client:
            block, balance = await client.together(
                requests.block("latest"), requests.balance(HOLDER, "latest")
            )
            assert block is not None
            assert (block.number, balance) == (200, 200_000)
        async with client_of(base, [partial.url]) as client:
            outcomes = await client.settle([requests.block(5), requests.balance(HOLDER, 5)])
            assert not isinstance(outcomes[0], RpcError)
            assert isinstance(outcomes[1], RpcError)
