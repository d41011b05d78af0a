"""Reads of one block: across reorganisations and endpoints, one block's data or an error."""

import json

import pytest
from msgspec.structs import replace

from chain.contracts.networks import Network
from chain.rpc import requests
from chain.rpc.errors import Reorged, RpcError, RpcRefused, StatePruned
from tests.chain.rpc.conftest import QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import Asked, Connection, FaultServer, honest
from tests.fakes.honest_node import HonestNode

HOLDER = "0x" + "11" * 20
BALANCE = requests.balance(HOLDER)
BY_HASH, BY_NUMBER = True, False
FORGIVING = replace(QUICK, most_rest_seconds=0.0)
ROOMY = replace(QUICK, connect_seconds=8.0, answer_seconds=8.0, total_seconds=20.0)
"""An endpoint that failed is asked first again at once, unless something else is preferred."""


@pytest.mark.parametrize("takes_hashes", [BY_HASH, BY_NUMBER])
async def test_reads_stay_at_the_block_while_the_head_moves(
    base: Network, takes_hashes: bool
) -> None:
    node = HonestNode(takes_block_hashes=takes_hashes)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        reader = client.at(await client.head())
        node.head += 5
        assert await reader.ask(BALANCE) == 100_000
        assert await reader.together(BALANCE, BALANCE) == (100_000, 100_000)
        assert client.endpoints[0].pins_by_hash is takes_hashes
        before = client.round_trips
        await reader.ask(BALANCE)
        assert client.round_trips == before + 1, "what was learned of hashes is remembered"


async def test_by_hash_is_how_it_is_asked(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        head = await client.head()
        await client.at(head).ask(BALANCE)
        assert server.asked[-1].calls[0]["params"] == [
            HOLDER,
            {"blockHash": head.hash, "requireCanonical": True},
        ]


@pytest.mark.parametrize("takes_hashes", [BY_HASH, BY_NUMBER])
async def test_a_reorganisation_between_two_reads_is_an_error(
    base: Network, takes_hashes: bool
) -> None:
    node = HonestNode(takes_block_hashes=takes_hashes)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        reader = client.at(await client.head())
        assert await reader.ask(BALANCE) == 100_000
        node.branch += 1
        with pytest.raises(Reorged) as caught:
            await reader.ask(BALANCE)
        assert caught.value.found == node.hash(100)
        assert_fit_to_show(caught.value)


@pytest.mark.parametrize("calls_before", range(1, 9))
async def test_a_reorganisation_inside_a_batch_is_never_mixed_data(
    base: Network, calls_before: int
) -> None:
    """By number the branch may change between any two calls of a batch."""
    node = HonestNode(takes_block_hashes=False)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        reader = client.at(await client.head())
        await reader.ask(BALANCE)
        node.reorg_after_calls = len(node.methods) + calls_before
        try:
            answers = await reader.together(*[BALANCE] * 6)
        except Reorged:
            assert calls_before < 8, "after the last call nothing could be mixed"
        else:
            assert answers == (100_000,) * 6


async def test_a_block_that_comes_back_during_a_batch_is_not_trusted(base: Network) -> None:
    node = HonestNode(takes_block_hashes=False, reorg_to=0)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        reader = client.at(await client.head())
        await reader.ask(BALANCE)
        node.branch = 1
        node.reorg_after_calls = len(node.methods) + 3
        with pytest.raises(Reorged):
            await reader.together(*[BALANCE] * 6)


@pytest.mark.parametrize("takes_hashes", [BY_HASH, BY_NUMBER])
async def test_failover_keeps_the_block(base: Network, takes_hashes: bool) -> None:
    second = HonestNode(head=104, takes_block_hashes=takes_hashes)
    async with (
        FaultServer() as first,
        FaultServer(node=second) as other,
        client_of(base, [first.url, other.url], FORGIVING) as client,
    ):
        reader = client.at(await client.head())
        assert await reader.ask(BALANCE) == 100_000
        first.behaviour = faults.status("500 X")
        assert await reader.ask(BALANCE) == 100_000
        first.behaviour = honest
        asked = len(other.asked)
        assert await reader.ask(BALANCE) == 100_000
        assert len(other.asked) > asked, "a snapshot stays where it was answered"


@pytest.mark.parametrize("takes_hashes", [BY_HASH, BY_NUMBER])
async def test_failover_to_another_history_is_an_error(base: Network, takes_hashes: bool) -> None:
    fork = HonestNode(branch=3, takes_block_hashes=takes_hashes)
    async with (
        FaultServer() as first,
        FaultServer(node=fork) as other,
        client_of(base, [first.url, other.url]) as client,
    ):
        reader = client.at(await client.head())
        first.behaviour = faults.status("500 X")
        with pytest.raises(Reorged):
            await reader.ask(BALANCE)


@pytest.mark.parametrize("takes_hashes", [BY_HASH, BY_NUMBER])
async def test_an_endpoint_that_does_not_have_the_block_yet_is_passed_over(
    base: Network, takes_hashes: bool
) -> None:
    behind = HonestNode(head=98, takes_block_hashes=takes_hashes)
    async with FaultServer(node=behind) as late, FaultServer() as there:
        async with client_of(base, [there.url]) as client:
            head = await client.head()
        async with client_of(base, [late.url, there.url], ROOMY) as client:
            assert await client.at(head).ask(BALANCE) == 100_000
        async with client_of(base, [late.url], ROOMY) as client:
            with pytest.raises(StatePruned):
                await client.at(head).ask(BALANCE)


async def test_a_wrong_question_does_not_teach_that_hashes_are_refused(base: Network) -> None:
    refusal = {"code": -32602, "message": "invalid argument 0: hex string of odd length"}

    async def refuse_balances(asked: Asked, connection: Connection, node: HonestNode) -> None:
        replies = [
            {"jsonrpc": "2.0", "id": call["id"], "error": refusal}
            if call["method"] == "eth_getBalance"
            else node.answer(call)
            for call in asked.calls
        ]
        await connection.respond(json.dumps(replies if asked.is_batch else replies[0]).encode())

    async with FaultServer() as server, client_of(base, [server.url]) as client:
        reader = client.at(await client.head())
        server.behaviour = refuse_balances
        with pytest.raises(RpcRefused):
            await reader.ask(BALANCE)
        assert client.endpoints[0].pins_by_hash


async def test_only_questions_about_state_can_be_pinned(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        reader = client.at(await client.head())
        with pytest.raises(ValueError, match="eth_gasPrice is not asked about a block"):
            await reader.ask(requests.gas_price())
        outcomes: list[int | RpcError] = await reader.settle([])
        assert outcomes == []
