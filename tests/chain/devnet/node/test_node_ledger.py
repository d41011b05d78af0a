"""The chain without HTTP: py-evm's hashes, the same chain twice, a file that holds it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from eth.db.trie import make_trie_root_and_nodes
from eth.rlp.logs import Log as RlpLog
from eth.rlp.receipts import Receipt as RlpReceipt
from eth.vm.forks.prague.blocks import PragueBlock, PragueBlockHeader
from eth.vm.forks.prague.receipts import PragueReceiptBuilder
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_typing import BlockNumber, Hash32
from rlp.codec import encode as rlp_encode

from chain.devnet.node.archive import ArchiveError
from chain.devnet.node.block import block_size
from chain.devnet.node.call_memory import CallMemory
from chain.devnet.node.execution import BlockState
from chain.devnet.node.fees import BASE_FEE_FLOOR, next_base_fee
from chain.devnet.node.index import LogQuery
from chain.devnet.node.ledger import ChainLedger, UnknownBlockError
from chain.devnet.node.messages import Message, Outcome, Override
from chain.devnet.node.node import Node
from chain.devnet.node.records import from_hex
from chain.devnet.node.transactions import TransactionRefusedError
from tests.chain.devnet.node.kit import (
    ALICE,
    BOB_KEY,
    COUNTER,
    ECHO,
    INVALID,
    LOGGER,
    NESTS_DEEP,
    RECURSE,
    STORE,
    new_ledger,
    signed,
    word,
)

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.node.records import MinedBlock
    from chain.devnet.node.transactions import NodeTransaction

EVERYTHING = LogQuery(0, 10**9)


def busy_ledger() -> ChainLedger:
    """A few blocks with a bit of everything in them."""
    ledger = new_ledger()
    time = ledger.head.timestamp
    ledger.mine([signed(nonce=0), signed(BOB_KEY, nonce=0)], timestamp=time + 5)
    ledger.mine(timestamp=time + 6)
    topics = b"".join(from_hex(word(n)) for n in (1, 2, 3))
    ledger.mine(
        [signed(nonce=1, to=LOGGER, data=topics), signed(nonce=2, to=INVALID)], timestamp=time + 99
    )
    ledger.set_balance(ECHO, 5)
    ledger.mine([signed(nonce=3)], timestamp=time + 100)
    return ledger


@pytest.fixture
def busy() -> ChainLedger:
    return busy_ledger()


def pyevm_header(block: MinedBlock) -> PragueBlockHeader:
    header = block.header
    receipts = [
        PragueReceiptBuilder.typed_receipt_class(
            receipt.transaction_type,
            RlpReceipt(
                state_root=b"\x01" if receipt.success else b"",
                gas_used=receipt.cumulative_gas_used,
                logs=[
                    RlpLog(
                        from_hex(log.address),
                        tuple(int(topic, 16) for topic in log.topics),
                        log.data,
                    )
                    for log in receipt.logs
                ],
            ),
        )
        for receipt in block.receipts
    ]
    transactions = [PragueTransactionBuilder.decode(raw) for raw in block.transactions]
    bloom = 0
    for receipt in receipts:
        bloom |= receipt.bloom
    return PragueBlockHeader(
        difficulty=0,
        block_number=BlockNumber(header.number),
        gas_limit=header.gas_limit,
        gas_used=header.gas_used,
        timestamp=header.timestamp,
        parent_hash=Hash32(from_hex(header.parent_hash)),
        state_root=Hash32(from_hex(header.state_root)),
        transaction_root=make_trie_root_and_nodes(transactions)[0],
        receipt_root=make_trie_root_and_nodes(receipts)[0],
        bloom=bloom,
        nonce=bytes(8),
        base_fee_per_gas=header.base_fee_per_gas,
    )


def test_blocks_hash_and_weigh_what_pyevm_says(busy: ChainLedger) -> None:
    for number in range(1, busy.head.number + 1):
        block = busy.block(number)
        header = pyevm_header(block)
        assert header.hash == from_hex(block.header.hash)
        transactions = [PragueTransactionBuilder.decode(raw) for raw in block.transactions]
        whole = PragueBlock(header, transactions, [], [])
        encoded = rlp_encode(whole)  # type: ignore[no-untyped-call]
        assert len(encoded) == block_size(block)


def test_a_saved_chain_is_the_same_chain(busy: ChainLedger, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "world.chain"
    busy.save(path)
    loaded = ChainLedger.load(path)
    assert loaded.head == busy.head
    assert loaded.logs(EVERYTHING) == busy.logs(EVERYTHING) != []
    assert loaded.root() == busy.root()
    for number in range(busy.head.number + 1):
        assert loaded.block(number) == busy.block(number)
        assert loaded.state(number).storage(COUNTER, 0) == busy.state(number).storage(COUNTER, 0)
    again = tmp_path / "again.chain"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["again.chain", "deep"]
    later = busy.head.timestamp + 1
    assert loaded.mine([signed(nonce=4)], timestamp=later) == busy.mine(
        [signed(nonce=4)], timestamp=later
    )
    assert loaded.head.hash == busy.head.hash


def test_an_irregular_change_survives_saving(busy: ChainLedger, tmp_path: Path) -> None:
    busy.set_balance(ECHO, 77)
    busy.save(tmp_path / "world.chain")
    assert ChainLedger.load(tmp_path / "world.chain").state().balance(ECHO) == 77


def test_a_damaged_file_is_refused(busy: ChainLedger, tmp_path: Path) -> None:
    path = tmp_path / "world.chain"
    busy.save(path)
    whole = path.read_bytes()
    for damaged, words in (
        (whole[:-1], "damaged"),
        (whole[:200] + bytes([whole[200] ^ 1]) + whole[201:], "damaged"),
        (b"", "another version"),
        (b"\x80\x04pickle", "another version"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ArchiveError, match=words):
            ChainLedger.load(path)


HASHES = """
from tests.chain.devnet.node.kit import COUNTER, new_ledger, signed
from chain.devnet.node.node import Node
node = Node(new_ledger())
for nonce in range(4):
    node.send(signed(nonce=nonce).raw)
    node.mine()
print([node.ledger.block(number).header.hash for number in range(9)])
"""


def test_two_processes_make_the_same_chain() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", HASHES],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count("0x") == 9


def test_serving_imports_no_client_library() -> None:
    listing = "import chain.devnet.node.server, sys; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "eth" in modules
    assert not {"web3", "eth_account", "aiohttp", "httpx2", "eth_abi", "textual"} & set(modules)


def test_a_warm_state_answers_like_a_fresh_one(busy: ChainLedger) -> None:
    messages = [
        Message(to=COUNTER),
        Message(to=STORE, data=from_hex(word(1) + word(5)[2:])),
        Message(to=INVALID, gas=50_000),
        Message(to=RECURSE, gas=300_000),
        Message(to=None, data=bytes.fromhex("5f5ff3")),
        Message(to=COUNTER, sender=ALICE, value=5, max_fee_per_gas=10**9, gas=90_000),
    ]
    for at in (None, 1, 3):
        warm = busy.fork(at)
        for message in messages * 2:
            assert warm.call(message) == busy.call(message, at) == busy.fork(at).call(message)


def test_a_call_is_run_once_on_a_state_and_again_when_the_state_changed(
    busy: ChainLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    run = BlockState.call

    def counted(state: BlockState, message: Message, *, time_limit: float | None = None) -> Outcome:
        ran.append(message)
        return run(state, message, time_limit=time_limit)

    monkeypatch.setattr(BlockState, "call", counted)
    counter = Message(to=COUNTER)
    for message in (counter, counter, Message(to=COUNTER, gas=90_000), counter):
        busy.call(message)
    assert len(ran) == 2
    busy.set_storage(COUNTER, 0, 40)
    assert busy.call(counter).output == from_hex(word(41))
    assert len(ran) == 3
    busy.mine(timestamp=busy.head.timestamp + 1)
    busy.call(counter)
    assert len(ran) == 4


def test_what_is_remembered_of_calls_has_a_size() -> None:
    outcome = Outcome(True, bytes(5_000), 21_000, 0, (), None, None)
    memory = CallMemory(most_bytes=20_000)
    keys = [("0xaa", bytes(32), Message(to=ECHO, value=number)) for number in range(10)]
    for key in keys:
        memory.keep(key, outcome)
        memory.get(keys[0])
    assert len(memory) == 3
    assert memory.get(keys[0]) == outcome
    assert memory.get(keys[1]) is None


def test_a_refused_transaction_leaves_the_block_as_it_was(busy: ChainLedger) -> None:
    opened = busy.open_block(timestamp=busy.head.timestamp + 1)
    for bad in (signed(nonce=9), signed(nonce=4, fee=1, tip=1), signed(nonce=3)):
        with pytest.raises(TransactionRefusedError):
            opened.add(bad)
    opened.add(signed(nonce=4))
    undisturbed = busy_ledger()
    undisturbed.mine([signed(nonce=4)], timestamp=busy.head.timestamp + 1)
    assert busy.commit(opened).header == undisturbed.head


def test_mining_is_all_or_nothing(busy: ChainLedger) -> None:
    before = busy.head
    with pytest.raises(TransactionRefusedError, match="nonce too high"):
        busy.mine([signed(nonce=4), signed(nonce=6)], timestamp=before.timestamp + 1)
    with pytest.raises(TransactionRefusedError, match="must be later"):
        busy.mine(timestamp=before.timestamp)
    assert busy.head == before


def test_a_block_opened_on_a_lost_head_cannot_be_committed(busy: ChainLedger) -> None:
    opened = busy.open_block(timestamp=busy.head.timestamp + 1)
    busy.rewind(2)
    with pytest.raises(UnknownBlockError):
        busy.commit(opened)
    with pytest.raises(UnknownBlockError):
        busy.block(3)


@NESTS_DEEP
def test_a_call_nests_1024_deep() -> None:
    ledger = new_ledger()
    counts_its_frames = bytes.fromhex("5f54600101805f55505f5f5f5f5f305af1505f545f5260205ff3")
    ledger.change({ECHO: Override(code=counts_its_frames)})
    outcome = ledger.call(Message(to=ECHO, gas=10**15))
    assert int.from_bytes(outcome.output, "big") == 1025


def test_the_base_fee_follows_eip1559_above_its_floor() -> None:
    ledger = new_ledger()
    fees = []
    for nonce in range(3):
        full = signed(nonce=nonce, to=INVALID, gas=30_000_000)
        ledger.mine([full], timestamp=ledger.head.timestamp + 1)
        fees.append(next_base_fee(ledger.head))
    assert fees == [1_125_000_000, 1_265_625_000, 1_423_828_125]
    for _ in range(20):
        ledger.mine(timestamp=ledger.head.timestamp + 1)
    assert next_base_fee(ledger.head) == BASE_FEE_FLOOR


def test_a_clock_can_be_plugged_in() -> None:
    node = Node(new_ledger(), block_time=lambda head: head + 600)
    node.mine()
    node.increase_time(1)
    node.mine()
    start = node.ledger.block(0).header.timestamp
    assert node.ledger.head.timestamp == start + 1201
    stalled = Node(new_ledger(), block_time=lambda head: head - 50)
    stalled.mine()
    assert stalled.ledger.head.timestamp == start + 1


def test_given_transactions_come_before_waiting_ones() -> None:
    node = Node(new_ledger(), automine=False)
    node.send(signed(nonce=0).raw)
    given = signed(BOB_KEY, nonce=0, tip=1)
    block = node.mine(transactions=[given])
    assert [receipt.transaction_hash for receipt in block.receipts] == [
        given.hash,
        signed(nonce=0).hash,
    ]


def test_a_fault_inside_the_evm_costs_one_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(new_ledger(), automine=False)
    poison, good = signed(nonce=0, tip=500), signed(BOB_KEY, nonce=0)
    node.send(poison.raw)
    node.send(good.raw)
    include = BlockState.include

    def faulty(state: BlockState, transaction: NodeTransaction) -> Outcome:
        outcome = include(state, transaction)
        if transaction.hash == poison.hash:
            raise RuntimeError
        return outcome

    monkeypatch.setattr(BlockState, "include", faulty)
    block = node.mine()
    assert [receipt.transaction_hash for receipt in block.receipts] == [good.hash]
    assert node.pool.get(poison.hash) is None
    assert node.ledger.state().nonce(ALICE) == 0
