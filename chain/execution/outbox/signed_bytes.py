"""Whether kept bytes are the transaction they are kept as, signed by its own sender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.errors import Failure
from chain.contracts.keccak import keccak
from chain.contracts.public_keys import recovered_address
from chain.execution.outbox.journal import OutboxError

if TYPE_CHECKING:
    from chain.execution.transaction import SignedTransaction, UnsignedTransaction

_DYNAMIC_FEE = 2
_UNSIGNED_FIELDS = 9


class ChangedBytesError(OutboxError):
    """Signed bytes that are not what the journal keeps them as."""

    failure = Failure.REFUSED


def check_signed_bytes(signed: SignedTransaction) -> None:
    """Refuse to send anything but this very transaction: the journal lies on a disk."""
    try:
        intact = _is_of(signed)
    except Exception as error:
        raise _changed(signed.unsigned) from error
    if not intact:
        raise _changed(signed.unsigned)


def _is_of(signed: SignedTransaction) -> bool:
    from rlp.codec import decode, encode_raw

    raw, transaction = signed.raw, signed.unsigned
    if raw[0] != _DYNAMIC_FEE or "0x" + keccak(raw).hex() != signed.hash:
        return False
    fields = decode(raw[1:])  # type: ignore[no-untyped-call]
    unsigned, (parity, r, s) = fields[:_UNSIGNED_FIELDS], fields[_UNSIGNED_FIELDS:]
    if list(unsigned) != _fields(transaction):
        return False
    encoded = bytes(encode_raw(_fields(transaction)))  # type: ignore[no-untyped-call]
    digest = keccak(bytes([_DYNAMIC_FEE]) + encoded)
    signer = recovered_address(digest, parity=_number(parity), r=_number(r), s=_number(s))
    return signer == transaction.sender


def _fields(transaction: UnsignedTransaction) -> list[object]:
    return [
        _quantity(transaction.chain_id),
        _quantity(transaction.nonce),
        _quantity(transaction.max_priority_fee_per_gas),
        _quantity(transaction.max_fee_per_gas),
        _quantity(transaction.gas),
        bytes.fromhex(transaction.to.removeprefix("0x")),
        _quantity(transaction.value),
        transaction.data,
        [],
    ]


def _quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _changed(transaction: UnsignedTransaction) -> ChangedBytesError:
    return ChangedBytesError(
        f"What is kept as the signed bytes of {transaction.step} is not that transaction: "
        "something changed it on disk. It was not sent.",
        "See where things stand: zuno outbox",
    )
