"""Calldata as it reads: what each call and command says, nothing added or left out.

These records are made from bytes alone. They share nothing with the encoder, so that a mistake in
one is not repeated in the other. Here are the calls of no protocol's own; those of a protocol
stand in its folder.
"""

from typing import ClassVar, NamedTuple

from msgspec import Struct

from chain.contracts.delegation import BatchForm
from chain.contracts.networks import Address
from chain.execution.transaction import UnsignedTransaction


class PlainCall(Struct, frozen=True):
    """One call to one contract."""

    protocol: ClassVar[str] = ""
    """Whose it is; empty for one that no protocol has to itself."""


class RouterCommand(Struct, frozen=True):
    """One of those that the UniversalRouter carries out in turn."""

    protocol: ClassVar[str] = ""
    code: ClassVar[int]


class Multicall(PlainCall, frozen=True):
    """Several calls to one manager, all or none of them."""

    calls: tuple[PlainCall, ...]


class DecodedPermit2Transfer(RouterCommand, frozen=True):
    code: ClassVar[int] = 0x02

    token: Address
    recipient: Address
    amount: int


class Execute(PlainCall, frozen=True):
    commands: tuple[RouterCommand, ...]
    deadline: int


class TokenApproval(PlainCall, frozen=True):
    spender: Address
    amount: int


class Permit2Approval(PlainCall, frozen=True):
    token: Address
    spender: Address
    amount: int
    expiration: int


class Deposit(PlainCall, frozen=True):
    """Wrap the value that is sent along."""


class Withdraw(PlainCall, frozen=True):
    amount: int


class DecodedDelegation(NamedTuple):
    """What was signed for another key, as the delegation manager takes it."""

    delegate: Address
    delegator: Address
    authority: bytes
    caveats: tuple[tuple[Address, bytes, bytes], ...]
    salt: int
    signature: bytes


class CancelOrder(PlainCall, frozen=True):
    """What was signed for another key counts no more."""

    delegation: DecodedDelegation


class CancelAllOrders(PlainCall, frozen=True):
    """The owner's nonce is raised: nothing signed for another key so far counts any more."""

    manager: Address


class BatchedCall(Struct, frozen=True):
    to: Address
    value: int
    call: PlainCall


class Batch(Struct, frozen=True):
    """Calls that the account makes one after the other, all or none of them."""

    calls: tuple[BatchedCall, ...]
    form: BatchForm = "execute"
    """Which delegate's call it is."""


class SafeExecution(Struct, frozen=True):
    """A Safe makes these calls, all or none of them, for owners enough of whom have signed.

    Without any it uses up its nonce, which is how another transaction of it is rejected.
    """

    safe: Address
    multi_send: Address | None
    """What makes several of them one; None where there are not several."""
    calls: tuple[BatchedCall, ...]
    signatures: bytes


class Delegation(Struct, frozen=True):
    """An account is lent to this code, or taken back from it by the zero address."""

    delegate: Address
    lender: Address = ""
    """Whose account it is; empty for the sender's own."""


Call = PlainCall | Batch | SafeExecution | Delegation


class DecodedStep(Struct, frozen=True):
    """A transaction with its calldata read back from its own bytes."""

    transaction: UnsignedTransaction
    call: Call


def protocol_in(call: Call) -> str:
    """Whose manager or pools it is about; empty for a call of no protocol's own."""
    match call:
        case Multicall(calls):
            return next((each.protocol for each in calls), "")
        case Execute(commands):
            return next((each.protocol for each in commands if each.protocol), "")
        case PlainCall():
            return call.protocol
        case _:
            return ""


def name_of(record: Struct) -> str:
    """What the contracts call it."""
    return type(record).__name__.removeprefix("Decoded")
