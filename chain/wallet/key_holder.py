"""Who holds a key: this process, a device, another program. `Signer` checks what it gives back."""

from typing import NamedTuple, Protocol

from msgspec import Struct

from chain.contracts.addresses import keccak, recovered_address
from chain.contracts.networks import Address
from chain.execution.transaction import Authorization, UnsignedTransaction
from chain.rpc.records import Json
from chain.wallet.secrets import CURVE_ORDER

PARITY = 27
"""Added to the parity in the last byte of a signature."""
DYNAMIC_FEE, SET_CODE = 2, 4
_AUTHORIZING = 5
"""The byte before what is signed to lend an account to a contract's code."""


class Point(NamedTuple):
    """A signature as numbers."""

    parity: int
    r: int
    s: int

    @property
    def to_bytes(self) -> bytes:
        """As contracts take it."""
        return (
            self.r.to_bytes(32, "big") + self.s.to_bytes(32, "big") + bytes([PARITY + self.parity])
        )

    def signs(self, digest: bytes, signer: Address) -> bool:
        if not 0 < self.s <= CURVE_ORDER // 2:
            return False
        return recovered_address(digest, parity=self.parity, r=self.r, s=self.s) == signer


class TypedData(Struct, frozen=True):
    """What is signed without being sent (EIP-712), by the two hashes that devices show."""

    domain_hash: bytes
    message_hash: bytes
    document: dict[str, Json]
    """As `eth_signTypedData_v4` takes it: the same in words."""

    @property
    def digest(self) -> bytes:
        return keccak(b"\x19\x01" + self.domain_hash + self.message_hash)


class KeyHolder(Protocol):
    """Each of the four may refuse, with a `WalletError` that says what to do."""

    @property
    def address(self) -> Address: ...

    def sign_transaction(
        self, transaction: UnsignedTransaction, unsigned: bytes, lending: Point | None
    ) -> Point:
        """`unsigned` are the bytes whose hash is signed; `lending` is of its authorization."""

    def sign_typed_data(self, data: TypedData) -> Point: ...

    def sign_authorization(self, authorization: Authorization) -> Point: ...

    def close(self) -> None:
        """Let go of the key, or of the way to it."""


def unsigned_bytes(transaction: UnsignedTransaction, lending: Point | None = None) -> bytes:
    """What is hashed and signed: a device shows its hash."""
    return _typed(_kind(transaction), transaction_fields(transaction, lending))


def signed_bytes(transaction: UnsignedTransaction, lending: Point | None, point: Point) -> bytes:
    """What is sent."""
    fields = transaction_fields(transaction, lending)
    return _typed(_kind(transaction), [*fields, *map(quantity, point)])


def authorization_digest(authorization: Authorization) -> bytes:
    return keccak(_typed(_AUTHORIZING, _authorization_fields(authorization)))


def transaction_fields(transaction: UnsignedTransaction, lending: Point | None) -> list[object]:
    """In the order of the chain's own encoding."""
    fields: list[object] = [
        quantity(transaction.chain_id),
        quantity(transaction.nonce),
        quantity(transaction.max_priority_fee_per_gas),
        quantity(transaction.max_fee_per_gas),
        quantity(transaction.gas),
        bytes.fromhex(transaction.to.removeprefix("0x")),
        quantity(transaction.value),
        transaction.data,
        [],
    ]
    if transaction.authorization is not None:
        assert lending is not None
        leave = _authorization_fields(transaction.authorization)
        fields.append([[*leave, *map(quantity, lending)]])
    return fields


def quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _authorization_fields(authorization: Authorization) -> list[object]:
    return [
        quantity(authorization.chain_id),
        bytes.fromhex(authorization.delegate.removeprefix("0x")),
        quantity(authorization.nonce),
    ]


def _kind(transaction: UnsignedTransaction) -> int:
    return DYNAMIC_FEE if transaction.authorization is None else SET_CODE


def _typed(kind: int, fields: list[object]) -> bytes:
    from rlp.codec import encode_raw

    return bytes([kind]) + bytes(encode_raw(fields))  # type: ignore[no-untyped-call]
