"""What a node knows, as frozen records: numbers are integers, bytes are bytes, hashes are hex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from chain.networks import Address

Hash: TypeAlias = str
"""32 bytes as lower-case `0x` hex."""

BlockTag = Literal["latest", "safe", "finalized", "earliest", "pending"]
BLOCK_TAGS: frozenset[str] = frozenset(("latest", "safe", "finalized", "earliest", "pending"))

BlockRef: TypeAlias = int | str
"""A block's number, a tag, or its hash."""

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"


@dataclass(frozen=True, slots=True)
class Block:
    number: int
    hash: Hash
    parent_hash: Hash
    timestamp: int
    base_fee_per_gas: int | None
    gas_used: int
    gas_limit: int


@dataclass(frozen=True, slots=True)
class Log:
    address: Address
    topics: tuple[Hash, ...]
    data: bytes
    block_number: int
    block_hash: Hash
    transaction_hash: Hash
    transaction_index: int
    log_index: int
    removed: bool


@dataclass(frozen=True, slots=True)
class LogFilter:
    address: tuple[Address, ...] | Address
    topics: tuple[Hash | tuple[Hash, ...] | None, ...]
    from_block: int | str
    to_block: int | str

    @property
    def addresses(self) -> tuple[Address, ...]:
        given = (self.address,) if isinstance(self.address, str) else self.address
        return tuple(address.lower() for address in given)


@dataclass(frozen=True, slots=True)
class Receipt:
    transaction_hash: Hash
    transaction_index: int
    block_number: int
    block_hash: Hash
    sender: Address
    to: Address | None
    contract_address: Address | None
    succeeded: bool
    gas_used: int
    cumulative_gas_used: int
    effective_gas_price: int
    l1_fee: int | None
    """What an OP-stack network charged for the data on its parent chain; elsewhere unknown."""
    logs: tuple[Log, ...]


@dataclass(frozen=True, slots=True)
class Transaction:
    hash: Hash
    nonce: int
    sender: Address
    to: Address | None
    value: int
    data: bytes
    gas: int
    gas_price: int | None
    max_fee_per_gas: int | None
    max_priority_fee_per_gas: int | None
    block_number: int | None
    block_hash: Hash | None
    transaction_index: int | None


@dataclass(frozen=True, slots=True)
class FeeHistory:
    oldest_block: int
    base_fees: tuple[int, ...]
    """One for each block and one more: the fee the next block must have."""
    gas_used_ratios: tuple[float, ...]
    rewards: tuple[tuple[int, ...], ...]
    """For each block the priority fees at the percentiles asked for."""


@dataclass(frozen=True, slots=True)
class AccountOverride:
    """What an account is pretended to be during one call."""

    balance: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    storage: Mapping[Hash, Hash] = field(default_factory=dict)
    """Only these slots differ; the others keep their values."""


StateOverride: TypeAlias = Mapping[Address, AccountOverride]
