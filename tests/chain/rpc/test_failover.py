"""One endpoint or several: what is asked of whom, and what an answer is worth."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import Network, network_named
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import Endpoint, endpoints_of
from chain.rpc.errors import (
    HttpFault,
    NoEndpoint,
    RateLimited,
    RpcError,
    RpcRefused,
    StaleHead,
    TimedOut,
    Unreachable,
    WrongChain,
)
from chain.rpc.exchange import Outcome
from chain.rpc.failover import Failover
from chain.rpc.records import LogFilter
from chain.rpc.requests import Request
from tests.chain.rpc.conftest import NOW, QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import SECRET, Asked, Behaviour, Connection, FaultServer, honest
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


async def test_a_batch_is_one_http_request_and_the_first_asks_for_the_chain(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        price, block, balance = await client.together(
            requests.gas_price(), requests.block("latest"), requests.balance(HOLDER, 7)
        )
        assert (price, balance) == (GAS_PRICE, 7_000)
        assert block is not None
        assert block.number == 100
        assert [call["method"] for call in server.asked[0].calls] == [
            "eth_chainId",
            "eth_gasPrice",
            "eth_getBlockByNumber",
            "eth_getBalance",
        ]
        assert await client.ask(requests.gas_price()) == GAS_PRICE
        assert not server.asked[1].is_batch
        assert client.round_trips == len(server.asked) == 2
        ids = [call["id"] for asked in server.asked for call in asked.calls]
        assert len(set(map(str, ids))) == len(ids)


async def test_settle_gives_each_question_its_own_outcome(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        outcomes = await client.settle([requests.gas_price(), requests.max_priority_fee()])
        assert outcomes[0] == GAS_PRICE
        assert isinstance(outcomes[1], RpcRefused)
        assert outcomes[1].code == -32601
        assert client.round_trips == 1
        with pytest.raises(RpcRefused):
            await client.together(requests.gas_price(), requests.max_priority_fee())
        assert await client.settle([]) == []


async def test_answers_may_be_compressed(base: Network) -> None:
    async with FaultServer(faults.packed(1)) as server, client_of(base, [server.url]) as client:
        assert await client.ask(requests.gas_price()) == GAS_PRICE


async def test_replies_may_come_in_any_order(base: Network) -> None:
    backwards = faults.replies(lambda all_: all_[::-1])
    async with FaultServer(backwards) as server, client_of(base, [server.url]) as client:
        answers = await client.together(requests.gas_price(), requests.balance(HOLDER, 7))
        assert answers == (GAS_PRICE, 7_000)


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_a_batch_that_is_refused_is_split_and_that_is_remembered(
    base: Network, most: int
) -> None:
    node = HonestNode(most_in_batch=most)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        questions = [requests.balance(HOLDER, number) for number in range(7)]
        right = [number * 1_000 for number in range(7)]
        assert await client.settle(questions) == right
        learned = client.endpoints[0].most_in_batch
        assert learned is not None
        assert 1 <= learned <= most
        before = client.round_trips
        assert await client.settle(questions) == right
        assert client.round_trips - before == -(-7 // learned)


@pytest.mark.parametrize(
    "refusal",
    [
        faults.status("413 Too Large"),
        faults.status("400 Bad Request", b"batching is off"),
        faults.body(b'[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}]'),
        faults.status(
            "400 X",
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not supported"}}',
        ),
    ],
)
async def test_batches_can_be_refused_in_many_ways(base: Network, refusal: Behaviour) -> None:
    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        await (refusal if asked.is_batch else honest)(asked, connection, node)

    async with FaultServer(behave) as server, client_of(base, [server.url]) as client:
        assert await client.ask(requests.gas_price()) == GAS_PRICE
        assert client.endpoints[0].most_in_batch == 1


async def test_json_rpc_errors_are_read_whatever_the_http_status(base: Network) -> None:
    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        replies = [node.answer(call) for call in asked.calls]
        if len(replies) == 1:
            await connection.respond(json.dumps(replies[0]).encode(), status="400 X")
        else:
            await honest(asked, connection, node)

    async with FaultServer(behave) as server, client_of(base, [server.url]) as client:
        assert await client.ask(requests.gas_price()) == GAS_PRICE
        with pytest.raises(RpcRefused, match="does not exist"):
            await client.ask(requests.max_priority_fee())
        with pytest.raises(HttpFault):
            await client.ask(requests.gas_price())


async def test_nobody_listening(base: Network) -> None:
    async with FaultServer() as server:
        gone = server.url
    async with client_of(base, [gone]) as client:
        with pytest.raises(Unreachable, match="is not reachable") as caught:
            await client.ask(requests.gas_price())
        assert caught.value.before_sending
        assert_fit_to_show(caught.value)


@pytest.mark.parametrize(
    "url", ["", "localhost", "ftp://x/y", f"file:///{SECRET}", f"http://:1/{SECRET}", "http://[::/"]
)
def test_what_is_no_address_is_said_without_repeating_it(base: Network, url: str) -> None:
    with pytest.raises(NoEndpoint, match="Endpoint 2 is not an http or https address") as caught:
        RpcClient(base, ["http://127.0.0.1", url])
    assert_fit_to_show(caught.value)


def test_no_endpoint_at_all_says_how_to_set_one() -> None:
    with pytest.raises(NoEndpoint, match="No RPC endpoint is set for Ethereum"):
        RpcClient(network_named("ethereum"), [])


async def test_labels_are_hosts_and_users_become_a_header(base: Network) -> None:
    urls = [f"https://a.example/{SECRET}", f"https://a.example/2?key={SECRET}", "http://[::1]:8545"]
    labels = [status.label for status in client_of(base, urls).endpoints]
    assert labels == ["a.example (endpoint 1)", "a.example (endpoint 2)", "[::1]:8545"]
    async with FaultServer() as server:
        url = f"http://ann:{SECRET}@127.0.0.1:{server.port}/"
        async with client_of(base, [url]) as client:
            await client.ask(requests.gas_price())
            assert client.endpoints[0].label == f"127.0.0.1:{server.port}"
        assert server.asked[0].headers["authorization"].startswith("Basic ")
        assert server.asked[0].headers["host"] == f"127.0.0.1:{server.port}"


async def test_no_proxy_of_the_environment_is_used(
    base: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        assert await client.ask(requests.gas_price()) == GAS_PRICE


async def test_ids_may_come_back_as_text(base: Network) -> None:
    as_text = faults.replies(lambda all_: [{**one, "id": str(one["id"])} for one in all_])
    async with FaultServer(as_text) as server, client_of(base, [server.url]) as client:
        answers = await client.together(requests.gas_price(), requests.balance(HOLDER, 7))
        assert answers == (GAS_PRICE, 7_000)


async def test_a_batch_refused_in_passing_says_nothing_of_its_size(base: Network) -> None:
    """Cloudflare says so of whatever it was asked: batches of one would cost ten times as much."""
    refusal = faults.status(
        "200 OK",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32046,"message":"Cannot fulfill request"}}',
    )

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        await (refusal if len(server.asked) == 1 else honest)(asked, connection, node)

    questions = [requests.balance(HOLDER, number) for number in range(7)]
    async with FaultServer(behave) as server, client_of(base, [server.url]) as client:
        assert await client.settle(questions) == [number * 1_000 for number in range(7)]
        assert client.endpoints[0].most_in_batch is None
        assert len(server.asked) == 2


async def test_a_quota_that_is_used_up_is_told_whoever_is_refused(base: Network) -> None:
    refusal = faults.status(
        "200 OK",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,'
        b'"message":"daily request count exceeded, request rate limited"}}',
    )
    async with FaultServer(refusal) as server, client_of(base, [server.url]) as client:
        with pytest.raises(RateLimited, match="is used up"):
            await client.together(requests.gas_price(), requests.max_priority_fee())
        assert len(server.asked) == 1, "no pause helps"


async def test_a_limit_of_batches_is_forgotten_after_a_day(base: Network) -> None:
    """By a process that runs on, too: a monitor lives for weeks, and a plan may change."""
    node, now = HonestNode(most_in_batch=2), NOW
    questions = [requests.balance(HOLDER, number) for number in range(7)]
    async with (
        FaultServer(node=node) as server,
        RpcClient(base, [server.url], clock=lambda: now, limits=QUICK) as client,
    ):
        await client.settle(questions)
        learned = client.endpoints[0].most_in_batch
        assert learned is not None
        node.most_in_batch = None
        before = client.round_trips
        await client.settle(questions)
        assert client.round_trips - before == -(-7 // learned)
        now += 86_401
        before = client.round_trips
        await client.settle(questions)
        assert client.round_trips - before == 1


@pytest.mark.parametrize(("method", "least"), [("eth_getLogs", 3), ("eth_gasPrice", 9)])
async def test_one_call_of_a_method_a_batch_is_learned_as_that(
    base: Network, method: str, least: int
) -> None:
    refusal = faults.status(
        "200 OK",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,'
        b'"message":"Too many [\\"%s\\"] methods in the batch"}}' % method.encode(),
    )

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        if sum(call["method"] == method for call in asked.calls) > 1:
            await refusal(asked, connection, node)
            return
        answers = [
            {**node.answer(call), "result": []}
            if call["method"] == "eth_getLogs"
            else node.answer(call)
            for call in asked.calls
        ]
        body = answers if asked.is_batch else answers[0]
        await connection.respond(json.dumps(body).encode())

    wanted = [requests.logs(LogFilter(HOLDER, (), block, block)) for block in (1, 2, 3)]
    questions = [*(requests.gas_price() for _ in range(9)), *wanted]
    store = Store.in_memory()
    async with FaultServer(behave) as server:
        # What was learned is kept: the second client need not be refused.
        for refused in (1, 0):
            server.asked.clear()
            async with RpcClient(
                base, [server.url], clock=lambda: NOW, limits=QUICK, store=store
            ) as client:
                found = await client.settle(questions)
                assert found == [*([GAS_PRICE] * 9), (), (), ()]
                assert client.endpoints[0].most_in_batch is None
            assert len(server.asked) == refused + least


async def test_an_answer_that_is_too_large_is_asked_for_in_halves(base: Network) -> None:
    limits = replace(QUICK, answer_bytes=2_000, most_answer_bytes=2_000)

    def long(replies: list[dict[str, object]]) -> object:
        return [{**one, "padding": "x" * 500} for one in replies]

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        await (faults.replies(long) if asked.is_batch else honest)(asked, connection, node)

    async with FaultServer(behave) as server, client_of(base, [server.url], limits=limits) as one:
        questions = [requests.balance(HOLDER, number) for number in range(9)]
        assert await one.settle(questions) == [number * 1_000 for number in range(9)]
        assert one.endpoints[0].most_in_batch is None
