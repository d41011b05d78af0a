"""A node with a chain id of its own: what it tells, what code sees, and whom it refuses."""

from __future__ import annotations

import pytest

from chain.base.units import GWEI
from chain.contracts.networks import UnknownNetworkError, embedded_chain_id, network_named
from chain.devnet.node.ledger import ChainLedger
from chain.devnet.node.messages import Message
from chain.devnet.node.node import Node
from chain.devnet.node.records import GenesisAccount
from chain.devnet.node.rpc.faults import RpcFaultError
from chain.devnet.node.rpc.messages import for_this_chain, message
from chain.devnet.node.transactions import TransactionRefusedError, sign_transaction
from chain.tokens import listed_tokens
from tests.chain.devnet.node.kit import ALICE, ALICE_KEY, BOB, ETHER

OTHER = 31338
TELLS_CHAIN_ID = "0x" + "c1" * 20
CODE = bytes.fromhex("465f5260205ff3")


def _node() -> Node:
    accounts = {
        ALICE: GenesisAccount(balance=ETHER),
        TELLS_CHAIN_ID: GenesisAccount(code=CODE),
    }
    return Node(ChainLedger.genesis(accounts, timestamp=1, chain_id=OTHER))


def _payment(chain_id: int) -> bytes:
    return sign_transaction(
        ALICE_KEY,
        nonce=0,
        to=BOB,
        gas=21_000,
        max_fee_per_gas=2 * GWEI,
        max_priority_fee_per_gas=0,
        value=1,
        chain_id=chain_id,
    ).raw


def test_code_and_signers_see_the_chain_id_of_the_node() -> None:
    node = _node()
    seen = node.ledger.call(Message(TELLS_CHAIN_ID)).output
    with pytest.raises(TransactionRefusedError, match=f"have 31337 want {OTHER}"):
        node.send(_payment(31337))
    sent = node.ledger.receipt(node.send(_payment(OTHER)))
    assert (int.from_bytes(seen, "big"), sent is not None and sent.success) == (OTHER, True)


def test_a_call_meant_for_another_chain_is_refused() -> None:
    node = _node()
    assert for_this_chain(node, message({"to": BOB, "chainId": hex(OTHER)})).chain_id is None
    with pytest.raises(RpcFaultError, match="chainId does not match"):
        for_this_chain(node, message({"to": BOB, "chainId": "0x7a69"}))


def test_a_further_embedded_chain_is_named_by_its_chain_id() -> None:
    first, further = network_named("devnet"), network_named(f"devnet-{OTHER}")
    assert (further.name, further.chain_id) == ("devnet-31338", OTHER)
    assert further.contracts == first.contracts
    assert listed_tokens(further) == listed_tokens(first)
    assert further.endpoints == ()
    assert network_named("devnet-31337") == first


@pytest.mark.parametrize("name", ["devnet-8453", "devnet-0", "devnet-x", "devnet-"])
def test_no_embedded_chain_takes_the_place_of_a_live_network(name: str) -> None:
    with pytest.raises(UnknownNetworkError):
        network_named(name)


@pytest.mark.parametrize("text", ["1", "8453", "0", "-5", "x", "9" * 20])
def test_a_chain_id_that_is_taken_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="chain id"):
        embedded_chain_id(text)
