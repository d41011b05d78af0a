"""Filling a block on top of the head, and sealing it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA256, EMPTY_UNCLE_HASH
from eth_bloom.bloom import BloomFilter
from msgspec import Struct
from msgspec.structs import replace
from rlp.codec import encode_raw
from trie.hexary import HexaryTrie

from chain.contracts.keccak import keccak
from chain.devnet.node.records import Header, MinedBlock, MinedLog, MinedReceipt, from_hex, to_hex
from chain.devnet.node.transactions import TransactionRefusedError, refuse_unminable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chain.devnet.node.execution import BlockState
    from chain.devnet.node.messages import EmittedLog, Outcome
    from chain.devnet.node.transactions import NodeTransaction

Rlp = bytes | Sequence["Rlp"]

LIST_PREFIX = 0xC0
LIST_SHORT = 56


class MinedTransaction(Struct, frozen=True):
    transaction: NodeTransaction
    outcome: Outcome
    cumulative_gas_used: int


class OpenBlock:
    """A block under construction: transactions run as they are added."""

    def __init__(self, parent_hash: str, state: BlockState) -> None:
        self.parent_hash = parent_hash
        self.state = state
        self.inclusions: list[MinedTransaction] = []

    @property
    def gas_used(self) -> int:
        return self.inclusions[-1].cumulative_gas_used if self.inclusions else 0

    @property
    def gas_left(self) -> int:
        return self.state.environment.gas_limit - self.gas_used

    @property
    def base_fee(self) -> int:
        return self.state.environment.base_fee_per_gas

    def add(self, transaction: NodeTransaction) -> Outcome:
        """Run a transaction; a refused one leaves the block as it was."""
        self._refuse(transaction)
        outcome = self.state.include(transaction)
        self.record(transaction, outcome)
        return outcome

    def record(self, transaction: NodeTransaction, outcome: Outcome) -> None:
        """Count a transaction in that has already run on this block's state."""
        cumulative = self.gas_used + outcome.gas_used
        self.inclusions.append(MinedTransaction(transaction, outcome, cumulative))

    def seal(self, state_root: bytes) -> MinedBlock:
        blooms = [bloom_of(inclusion.outcome.logs) for inclusion in self.inclusions]
        receipts = [
            encode_receipt(inclusion, bloom)
            for inclusion, bloom in zip(self.inclusions, blooms, strict=True)
        ]
        environment = self.state.environment
        header = sealed_header(
            number=environment.number,
            parent_hash=self.parent_hash,
            timestamp=environment.timestamp,
            state_root=to_hex(state_root),
            transactions_root=_list_root([item.transaction.raw for item in self.inclusions]),
            receipts_root=_list_root(receipts),
            logs_bloom=reduce(or_, blooms, 0),
            gas_used=self.gas_used,
            gas_limit=environment.gas_limit,
            base_fee_per_gas=environment.base_fee_per_gas,
        )
        return MinedBlock(
            header=header,
            transactions=tuple(item.transaction.raw for item in self.inclusions),
            receipts=self._receipts(header),
        )

    def _receipts(self, header: Header) -> tuple[MinedReceipt, ...]:
        receipts: list[MinedReceipt] = []
        logs_before = 0
        for index, inclusion in enumerate(self.inclusions):
            transaction, outcome = inclusion.transaction, inclusion.outcome
            logs = tuple(
                MinedLog(
                    address=log.address,
                    topics=log.topics,
                    data=log.data,
                    block_number=header.number,
                    block_hash=header.hash,
                    transaction_hash=transaction.hash,
                    transaction_index=index,
                    log_index=log_index,
                )
                for log_index, log in enumerate(outcome.logs, start=logs_before)
            )
            logs_before += len(logs)
            receipts.append(
                MinedReceipt(
                    transaction_hash=transaction.hash,
                    transaction_index=index,
                    transaction_type=transaction.kind,
                    block_number=header.number,
                    block_hash=header.hash,
                    sender=transaction.sender,
                    to=transaction.to,
                    contract_address=outcome.created,
                    success=outcome.success,
                    gas_used=outcome.gas_used,
                    cumulative_gas_used=inclusion.cumulative_gas_used,
                    effective_gas_price=transaction.gas_price(header.base_fee_per_gas),
                    logs=logs,
                    output=outcome.output,
                )
            )
        return tuple(receipts)

    def _refuse(self, transaction: NodeTransaction) -> None:
        refuse_unminable(transaction, self.state.environment)
        if transaction.gas > self.gas_left:
            raise TransactionRefusedError("gas limit reached")
        if transaction.max_fee_per_gas < self.base_fee:
            raise TransactionRefusedError(
                f"max fee per gas less than block base fee: address {transaction.sender}, "
                f"maxFeePerGas: {transaction.max_fee_per_gas}, "
                f"baseFee: {self.base_fee}"
            )
        expected = self.state.nonce(transaction.sender)
        if transaction.nonce != expected:
            fault = "low" if transaction.nonce < expected else "high"
            raise TransactionRefusedError(
                f"nonce too {fault}: address {transaction.sender}, "
                f"tx: {transaction.nonce} state: {expected}"
            )
        balance = self.state.balance(transaction.sender)
        if balance < transaction.cost:
            raise TransactionRefusedError(
                "insufficient funds for gas * price + value: "
                f"address {transaction.sender} have {balance} want {transaction.cost}"
            )


def sealed_header(
    *,
    number: int,
    parent_hash: str,
    timestamp: int,
    state_root: str,
    transactions_root: str,
    receipts_root: str,
    logs_bloom: int,
    gas_used: int,
    gas_limit: int,
    base_fee_per_gas: int,
) -> Header:
    """A Prague header with its hash; what nobody mined or voted on is zero: equal blocks match."""
    header = Header(
        number=number,
        hash="",
        parent_hash=parent_hash,
        timestamp=timestamp,
        state_root=state_root,
        transactions_root=transactions_root,
        receipts_root=receipts_root,
        logs_bloom=logs_bloom,
        gas_used=gas_used,
        gas_limit=gas_limit,
        base_fee_per_gas=base_fee_per_gas,
    )
    return replace(header, hash=to_hex(keccak(encode_header(header))))


def encode_header(header: Header) -> bytes:
    return encode_rlp(
        (
            from_hex(header.parent_hash),
            EMPTY_UNCLE_HASH,
            bytes(20),  # fee recipient
            from_hex(header.state_root),
            from_hex(header.transactions_root),
            from_hex(header.receipts_root),
            header.logs_bloom.to_bytes(256, "big"),
            b"",  # difficulty
            integer(header.number),
            integer(header.gas_limit),
            integer(header.gas_used),
            integer(header.timestamp),
            b"",  # extra data
            bytes(32),  # prev randao
            bytes(8),  # nonce
            integer(header.base_fee_per_gas),
            BLANK_ROOT_HASH,  # withdrawals
            b"",  # blob gas used
            b"",  # excess blob gas
            bytes(32),  # parent beacon block root
            EMPTY_SHA256,  # requests
        )
    )


def block_size(block: MinedBlock) -> int:
    """The length of the block's RLP: header, transactions, no uncles, no withdrawals."""
    transactions = sum(
        len(raw) if raw[0] >= LIST_PREFIX else len(encode_rlp(raw)) for raw in block.transactions
    )
    body = len(encode_header(block.header)) + _list_length(transactions) + 2 * _list_length(0)
    return _list_length(body)


def encode_rlp(value: Rlp) -> bytes:
    return bytes(encode_raw(value))  # type: ignore[no-untyped-call]


def integer(value: int) -> bytes:
    """RLP writes integers big-endian in as few bytes as they need, zero in none."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def encode_receipt(inclusion: MinedTransaction, bloom: int) -> bytes:
    outcome = inclusion.outcome
    logs: list[Rlp] = [
        [from_hex(log.address), [from_hex(topic) for topic in log.topics], log.data]
        for log in outcome.logs
    ]
    body = encode_rlp(
        [
            integer(outcome.success),
            integer(inclusion.cumulative_gas_used),
            bloom.to_bytes(256, "big"),
            logs,
        ]
    )
    kind = inclusion.transaction.kind
    return bytes([kind]) + body if kind else body


def bloom_of(logs: Iterable[MinedLog | EmittedLog]) -> int:
    bloom = BloomFilter()
    for log in logs:
        bloom.add(from_hex(log.address))
        for topic in log.topics:
            bloom.add(from_hex(topic))
    return int(bloom)


def _list_length(payload: int) -> int:
    """RLP writes short lengths into one byte and longer ones behind it."""
    return payload + (1 if payload < LIST_SHORT else 1 + (payload.bit_length() + 7) // 8)


def _list_root(items: Sequence[bytes]) -> str:
    trie = HexaryTrie({}, BLANK_ROOT_HASH)
    with trie.squash_changes() as squashed:
        for index, item in enumerate(items):
            squashed[encode_rlp(integer(index))] = item
    return to_hex(trie.root_hash)
