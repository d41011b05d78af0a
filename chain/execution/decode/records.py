"""Calldata as it reads: what each call, command and action says, nothing added or left out.

These records are made from bytes alone. They share nothing with the encoder, so that a mistake in
one is not repeated in the other.
"""

from typing import ClassVar, NamedTuple

from msgspec import Struct

from chain.contracts.networks import Address
from chain.execution.transaction import UnsignedTransaction

_KEY = "(address,address,uint24,int24,address)"


class DecodedPoolKey(NamedTuple):
    """A pool, by the five fields that are its identity."""

    currency0: Address
    currency1: Address
    fee: int
    tick_spacing: int
    hooks: Address


class DecodedIncrease(Struct, frozen=True):
    code: ClassVar[int] = 0x00
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint256", "uint128", "uint128", "bytes")

    token_id: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    hook_data: bytes


class DecodedDecrease(Struct, frozen=True):
    code: ClassVar[int] = 0x01
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint256", "uint128", "uint128", "bytes")

    token_id: int
    liquidity: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes


class DecodedMint(Struct, frozen=True):
    code: ClassVar[int] = 0x02
    layout: ClassVar[tuple[str, ...]] = (
        _KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes",
    )  # fmt: skip

    pool: DecodedPoolKey
    tick_lower: int
    tick_upper: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    owner: Address
    hook_data: bytes


class DecodedBurn(Struct, frozen=True):
    code: ClassVar[int] = 0x03
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint128", "uint128", "bytes")

    token_id: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes


class DecodedSwapExactIn(Struct, frozen=True):
    code: ClassVar[int] = 0x06
    layout: ClassVar[tuple[str, ...]] = (_KEY, "bool", "uint128", "uint128", "bytes")

    pool: DecodedPoolKey
    zero_for_one: bool
    amount_in: int
    amount_out_minimum: int
    hook_data: bytes


class DecodedSettle(Struct, frozen=True):
    code: ClassVar[int] = 0x0B
    layout: ClassVar[tuple[str, ...]] = ("address", "uint256", "bool")

    currency: Address
    amount: int
    payer_is_user: bool


class DecodedSettlePair(Struct, frozen=True):
    code: ClassVar[int] = 0x0D
    layout: ClassVar[tuple[str, ...]] = ("address", "address")

    currency0: Address
    currency1: Address


class DecodedTake(Struct, frozen=True):
    code: ClassVar[int] = 0x0E
    layout: ClassVar[tuple[str, ...]] = ("address", "address", "uint256")

    currency: Address
    recipient: Address
    amount: int


class DecodedTakePair(Struct, frozen=True):
    code: ClassVar[int] = 0x11
    layout: ClassVar[tuple[str, ...]] = ("address", "address", "address")

    currency0: Address
    currency1: Address
    recipient: Address


class DecodedCloseCurrency(Struct, frozen=True):
    code: ClassVar[int] = 0x12
    layout: ClassVar[tuple[str, ...]] = ("address",)

    currency: Address


class DecodedSweep(Struct, frozen=True):
    code: ClassVar[int] = 0x14
    layout: ClassVar[tuple[str, ...]] = ("address", "address")

    currency: Address
    recipient: Address


Action = (
    DecodedIncrease
    | DecodedDecrease
    | DecodedMint
    | DecodedBurn
    | DecodedSwapExactIn
    | DecodedSettle
    | DecodedSettlePair
    | DecodedTake
    | DecodedTakePair
    | DecodedCloseCurrency
    | DecodedSweep
)


class ModifyLiquidities(Struct, frozen=True):
    actions: tuple[Action, ...]
    deadline: int


class Unsubscribe(Struct, frozen=True):
    token_id: int


class Multicall(Struct, frozen=True):
    calls: tuple[ModifyLiquidities | Unsubscribe, ...]


class DecodedV4Swap(Struct, frozen=True):
    actions: tuple[Action, ...]


class DecodedPermit2Transfer(Struct, frozen=True):
    token: Address
    recipient: Address
    amount: int


class DecodedPositionManagerCall(Struct, frozen=True):
    call: ModifyLiquidities


Command = DecodedV4Swap | DecodedPermit2Transfer | DecodedPositionManagerCall


class Execute(Struct, frozen=True):
    commands: tuple[Command, ...]
    deadline: int


class TokenApproval(Struct, frozen=True):
    spender: Address
    amount: int


class Permit2Approval(Struct, frozen=True):
    token: Address
    spender: Address
    amount: int
    expiration: int


class Deposit(Struct, frozen=True):
    """Wrap the value that is sent along."""


class Withdraw(Struct, frozen=True):
    amount: int


class DecodedDelegation(NamedTuple):
    """What was signed for another key, as the delegation manager takes it."""

    delegate: Address
    delegator: Address
    authority: bytes
    caveats: tuple[tuple[Address, bytes, bytes], ...]
    salt: int
    signature: bytes


class CancelOrder(Struct, frozen=True):
    """What was signed for another key counts no more."""

    delegation: DecodedDelegation


class CancelAllOrders(Struct, frozen=True):
    """The owner's nonce is raised: nothing signed for another key so far counts any more."""

    manager: Address


PlainCall = (
    ModifyLiquidities
    | Multicall
    | Unsubscribe
    | Execute
    | TokenApproval
    | Permit2Approval
    | Deposit
    | Withdraw
    | CancelOrder
    | CancelAllOrders
)


class BatchedCall(Struct, frozen=True):
    to: Address
    value: int
    call: PlainCall


class Batch(Struct, frozen=True):
    """Calls that the account makes one after the other, all or none of them."""

    calls: tuple[BatchedCall, ...]


class Delegation(Struct, frozen=True):
    """The account is lent to this code, or taken back from it by the zero address."""

    delegate: Address


Call = PlainCall | Batch | Delegation


class DecodedStep(Struct, frozen=True):
    """A transaction with its calldata read back from its own bytes."""

    transaction: UnsignedTransaction
    call: Call


def name_of(record: Struct) -> str:
    """What the contracts call it."""
    return type(record).__name__.removeprefix("Decoded")
