"""The only place that signs: one key, one chain, and a second look at every result."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Self

from chain.base.recursion_limit import kept_recursion_limit
from chain.contracts.addresses import keccak, recovered_address
from chain.contracts.delegation import NOBODY
from chain.contracts.networks import EMBEDDED, Address, Network, all_networks, network_named
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.standing_orders.call import OrderRefusedError, read_call
from chain.wallet.demo import refuse_demo_elsewhere
from chain.wallet.errors import WalletError, WalletRefusedError, discreetly
from chain.wallet.secrets import CURVE_ORDER, PrivateKey, guard_process

_DYNAMIC_FEE = 2
_SET_CODE = 4
_AUTHORIZING = 5
"""The byte before what is signed to lend an account to a contract's code."""
_PARITY = 27
"""Added to the parity in the last byte of a signature."""
_ADDRESS = re.compile(r"0x[0-9a-f]{40}")


class _Point(NamedTuple):
    parity: int
    r: int
    s: int


class _Signature(NamedTuple):
    raw: bytes
    point: _Point
    lending: _Point | None = None
    """Of the authorization, where there is one."""


class Signer:
    """Holds a key for as long as its `with` block lasts, and signs for its chain alone."""

    __slots__ = ("_chain_id", "_delegates", "_key", "address")

    def __init__(self, key: PrivateKey, chain_id: int) -> None:
        refuse_demo_elsewhere(key.address, chain_id)
        guard_process()
        self.address: Address = key.address
        self._key = key
        self._chain_id = chain_id
        self._delegates = _delegates_on(chain_id)

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
        if transaction.authorization is not None:
            _refuse_odd_authorization(transaction, self._delegates)
        signature = discreetly(
            lambda: _signature(transaction, self._key),
            lambda kind: WalletError(f"The transaction could not be signed ({kind})."),
        )
        if not discreetly(lambda: _is_of(signature, transaction), _unreadable):
            raise WalletError(
                "The signed bytes are not the transaction that was to be signed. They were dropped."
            )
        return SignedTransaction(transaction, signature.raw, "0x" + keccak(signature.raw).hex())

    def sign_delegation(self, delegation: SignedDelegation) -> SignedDelegation:
        """Let another key make the one call that the caveats name; nothing is sent by this."""
        _refuse_odd_delegation(delegation, self.address, self._chain_id)
        digest = delegation.digest(self._chain_id)
        point = discreetly(
            lambda: _signed_digest(digest, self._key),
            lambda kind: WalletError(f"The order could not be signed ({kind})."),
        )
        if not _signs(point, digest, self.address):
            raise WalletError("The signature is not of what was to be signed. It was dropped.")
        words = point.r.to_bytes(32, "big") + point.s.to_bytes(32, "big")
        return delegation._replace(signature=words + bytes([_PARITY + point.parity]))

    def close(self) -> None:
        self._key.wipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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


def _delegates_on(chain_id: int) -> frozenset[Address]:
    """Nobody, and the code that is known there."""
    delegate = _network_on(chain_id).contracts.delegate
    return frozenset({NOBODY} if delegate is None else {NOBODY, delegate})


def _network_on(chain_id: int) -> Network:
    """An embedded chain may have any id that is no other network's."""
    known = {network.chain_id: network for network in all_networks()}
    return known.get(chain_id, network_named(EMBEDDED))


def _refuse_odd_authorization(
    transaction: UnsignedTransaction, delegates: frozenset[Address]
) -> None:
    """An account is lent on one chain, to known code, by a transaction that does nothing else."""
    given = transaction.authorization
    assert given is not None
    if (
        given.chain_id != transaction.chain_id
        or given.chain_id == 0
        or given.nonce != transaction.nonce + 1
        or given.delegate not in delegates
        or (transaction.to, transaction.value, transaction.data) != (transaction.sender, 0, b"")
    ):
        raise WalletRefusedError(
            "An account is delegated only to known code, on one chain, by a transaction that does "
            "nothing else; this is something else. Nothing was signed."
        )


def _refuse_odd_delegation(delegation: SignedDelegation, own: Address, chain_id: int) -> None:
    """To one other key, for one close or collect to the own wallet, until a date: read from it."""
    odd = (
        delegation.delegator != own
        or _ADDRESS.fullmatch(delegation.delegate) is None
        or delegation.signature
        or not 0 <= delegation.salt < 2**256
    )
    try:
        read_call(delegation, _network_on(chain_id))
    except OrderRefusedError as error:
        raise WalletRefusedError(f"{error} Nothing was signed.") from None
    if odd:
        raise WalletRefusedError(
            "An order lets one other key make one call to Uniswap's PositionManager, until a date; "
            "this is something else. Nothing was signed."
        )


def _signed_digest(digest: bytes, key: PrivateKey) -> _Point:
    with kept_recursion_limit():
        from eth_account import Account

    signed = Account.unsafe_sign_hash(digest, key.reveal())
    return _Point(signed.v - _PARITY, signed.r, signed.s)


def _signature(transaction: UnsignedTransaction, key: PrivateKey) -> _Signature:
    with kept_recursion_limit():
        from eth_account import Account

    given, lending = transaction.authorization, None
    fields: dict[str, object] = {
        "type": _DYNAMIC_FEE if given is None else _SET_CODE,
        "chainId": transaction.chain_id,
        "nonce": transaction.nonce,
        "maxPriorityFeePerGas": transaction.max_priority_fee_per_gas,
        "maxFeePerGas": transaction.max_fee_per_gas,
        "gas": transaction.gas,
        "to": bytes.fromhex(transaction.to.removeprefix("0x")),
        "value": transaction.value,
        "data": transaction.data,
    }
    if given is not None:
        leave = Account.sign_authorization(
            {
                "chainId": given.chain_id,
                "address": bytes.fromhex(given.delegate.removeprefix("0x")),
                "nonce": given.nonce,
            },
            key.reveal(),
        )
        lending = _Point(leave.y_parity, leave.r, leave.s)
        fields["authorizationList"] = [leave]
    signed = Account.sign_transaction(fields, key.reveal())
    point = _Point(signed.v, signed.r, signed.s)
    return _Signature(bytes(signed.raw_transaction), point, lending)


def _is_of(signature: _Signature, transaction: UnsignedTransaction) -> bool:
    """Whether these are the bytes of exactly this transaction, signed by its sender.

    The bytes are built a second time and the signers recovered, without the library that signed.
    """
    kind = _DYNAMIC_FEE if transaction.authorization is None else _SET_CODE
    fields: list[object] = [
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
    if (given := transaction.authorization) is not None:
        leave = [
            _quantity(given.chain_id),
            bytes.fromhex(given.delegate.removeprefix("0x")),
            _quantity(given.nonce),
        ]
        lending = signature.lending
        if lending is None or not _signs(
            lending, keccak(_typed(_AUTHORIZING, leave)), transaction.sender
        ):
            return False
        fields.append([[*leave, *map(_quantity, lending)]])
    whole = _typed(kind, [*fields, *map(_quantity, signature.point)])
    return signature.raw == whole and _signs(
        signature.point, keccak(_typed(kind, fields)), transaction.sender
    )


def _signs(point: _Point, digest: bytes, sender: Address) -> bool:
    if point.s > CURVE_ORDER // 2:
        return False
    return recovered_address(digest, parity=point.parity, r=point.r, s=point.s) == sender


def _typed(kind: int, fields: Sequence[object]) -> bytes:
    from rlp.codec import encode_raw

    return bytes([kind]) + bytes(encode_raw(fields))  # type: ignore[no-untyped-call]


def _quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _unreadable(kind: str) -> WalletError:
    return WalletError(f"The signed bytes could not be read back ({kind}). They were dropped.")
