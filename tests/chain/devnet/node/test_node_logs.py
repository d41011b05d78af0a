"""`eth_getLogs`: addresses, topics, alternatives, ranges, indices that count through the block."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from chain.devnet.node.index import Index, LogQuery
from chain.devnet.node.records import from_hex
from tests.chain.devnet.node.kit import (
    ALICE,
    COUNTER,
    LOGGER,
    FaultError,
    new_ledger,
    signed,
    word,
)

if TYPE_CHECKING:
    from chain.devnet.node.ledger import ChainLedger
    from chain.devnet.node.records import MinedLog
    from tests.chain.devnet.node.kit import Client


def logging(nonce: int, *topics: int) -> Any:
    data = b"".join(from_hex(word(topic)) for topic in topics)
    return signed(nonce=nonce, to=LOGGER, data=data)


@pytest.fixture
def logged(rpc: Client) -> Client:
    """Block 1: two logs of LOGGER; block 2: COUNTER's; block 3: LOGGER's again."""
    rpc("evm_setAutomine", False)
    rpc.send(logging(0, 1, 2, 3))
    rpc.send(logging(1, 1, 9, 3))
    rpc("evm_mine")
    rpc.send(signed(nonce=2))
    rpc("evm_mine")
    rpc.send(logging(3, 5, 2, 3))
    rpc("evm_mine")
    return rpc


def found(rpc: Client, **fields: object) -> list[tuple[int, int]]:
    logs = rpc("eth_getLogs", {"fromBlock": "earliest", "toBlock": "latest", **fields})
    return [(int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs]


def test_finds_logs_by_address_and_topics(logged: Client) -> None:
    everything = [(1, 0), (1, 1), (2, 0), (3, 0)]
    assert found(logged) == everything
    assert found(logged, address=LOGGER) == [(1, 0), (1, 1), (3, 0)]
    assert found(logged, address=[LOGGER, COUNTER]) == everything
    assert found(logged, address=[]) == everything
    assert found(logged, address=ALICE) == []
    assert found(logged, topics=[word(1)]) == [(1, 0), (1, 1)]
    assert found(logged, topics=[[word(5), word(7)]]) == [(2, 0), (3, 0)]
    assert found(logged, topics=[None, word(2)]) == [(1, 0), (3, 0)]
    assert found(logged, topics=[None, None, word(3)]) == [(1, 0), (1, 1), (3, 0)]
    assert found(logged, topics=[word(1), [word(9), word(8)]]) == [(1, 1)]
    assert found(logged, topics=[word(7), None]) == []  # COUNTER's log has one topic only
    assert found(logged, topics=[]) == everything
    assert found(logged, address=COUNTER, topics=[word(1)]) == []


def test_finds_logs_by_range(logged: Client) -> None:
    assert found(logged, fromBlock="0x2") == [(2, 0), (3, 0)]
    assert found(logged, toBlock="0x1") == [(1, 0), (1, 1)]
    assert found(logged, fromBlock="0x2", toBlock="0x2") == [(2, 0)]
    assert found(logged, toBlock="0xffff") == [(1, 0), (1, 1), (2, 0), (3, 0)]
    assert found(logged, fromBlock="0x4") == []
    assert found(logged, fromBlock="0x63", toBlock="0x64") == []
    assert [log["blockNumber"] for log in logged("eth_getLogs", {})] == ["0x3"]
    with pytest.raises(FaultError, match="invalid block range"):
        found(logged, fromBlock="0x3", toBlock="0x2")


def test_finds_logs_by_block_hash(logged: Client) -> None:
    block = logged("eth_getBlockByNumber", "0x1", False)["hash"]
    logs = logged("eth_getLogs", {"blockHash": block, "topics": [None, word(9)]})
    assert [log["logIndex"] for log in logs] == ["0x1"]
    assert logs[0]["transactionIndex"] == "0x1"
    with pytest.raises(FaultError, match="unknown block"):
        logged("eth_getLogs", {"blockHash": word(1)})
    with pytest.raises(FaultError, match="cannot specify both"):
        logged("eth_getLogs", {"blockHash": block, "fromBlock": "0x1"})
    with pytest.raises(FaultError, match="exceed max topics"):
        logged("eth_getLogs", {"topics": [None] * 5})


def test_logs_vanish_with_their_block(logged: Client) -> None:
    logged("anvil_rollback", 2)
    assert found(logged) == [(1, 0), (1, 1)]
    assert found(logged, address=COUNTER) == []


def test_the_index_finds_what_a_walk_finds() -> None:
    chance = random.Random(11)
    ledger = new_ledger()
    nonce = 0
    for _ in range(12):
        size = chance.randrange(5)
        batch = [
            logging(nonce + i, *(chance.randrange(3) for _ in range(3)))
            if chance.random() < 0.8
            else signed(nonce=nonce + i)
            for i in range(size)
        ]
        nonce += size
        ledger.mine(batch, timestamp=ledger.head.timestamp + 1)
    ledger.rewind(10)
    logs = walk(ledger)
    assert len(logs) > 10
    choices = (None, frozenset({word(0)}), frozenset({word(1), word(2)}))
    for topics in product(choices, repeat=3):
        for addresses in (None, frozenset({LOGGER}), frozenset({COUNTER, ALICE})):
            first = chance.randrange(12)
            wanted = LogQuery(first, chance.randrange(first, 14), addresses, topics)
            expected = [
                log
                for log in logs
                if wanted.first_block <= log.block_number <= wanted.last_block
                and wanted.matches(log)
            ]
            assert ledger.logs(wanted) == expected


def walk(ledger: ChainLedger) -> list[MinedLog]:
    return [
        log
        for number in range(ledger.head.number + 1)
        for receipt in ledger.block(number).receipts
        for log in receipt.logs
    ]


def test_an_index_undone_is_an_index_never_built() -> None:
    ledger = new_ledger()
    ledger.mine([signed(nonce=0), logging(1, 1, 2, 3)], timestamp=ledger.head.timestamp + 1)
    index = Index()
    index.add(ledger.block(0))
    index.add(ledger.block(1))
    index.remove_last(ledger.block(1))
    assert index.logs(LogQuery(0, 9)) == []
    assert index.logs(LogQuery(0, 9, frozenset({COUNTER}))) == []
    assert index.place(ledger.block(1).receipts[0].transaction_hash) is None
