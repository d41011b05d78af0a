"""Sending: one attempt, at one endpoint, alone in its request, and honest about what is unclear."""

import pytest

from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.rpc import requests
from chain.rpc.errors import (
    ErrorKind,
    HttpFault,
    RateLimited,
    RpcError,
    SendRefusal,
    SendRefused,
    SendUnclear,
    Unreachable,
    WrongChain,
)
from tests.chain.rpc.conftest import assert_fit_to_show, client_of
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
