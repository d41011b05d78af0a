"""The only place that signs: one key, one chain, and a second look at every result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from chain.base.recursion_limit import kept_recursion_limit
from chain.contracts.addresses import keccak, recovered_address
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.wallet.demo import refuse_demo_elsewhere
from chain.wallet.errors import WalletError, WalletRefusedError, discreetly
from chain.wallet.private_files import guard_process
from chain.wallet.secrets import CURVE_ORDER, PrivateKey

if TYPE_CHECKING:
    from chain.contracts.networks import Address

_DYNAMIC_FEE = 2
_ADDRESS = re.compile(r"0x[0-9a-f]{40}")


class _Signature(NamedTuple):
    raw: bytes
    parity: int
    r: int
    s: int


class Signer:
    """Holds a key for as long as its `with` block lasts, and signs for its chain alone."""

    __slots__ = ("_chain_id", "_key", "address")

    def __init__(self, key: PrivateKey, chain_id: int) -> None:
        refuse_demo_elsewhere(key.address, chain_id)
        guard_process()
        self.address: Address = key.address
        self._key = key
        self._chain_id = chain_id

    def sign(self, transaction: UnsignedTransaction) -> SignedTransaction:
        if transaction.chain_id != self._chain_id:
            raise WalletRefusedError(
                f"The transaction is for chain {transaction.chain_id}, but this wallet was opened "
                f"for chain {self._chain_id}. Nothing was signed."
            )
        if transaction.sender != self.address:
            raise WalletRefusedError(
                f"The transaction is from {transaction.sender}, but the key is that of "
                f"{self.address}. Nothing was signed."
            )
        if not _possible(transaction):
            raise WalletRefusedError("No chain can hold this transaction. Nothing was signed.")
        signature = discreetly(
            lambda: _signature(transaction, self._key),
            lambda kind: WalletError(f"The transaction could not be signed ({kind})."),
        )
        if not discreetly(lambda: _is_of(signature, transaction), _unreadable):
            raise WalletError(
                "The signed bytes are not the transaction that was to be signed. They were dropped."
            )
        return SignedTransaction(transaction, signature.raw, "0x" + keccak(signature.raw).hex())

    def close(self) -> None:
        self._key.wipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Signer({self.address} on chain {self._chain_id})"


def _possible(transaction: UnsignedTransaction) -> bool:
    """Within the widths of the fields, which the signing library does not check."""
    return (
        0 <= transaction.value < 2**256
        and 0 <= transaction.gas < 2**64
        and 0 <= transaction.nonce < 2**64 - 1
        and 0 <= transaction.max_priority_fee_per_gas <= transaction.max_fee_per_gas < 2**256
        and _ADDRESS.fullmatch(transaction.to) is not None
    )


def _signature(transaction: UnsignedTransaction, key: PrivateKey) -> _Signature:
    with kept_recursion_limit():
        from eth_account import Account

    signed = Account.sign_transaction(
        {
            "type": _DYNAMIC_FEE,
            "chainId": transaction.chain_id,
            "nonce": transaction.nonce,
            "maxPriorityFeePerGas": transaction.max_priority_fee_per_gas,
            "maxFeePerGas": transaction.max_fee_per_gas,
            "gas": transaction.gas,
            "to": bytes.fromhex(transaction.to.removeprefix("0x")),
            "value": transaction.value,
            "data": transaction.data,
        },
        key.reveal(),
    )
    return _Signature(bytes(signed.raw_transaction), signed.v, signed.r, signed.s)


def _is_of(signature: _Signature, transaction: UnsignedTransaction) -> bool:
    """Whether these are EIP-1559's bytes of exactly this transaction, signed by its sender.

    The bytes are built a second time and the sender recovered, without the library that signed.
    """
    fields = [
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
    parity, r, s = signature.parity, signature.r, signature.s
    if signature.raw != _typed([*fields, _quantity(parity), _quantity(r), _quantity(s)]):
        return False
    if s > CURVE_ORDER // 2:
        return False
    digest = keccak(_typed(fields))
    return recovered_address(digest, parity=parity, r=r, s=s) == transaction.sender


def _typed(fields: Sequence[object]) -> bytes:
    from rlp.codec import encode_raw

    return bytes([_DYNAMIC_FEE]) + bytes(encode_raw(fields))  # type: ignore[no-untyped-call]


def _quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _unreadable(kind: str) -> WalletError:
    return WalletError(f"The signed bytes could not be read back ({kind}). They were dropped.")
