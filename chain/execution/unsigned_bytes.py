"""An unsigned transaction as the bytes that EIP-1559 has signed: what a parent chain must store."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from chain.abi import address_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.execution.transaction import UnsignedTransaction

Item: TypeAlias = "bytes | Sequence[Item]"

_DYNAMIC_FEE = b"\x02"
_SHORT = 55


def unsigned_bytes(transaction: UnsignedTransaction) -> bytes:
    """The type and the RLP of every field, with an empty access list."""
    return _DYNAMIC_FEE + _encoded(
        [
            _quantity(transaction.chain_id),
            _quantity(transaction.nonce),
            _quantity(transaction.max_priority_fee_per_gas),
            _quantity(transaction.max_fee_per_gas),
            _quantity(transaction.gas),
            address_bytes(transaction.to),
            _quantity(transaction.value),
            transaction.data,
            [],
        ]
    )


def _encoded(item: Item) -> bytes:
    if not isinstance(item, bytes):
        return _prefixed(b"".join(map(_encoded, item)), 0xC0)
    if len(item) == 1 and item[0] < 0x80:
        return item
    return _prefixed(item, 0x80)


def _prefixed(body: bytes, base: int) -> bytes:
    if len(body) <= _SHORT:
        return bytes([base + len(body)]) + body
    length = _quantity(len(body))
    return bytes([base + _SHORT + len(length)]) + length + body


def _quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")
