"""Sending: what is admitted, what waits, what is dropped or replaced, in what order it is mined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_account import Account

from chain.base.units import GWEI
from chain.devnet.node.mempool import Mempool
from chain.devnet.node.records import from_hex, to_hex
from chain.devnet.node.transactions import decode_transaction
from tests.chain.devnet.node.kit import (
    ALICE,
    ALICE_KEY,
    BOB,
    BOB_KEY,
    COUNTER,
    ECHO,
    ETHER,
    INVALID,
    NOBODY,
    PAUPER_KEY,
    RECURSE,
    FaultError,
    signed,
    word,
)

if TYPE_CHECKING:
    from tests.chain.devnet.node.kit import Client


@pytest.fixture
def idle(rpc: Client) -> Client:
    """Nothing is mined until a test says so."""
    rpc("evm_setAutomine", False)
    return rpc


def test_a_sent_transaction_is_mined_at_once(rpc: Client) -> None:
    transaction = signed(nonce=0)
    assert rpc.send(transaction) == transaction.hash
    assert rpc.height() == 1
    assert rpc.receipt(transaction.hash)["status"] == "0x1"
    assert rpc.count() == 42


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_every_kind_of_transaction_is_taken(rpc: Client, kind: int) -> None:
    fields = {"nonce": 0, "to": from_hex(COUNTER), "gas": 100_000, "value": 0, "chainId": 31337}
    fields |= (
        {"maxFeePerGas": 2 * GWEI, "maxPriorityFeePerGas": GWEI}
        if kind == 2
        else {"gasPrice": 2 * GWEI}
    )
    if kind:
        fields |= {
            "type": kind,
            "accessList": [{"address": from_hex(COUNTER), "storageKeys": [word(0)]}],
        }
    raw = Account.sign_transaction(fields, ALICE_KEY).raw_transaction
    receipt = rpc.receipt(rpc("eth_sendRawTransaction", to_hex(raw)))
    assert (receipt["status"], receipt["type"]) == ("0x1", hex(kind))
    sent = rpc("eth_getTransactionByHash", receipt["transactionHash"])
    assert (sent["type"], sent["from"], sent["chainId"]) == (hex(kind), ALICE, "0x7a69")
    assert ("accessList" in sent) == (kind > 0)
    assert ("maxFeePerGas" in sent) == (kind == 2)
    assert sent["gasPrice"] == receipt["effectiveGasPrice"] == hex(2 * GWEI)


def test_a_legacy_transaction_without_chain_id_is_taken(rpc: Client) -> None:
    """Contracts deployed to one address on every chain are deployed by such transactions."""
    fields = {"nonce": 0, "to": from_hex(COUNTER), "gas": 100_000, "value": 0, "gasPrice": 2 * GWEI}
    raw = Account.sign_transaction(fields, ALICE_KEY).raw_transaction
    sent = rpc("eth_getTransactionByHash", rpc("eth_sendRawTransaction", to_hex(raw)))
    assert sent["v"] in ("0x1b", "0x1c")
    assert "chainId" not in sent


def test_an_account_can_take_on_code(rpc: Client) -> None:
    authorization = {"chainId": 31337, "address": from_hex(ECHO), "nonce": 0}
    fields = {
        "type": 4,
        "chainId": 31337,
        "nonce": 0,
        "to": from_hex(BOB),
        "gas": 200_000,
        "value": 0,
        "data": "0x",
        "maxFeePerGas": 2 * GWEI,
        "maxPriorityFeePerGas": GWEI,
        "authorizationList": [Account.sign_authorization(authorization, BOB_KEY)],
    }
    raw = Account.sign_transaction(fields, ALICE_KEY).raw_transaction
    transaction_hash = rpc("eth_sendRawTransaction", to_hex(raw))
    assert rpc.receipt(transaction_hash)["status"] == "0x1"
    assert rpc("eth_getCode", BOB) == "0xef0100" + ECHO[2:]
    assert rpc("eth_call", {"to": BOB, "data": "0x1234"}) == "0x1234"
    sent = rpc("eth_getTransactionByHash", transaction_hash)
    assert sent["authorizationList"][0]["address"] == ECHO
    full = rpc("eth_getBlockByNumber", "latest", True)
    assert full["transactions"] == [sent]


def test_what_cannot_be_mined_is_refused_in_the_words_of_geth(idle: Client) -> None:
    def refusal(raw: bytes) -> str:
        with pytest.raises(FaultError) as caught:
            idle("eth_sendRawTransaction", to_hex(raw))
        assert caught.value.code == -32000
        return caught.value.message

    first = signed(nonce=0)
    idle.send(first)
    assert refusal(first.raw) == "already known"
    assert refusal(signed(nonce=1, gas=20_000).raw).startswith("intrinsic gas too low")
    heavy = signed(nonce=1, to=ECHO, gas=40_000, data=b"\x11" * 1000).raw
    assert refusal(heavy).startswith("insufficient gas for floor data gas cost: gas 40000")
    assert refusal(signed(nonce=1, gas=31_000_000).raw).startswith("exceeds block gas limit")
    assert refusal(signed(nonce=1, value=100 * ETHER).raw).startswith(
        "insufficient funds for gas * price + value"
    )
    assert refusal(signed(PAUPER_KEY, nonce=0).raw).startswith("insufficient funds for gas")
    assert refusal(signed(nonce=1, fee=GWEI, tip=2 * GWEI).raw).startswith(
        "max priority fee per gas higher than max fee per gas"
    )
    big = signed(nonce=1, to=None, gas=10_000_000, data=b"\x00" * 49_153).raw
    assert refusal(big).startswith("max initcode size exceeded")
    idle("evm_mine")
    assert refusal(first.raw) == "nonce too low: next nonce 1, tx nonce 0"


def test_a_transaction_for_another_chain_is_refused(rpc: Client) -> None:
    common = {"nonce": 0, "to": from_hex(COUNTER), "gas": 100_000, "value": 0, "chainId": 1}
    for fees in ({"gasPrice": GWEI}, {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": 1}):
        raw = Account.sign_transaction(common | fees, ALICE_KEY).raw_transaction
        with pytest.raises(FaultError, match=r"^invalid chain id for signer: have 1 want 31337$"):
            rpc("eth_sendRawTransaction", to_hex(raw))


@pytest.mark.parametrize(
    "raw", ["0x", "0x00", "0x02", "0x02c0", "0x7f", "0xc0", "0x05c0", "0x" + "ff" * 100]
)
def test_bytes_that_are_no_transaction_are_refused(rpc: Client, raw: str) -> None:
    with pytest.raises(FaultError) as caught:
        rpc("eth_sendRawTransaction", raw)
    assert caught.value.code == -32000


def test_a_tampered_signature_is_another_sender_or_none(rpc: Client) -> None:
    raw = bytearray(signed(nonce=0).raw)
    raw[-1] ^= 1
    with pytest.raises(FaultError, match=r"insufficient funds|invalid transaction v, r, s"):
        rpc("eth_sendRawTransaction", to_hex(bytes(raw)))


def test_waiting_transactions_can_be_seen(idle: Client) -> None:
    transaction_hash = idle.send(signed(nonce=0))
    sent = idle("eth_getTransactionByHash", transaction_hash)
    assert sent["blockHash"] is sent["blockNumber"] is sent["transactionIndex"] is None
    assert idle.receipt(transaction_hash) is None
    assert (idle.nonce(ALICE), idle.nonce(ALICE, "pending")) == (0, 1)
    assert (idle.count(), idle.count("pending")) == (41, 42)
    block = idle("eth_getBlockByNumber", "pending", True)
    assert [item["hash"] for item in block["transactions"]] == [transaction_hash]
    assert block["hash"] is None
    assert idle("txpool_status") == {"pending": "0x1", "queued": "0x0"}
    assert list(idle("txpool_content")["pending"][ALICE]) == ["0"]


def test_a_gap_in_the_nonces_waits(rpc: Client) -> None:
    later = rpc.send(signed(nonce=1))
    assert rpc.receipt(later) is None
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x1"}
    assert rpc.nonce(ALICE, "pending") == 0
    rpc.send(signed(nonce=0))
    assert rpc.receipt(later)["blockNumber"] == "0x1"
    assert rpc.nonce(ALICE) == 2


def test_a_fee_below_the_base_fee_waits(rpc: Client) -> None:
    cheap = rpc.send(signed(nonce=0, fee=GWEI - 1, tip=1))
    assert rpc.height() == 0
    rpc("evm_mine")
    assert rpc.receipt(cheap) is None
    faster = signed(nonce=0, fee=2 * GWEI, tip=2)
    assert rpc.receipt(rpc.send(faster))["status"] == "0x1"
    assert rpc("eth_getTransactionByHash", cheap) is None


def test_better_tips_come_first_and_nonces_stay_in_order(idle: Client) -> None:
    alice = [idle.send(signed(nonce=n, fee=9 * GWEI, tip=tip)) for n, tip in enumerate((2, 500))]
    bob = [
        idle.send(signed(BOB_KEY, nonce=n, fee=9 * GWEI, tip=tip)) for n, tip in enumerate((3, 1))
    ]
    idle("evm_mine")
    mined = idle("eth_getBlockByNumber", "latest", False)["transactions"]
    assert mined == [bob[0], alice[0], alice[1], bob[1]]


def test_a_replacement_pays_a_tenth_more(idle: Client) -> None:
    old = idle.send(signed(nonce=0, fee=10 * GWEI, tip=1000))
    for fee, tip in ((10 * GWEI, 2000), (11 * GWEI, 1099), (11 * GWEI - 1, 1100)):
        with pytest.raises(FaultError, match=r"^replacement transaction underpriced$"):
            idle.send(signed(nonce=0, fee=fee, tip=tip))
    new = idle.send(signed(nonce=0, to=ECHO, fee=11 * GWEI, tip=1100))
    assert idle("eth_getTransactionByHash", old) is None
    idle("evm_mine")
    assert idle.receipt(old) is None
    assert idle.receipt(new)["status"] == "0x1"
    assert idle.count() == 41


def test_a_transaction_can_be_dropped(idle: Client) -> None:
    first, second = idle.send(signed(nonce=0)), idle.send(signed(nonce=1))
    assert idle("anvil_dropTransaction", first) == first
    assert idle("anvil_dropTransaction", first) is None
    assert idle("eth_getTransactionByHash", first) is None
    idle("evm_mine")
    assert idle.receipt(second) is None
    idle.send(signed(nonce=0))
    idle("evm_mine")
    assert idle.receipt(second)["status"] == "0x1"
    idle.send(signed(nonce=2))
    idle("anvil_dropAllTransactions")
    assert idle("txpool_status") == {"pending": "0x0", "queued": "0x0"}


def test_what_the_sender_can_no_longer_pay_is_dropped(idle: Client) -> None:
    kept = idle.send(signed(nonce=0, to=NOBODY, value=60 * ETHER))
    lost = idle.send(signed(nonce=1, to=NOBODY, value=30 * ETHER))
    idle("anvil_setBalance", ALICE, hex(61 * ETHER))
    idle("evm_mine")
    assert idle.receipt(kept)["status"] == "0x1"
    assert idle("eth_getTransactionByHash", lost) is None


def test_a_full_block_leaves_the_rest_waiting(idle: Client) -> None:
    hashes = [idle.send(signed(nonce=n, to=INVALID, gas=16_000_000)) for n in range(2)]
    idle("evm_mine")
    assert [idle.receipt(item) is not None for item in hashes] == [True, False]
    idle("evm_mine")
    assert idle.receipt(hashes[1])["blockNumber"] == "0x2"


def test_a_deep_transaction_is_mined(rpc: Client) -> None:
    receipt = rpc.receipt(rpc.send(signed(nonce=0, to=RECURSE, gas=5_000_000)))
    assert receipt["status"] == "0x1"


def test_a_pool_restored_is_the_pool_it_was() -> None:
    pool = Mempool()
    for nonce in (0, 1, 5):
        pool.add(decode_transaction(signed(nonce=nonce).raw), nonce=0, balance=ETHER)
    contents = pool.contents()
    pool.clear()
    assert len(pool) == 0
    pool.restore(contents)
    assert pool.contents() == contents
    assert pool.next_nonce(ALICE, 0) == 2
    assert [item.nonce for item in pool.ready(GWEI, lambda _: 0)] == [0, 1]
