"""What the embedded chain remembers: headers, blocks, receipts and logs, as frozen records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address

CHAIN_ID = 31337

ZERO_HASH = "0x" + "00" * 32


def to_hex(data: bytes) -> str:
    return "0x" + data.hex()


def from_hex(text: str) -> bytes:
    return bytes.fromhex(text[2:])


class GenesisAccount(Struct, frozen=True):
    balance: int = 0
    nonce: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)


class Header(Struct, frozen=True):
    number: int
    hash: str
    parent_hash: str
    timestamp: int
    state_root: str
    transactions_root: str
    receipts_root: str
    logs_bloom: int
    gas_used: int
    gas_limit: int
    base_fee_per_gas: int


class MinedLog(Struct, frozen=True):
    address: Address
    topics: tuple[str, ...]
    data: bytes
    block_number: int
    block_hash: str
    transaction_hash: str
    transaction_index: int
    log_index: int
    """Counted through the whole block, not through the transaction."""


class MinedReceipt(Struct, frozen=True):
    transaction_hash: str
    transaction_index: int
    transaction_type: int
    block_number: int
    block_hash: str
    sender: Address
    to: Address | None
    contract_address: Address | None
    success: bool
    gas_used: int
    cumulative_gas_used: int
    effective_gas_price: int
    logs: tuple[MinedLog, ...]
    output: bytes
    """What the transaction returned, or its revert data."""


class MinedBlock(Struct, frozen=True):
    header: Header
    transactions: tuple[bytes, ...]
    """The signed transactions as they were sent."""
    receipts: tuple[MinedReceipt, ...]
