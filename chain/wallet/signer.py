"""The only place that signs: one key, one chain, and a second look at every result."""

import re
from typing import Self

from chain.contracts.addresses import keccak
from chain.contracts.delegation import NOBODY, delegates_on
from chain.contracts.networks import EMBEDDED, Address, Network, all_networks, network_named
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution.transaction import Authorization, SignedTransaction, UnsignedTransaction
from chain.standing_orders.call import OrderRefusedError, read_call
from chain.wallet.demo import refuse_demo_elsewhere
from chain.wallet.errors import WalletError, WalletRefusedError, discreetly
from chain.wallet.key_holder import (
    KeyHolder,
    Point,
    TypedData,
    authorization_digest,
    signed_bytes,
    unsigned_bytes,
)
from chain.wallet.typed_data import delegation_data

_ADDRESS = re.compile(r"0x[0-9a-f]{40}")


class Signer:
    """Holds a key for as long as its `with` block lasts, and signs for its chain alone."""

    __slots__ = ("_chain_id", "_delegates", "_holder", "_lender", "address")

    def __init__(self, holder: KeyHolder, chain_id: int, lender: KeyHolder | None = None) -> None:
        """`lender` signs for an account that is lent by a transaction of this one's."""
        for each in (holder, lender):
            if each is not None:
                refuse_demo_elsewhere(each.address, chain_id)
        self.address: Address = holder.address
        self._holder = holder
        self._lender = lender
        self._chain_id = chain_id
        self._delegates = frozenset(
            {NOBODY, *(each.address for each in delegates_on(_network_on(chain_id)))}
        )

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
        lending = self._lending(transaction.authorization)
        unsigned = unsigned_bytes(transaction, lending)
        point = self._holder.sign_transaction(transaction, unsigned, lending)
        self._refuse_other(point, keccak(unsigned), self.address)
        raw = signed_bytes(transaction, lending, point)
        return SignedTransaction(transaction, raw, "0x" + keccak(raw).hex())

    def _lending(self, authorization: Authorization | None) -> Point | None:
        if authorization is None:
            return None
        holder = self._lender if authorization.lender else self._holder
        if holder is None or authorization.lender not in ("", holder.address):
            raise WalletRefusedError(
                f"The account to delegate is {authorization.lender}, whose key is not the one that "
                "was opened. Nothing was signed."
            )
        lending = holder.sign_authorization(authorization)
        self._refuse_other(lending, authorization_digest(authorization), holder.address)
        return lending

    def _refuse_other(self, point: Point, digest: bytes, signer: Address) -> None:
        """Whoever holds the key: what it gives back is of what was asked, or dropped."""
        if not discreetly(lambda: point.signs(digest, signer), _unreadable):
            raise WalletError(
                "The signed bytes are not the transaction that was to be signed. They were dropped."
            )

    def sign_delegation(self, delegation: SignedDelegation) -> SignedDelegation:
        """Let another key make the one call that the caveats name; nothing is sent by this."""
        _refuse_odd_delegation(delegation, self.address, self._chain_id)
        signature = self.sign_typed_data(delegation_data(delegation, self._chain_id))
        return delegation._replace(signature=signature)

    def sign_typed_data(self, data: TypedData) -> bytes:
        """65 bytes, as contracts take a signature; who calls it has judged what it stands for."""
        point = self._holder.sign_typed_data(data)
        if not discreetly(lambda: point.signs(data.digest, self.address), _unreadable):
            raise WalletError("The signature is not of what was to be signed. It was dropped.")
        return point.to_bytes

    def close(self) -> None:
        self._holder.close()
        if self._lender is not None:
            self._lender.close()

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
        or (not given.lender and given.nonce != transaction.nonce + 1)
        or given.lender == transaction.sender
        or given.delegate not in delegates
        or (transaction.to, transaction.value, transaction.data) != (transaction.sender, 0, b"")
    ):
        raise WalletRefusedError(
            "An account is delegated only to known code, on one chain, by a transaction that does "
            "nothing else; this is something else. Nothing was signed."
        )


def _refuse_odd_delegation(delegation: SignedDelegation, own: Address, chain_id: int) -> None:
    """To one other key, for one call of an order to the own wallet, until a date: read from it."""
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


def _unreadable(kind: str) -> WalletError:
    return WalletError(f"The signed bytes could not be read back ({kind}). They were dropped.")
