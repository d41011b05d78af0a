"""Reading accounts, blocks, transactions and receipts, now and at old blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth.rlp.accounts import Account
from rlp.codec import decode as rlp_decode
from trie.hexary import HexaryTrie

from chain.contracts.keccak import keccak
from chain.devnet.node.records import from_hex, to_hex
from tests.chain.devnet.node.kit import (
    ALICE,
    BOB,
    BOB_KEY,
    CODES,
    COUNTER,
    ETHER,
    INIT_CODE,
    NOBODY,
    FaultError,
    signed,
    word,
)

if TYPE_CHECKING:
    from tests.chain.devnet.node.kit import Client


def test_says_who_it_is(rpc: Client) -> None:
    assert rpc("eth_chainId") == "0x7a69"
    assert rpc("net_version") == "31337"
    assert rpc("net_listening") is True
    assert "zuno" in rpc("web3_clientVersion")
    assert rpc("eth_syncing") is False
    assert rpc("eth_accounts") == []
    assert rpc("eth_blockNumber") == "0x0"


def test_reads_accounts_now_and_at_old_blocks(rpc: Client) -> None:
    for nonce in range(3):
        rpc.send(signed(nonce=nonce, value=0))
    assert [rpc.count(hex(number)) for number in range(4)] == [41, 42, 43, 44]
    assert [rpc.nonce(ALICE, hex(number)) for number in range(4)] == [0, 1, 2, 3]
    assert rpc("eth_getBalance", ALICE, "earliest") == hex(100 * ETHER)
    assert int(rpc("eth_getBalance", ALICE), 16) < 100 * ETHER
    assert rpc("eth_getCode", COUNTER) == "0x" + CODES[COUNTER]
    assert rpc("eth_getCode", ALICE, "latest") == "0x"
    assert rpc("eth_call", {"to": COUNTER}, "0x1") == word(43)


def test_names_blocks_by_tag(rpc: Client) -> None:
    rpc("anvil_mine", 100)
    number = {
        tag: rpc("eth_getBlockByNumber", tag, False)["number"]
        for tag in ("earliest", "finalized", "safe", "latest", "pending")
    }
    assert number == {
        "earliest": "0x0",
        "finalized": hex(100 - 64),
        "safe": hex(100 - 32),
        "latest": hex(100),
        "pending": hex(101),
    }
    assert rpc("eth_getBlockByNumber", hex(101), False) is None
    with pytest.raises(FaultError, match="header not found"):
        rpc("eth_getBalance", ALICE, hex(101))


def test_names_blocks_by_hash(rpc: Client) -> None:
    rpc.send(signed(nonce=0))
    rpc.send(signed(nonce=1))
    old = rpc("eth_getBlockByNumber", "0x1", False)["hash"]
    canonical = {"blockHash": old, "requireCanonical": True}
    assert rpc.count(canonical) == 42
    assert rpc.count({"blockHash": old}) == 42
    assert rpc.count({"blockNumber": "0x1"}) == 42
    assert rpc.count(old) == 42
    rpc("anvil_rollback", 2)
    rpc("evm_mine")
    with pytest.raises(FaultError, match="hash is not currently canonical"):
        rpc.count(canonical)
    assert rpc.count({"blockHash": old}) == 42  # the orphan's state is still there to be asked for
    with pytest.raises(FaultError, match="header for hash not found"):
        rpc.count({"blockHash": "0x" + "12" * 32})
    with pytest.raises(FaultError, match="exactly one"):
        rpc.count({"blockHash": old, "blockNumber": "0x1"})
    assert rpc("eth_getBlockByHash", old, False) is None


def test_shows_a_block_with_hashes_or_in_full(rpc: Client) -> None:
    rpc("evm_setAutomine", False)
    hashes = [rpc.send(signed(nonce=0)), rpc.send(signed(BOB_KEY, nonce=0))]
    rpc("evm_mine")
    block = rpc("eth_getBlockByNumber", "latest", False)
    assert sorted(block["transactions"]) == sorted(hashes)
    full = rpc("eth_getBlockByHash", block["hash"], True)
    assert [item["hash"] for item in full["transactions"]] == block["transactions"]
    assert {item["from"] for item in full["transactions"]} == {ALICE, BOB}
    assert full["parentHash"] == rpc("eth_getBlockByNumber", "0x0", False)["hash"]
    receipts = rpc("eth_getBlockReceipts", "0x1")
    assert [item["transactionHash"] for item in receipts] == block["transactions"]
    assert receipts == rpc("eth_getBlockReceipts", {"blockHash": block["hash"]})
    assert rpc("eth_getBlockReceipts", "0x9") is None
    assert rpc("eth_getBlockTransactionCountByNumber", "latest") == "0x2"
    assert rpc("eth_getBlockTransactionCountByHash", block["hash"]) == "0x2"
    second = full["transactions"][1]
    assert rpc("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x1") == second
    assert rpc("eth_getTransactionByBlockHashAndIndex", block["hash"], "0x1") == second
    assert rpc("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x2") is None


def test_a_receipt_has_every_field(rpc: Client) -> None:
    transaction = signed(nonce=0)
    receipt = rpc.receipt(rpc.send(transaction))
    block = rpc("eth_getBlockByNumber", "latest", False)
    log = receipt["logs"][0]
    assert receipt["status"] == "0x1"
    assert receipt["type"] == "0x2"
    assert receipt["from"] == ALICE
    assert receipt["to"] == COUNTER
    assert receipt["contractAddress"] is None
    assert receipt["blockHash"] == block["hash"] == log["blockHash"]
    assert receipt["cumulativeGasUsed"] == receipt["gasUsed"] == block["gasUsed"]
    assert receipt["effectiveGasPrice"] == hex(int(block["baseFeePerGas"], 16) + 10**8)
    assert receipt["logsBloom"] == block["logsBloom"]
    assert int(receipt["logsBloom"], 16) > 0
    assert log["topics"] == [word(7)]
    assert log["data"] == word(42)
    assert log["removed"] is False
    assert rpc("eth_getRawTransactionByHash", transaction.hash) == to_hex(transaction.raw)


def test_a_creation_names_its_contract(rpc: Client) -> None:
    receipt = rpc.receipt(rpc.send(signed(nonce=0, to=None, data=INIT_CODE)))
    assert receipt["to"] is None
    assert rpc("eth_call", {"to": receipt["contractAddress"]}) == word(42)


def test_a_failed_transaction_has_a_receipt(rpc: Client) -> None:
    receipt = rpc.receipt(rpc.send(signed(nonce=0, to="0x" + "c3" * 20, data=b"no")))
    assert receipt["status"] == "0x0"
    assert receipt["logs"] == []
    assert rpc.nonce(ALICE) == 1


def test_what_does_not_exist_is_null(rpc: Client) -> None:
    unknown = "0x" + "77" * 32
    assert rpc("eth_getTransactionByHash", unknown) is None
    assert rpc("eth_getTransactionReceipt", unknown) is None
    assert rpc("eth_getRawTransactionByHash", unknown) is None
    assert rpc("eth_getBlockByHash", unknown, False) is None


def test_proofs_verify_against_the_state_root(rpc: Client) -> None:
    rpc.send(signed(nonce=0))
    proof = rpc("eth_getProof", COUNTER, ["0x0", word(5)], "latest")
    root = rpc("eth_getBlockByNumber", "latest", False)["stateRoot"]
    encoded = verified(root, keccak(from_hex(COUNTER)), proof["accountProof"])
    account = rlp_decode(encoded, Account)  # type: ignore[no-untyped-call]
    assert to_hex(account.storage_root) == proof["storageHash"]
    assert (
        to_hex(account.code_hash)
        == proof["codeHash"]
        == to_hex(keccak(bytes.fromhex(CODES[COUNTER])))
    )
    present, absent = proof["storageProof"]
    assert present["value"] == "0x2a"
    assert verified(proof["storageHash"], keccak(bytes(32)), present["proof"]) == b"\x2a"
    assert absent["value"] == "0x0"
    assert verified(proof["storageHash"], keccak(from_hex(word(5))), absent["proof"]) == b""
    missing = rpc("eth_getProof", NOBODY, [], "latest")
    assert missing["balance"] == missing["nonce"] == "0x0"
    assert verified(root, keccak(from_hex(NOBODY)), missing["accountProof"]) == b""


def verified(root: str, key: bytes, proof: list[str]) -> Any:
    nodes = [rlp_decode(from_hex(node)) for node in proof]  # type: ignore[no-untyped-call]
    return HexaryTrie.get_from_proof(from_hex(root), key, nodes)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBalance", []),
        ("eth_getBalance", ["0x12"]),
        ("eth_getBalance", [ALICE, "0x01"]),
        ("eth_getBalance", [ALICE, "newest"]),
        ("eth_getBalance", [ALICE, 1]),
        ("eth_getStorageAt", [COUNTER, "zero"]),
        ("eth_getBlockByNumber", ["latest", "yes"]),
        ("eth_getTransactionByHash", ["0x1234"]),
        ("eth_call", ["0x00"]),
        ("eth_call", [{"to": COUNTER, "data": "0x1"}]),
        ("eth_call", [{"to": COUNTER, "gas": -5}]),
        ("eth_call", [{"recipient": COUNTER}]),
        ("eth_call", [{"to": COUNTER, "chainId": "0x1"}]),
        ("eth_getLogs", [{"topics": [[5]]}]),
        ("eth_feeHistory", ["0x1", "latest", [50, 10]]),
        ("eth_feeHistory", ["0x1", "latest", [101]]),
    ],
)
def test_bad_parameters_are_named(rpc: Client, method: str, params: list[object]) -> None:
    with pytest.raises(FaultError) as caught:
        rpc(method, *params)
    assert caught.value.code == -32602
