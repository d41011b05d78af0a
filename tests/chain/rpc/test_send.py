"""Sending: one attempt, at one endpoint, alone in its request, and honest about what is unclear."""

import json

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.rpc import requests
from chain.rpc.errors import (
    ErrorKind,
    HttpFault,
    RateLimited,
    Reorged,
    RpcError,
    RpcRefused,
    SendRefusal,
    SendRefused,
    SendUnclear,
    StatePruned,
    Unreachable,
    WrongChain,
)
from tests.chain.rpc.conftest import QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import Asked, Behaviour, Connection, FaultServer, honest
from tests.fakes.honest_node import HonestNode

SIGNED = b"\x02 a signed transaction"
HASH = "0x" + keccak(SIGNED).hex()
SEND = requests.send_raw(SIGNED)


def when_sending(behaviour: Behaviour) -> Behaviour:
    """Honest about everything else."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        sends = [call for call in asked.calls if call["method"] == "eth_sendRawTransaction"]
        assert not sends or not asked.is_batch
        await (behaviour if sends else honest)(asked, connection, node)

    return behave


def answering(**fields: object) -> Behaviour:
    return when_sending(faults.alone(**fields))


async def test_the_chain_is_checked_first_and_the_transaction_travels_alone(base: Network) -> None:
    server = FaultServer(answering(result=HASH))
    async with server, client_of(base, [server.url]) as client:
        assert await client.ask(SEND) == HASH
        assert [asked.calls[0]["method"] for asked in server.asked] == [
            "eth_chainId",
            "eth_sendRawTransaction",
        ]


async def test_a_batch_with_a_transaction_in_it_is_refused(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        with pytest.raises(ValueError, match="sent alone"):
            await client.together(requests.gas_price(), SEND)
        assert server.asked == []


async def test_nothing_is_sent_to_a_wrong_chain(base: Network) -> None:
    node = HonestNode(chain_id=1)
    async with FaultServer(node=node) as server, client_of(base, [server.url]) as client:
        with pytest.raises(WrongChain):
            await client.ask(SEND)
        assert node.methods == ["eth_chainId"]


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    [
        (faults.silence, ErrorKind.TIMED_OUT),
        (faults.slow_loris, ErrorKind.TIMED_OUT),
        (faults.reset, ErrorKind.UNREACHABLE),
        (faults.hang_up, ErrorKind.UNREACHABLE),
        (faults.status("502 Bad Gateway"), ErrorKind.HTTP_FAULT),
        (faults.body(b"<html>"), ErrorKind.MALFORMED),
        (faults.alone(result="0x" + "00" * 32), ErrorKind.MALFORMED),
        (faults.endless_body, ErrorKind.TOO_LARGE),
    ],
)
async def test_what_is_unclear_is_never_sent_again(
    base: Network, behaviour: Behaviour, fault: ErrorKind
) -> None:
    async with (
        FaultServer(when_sending(behaviour)) as first,
        FaultServer() as second,
        client_of(base, [first.url, second.url]) as client,
    ):
        with pytest.raises(SendUnclear) as caught:
            await client.ask(SEND)
        assert caught.value.fault_kind == fault
        assert not caught.value.retryable
        assert_fit_to_show(caught.value)
        sends = [
            call
            for asked in (*first.asked, *second.asked)
            for call in asked.calls
            if call["method"] == "eth_sendRawTransaction"
        ]
        assert len(sends) == 1


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (faults.status("429 X", headers={"Retry-After": "3"}), RateLimited),
        (faults.status("403 Forbidden"), HttpFault),
        (faults.status("307 X", headers={"Location": "http://127.0.0.1:1"}), HttpFault),
    ],
)
async def test_what_was_surely_not_taken_is_said_plainly(
    base: Network, behaviour: Behaviour, error: type[RpcError]
) -> None:
    server = FaultServer(when_sending(behaviour))
    async with server, client_of(base, [server.url]) as client:
        with pytest.raises(error):
            await client.ask(SEND)
        assert len(server.asked) == 2


async def test_an_endpoint_that_went_away_took_nothing(base: Network) -> None:
    async with FaultServer() as server, client_of(base, [server.url]) as client:
        await client.ask(requests.gas_price())
        await server.__aexit__(None, None, None)
        with pytest.raises(Unreachable) as caught:
            await client.ask(SEND)
        assert caught.value.before_sending


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("already known", SendRefusal.ALREADY_KNOWN),
        ("transaction already imported", SendRefusal.ALREADY_KNOWN),
        ("ALREADY_EXISTS: already known", SendRefusal.ALREADY_KNOWN),
        ("nonce too low: next nonce 5, tx nonce 4", SendRefusal.NONCE_TOO_LOW),
        ("nonce too high", SendRefusal.NONCE_TOO_HIGH),
        ("replacement transaction underpriced", SendRefusal.REPLACEMENT_UNDERPRICED),
        ("transaction underpriced", SendRefusal.UNDERPRICED),
        ("max fee per gas less than block base fee: address 0x", SendRefusal.UNDERPRICED),
        ("insufficient funds for gas * price + value", SendRefusal.INSUFFICIENT_FUNDS),
        ("intrinsic gas too low: gas 20000", SendRefusal.GAS_LIMIT),
        ("exceeds block gas limit", SendRefusal.GAS_LIMIT),
        ("invalid chain id for signer", SendRefusal.WRONG_CHAIN_ID),
        ("the sequencer is on holiday", SendRefusal.OTHER),
    ],
)
async def test_refusals_have_a_reason(base: Network, message: str, reason: SendRefusal) -> None:
    refusing = answering(error={"code": -32000, "message": message})
    async with FaultServer(refusing) as server, client_of(base, [server.url]) as client:
        with pytest.raises(SendRefused) as caught:
            await client.ask(SEND)
        assert caught.value.reason is reason
        assert_fit_to_show(caught.value)
        assert len(server.asked) == 2


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
