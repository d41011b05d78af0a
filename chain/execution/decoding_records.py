"""Calldata as it reads: what each call, command and action says, nothing added or left out.

These records are made from bytes alone. They share nothing with the encoder, so that a mistake in
one is not repeated in the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from chain.execution.transaction import UnsignedTransaction
    from chain.networks import Address

_KEY = "(address,address,uint24,int24,address)"


class Key(NamedTuple):
    """A pool, by the five fields that are its identity."""

    currency0: Address
    currency1: Address
    fee: int
    tick_spacing: int
    hooks: Address


@dataclass(frozen=True, slots=True)
class Increase:
    code: ClassVar[int] = 0x00
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint256", "uint128", "uint128", "bytes")

    token_id: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    hook_data: bytes


@dataclass(frozen=True, slots=True)
class Decrease:
    code: ClassVar[int] = 0x01
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint256", "uint128", "uint128", "bytes")

    token_id: int
    liquidity: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes


@dataclass(frozen=True, slots=True)
class Mint:
    code: ClassVar[int] = 0x02
    layout: ClassVar[tuple[str, ...]] = (
        _KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes",
    )  # fmt: skip

    pool: Key
    tick_lower: int
    tick_upper: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    owner: Address
    hook_data: bytes


@dataclass(frozen=True, slots=True)
class Burn:
    code: ClassVar[int] = 0x03
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint128", "uint128", "bytes")

    token_id: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes


@dataclass(frozen=True, slots=True)
class SwapExactIn:
    code: ClassVar[int] = 0x06
    layout: ClassVar[tuple[str, ...]] = (_KEY, "bool", "uint128", "uint128", "bytes")

    pool: Key
    zero_for_one: bool
    amount_in: int
    amount_out_minimum: int
    hook_data: bytes


@dataclass(frozen=True, slots=True)
class Settle:
    code: ClassVar[int] = 0x0B
    layout: ClassVar[tuple[str, ...]] = ("address", "uint256", "bool")

    currency: Address
    amount: int
    payer_is_user: bool


@dataclass(frozen=True, slots=True)
class SettlePair:
    code: ClassVar[int] = 0x0D
    layout: ClassVar[tuple[str, ...]] = ("address", "address")

    currency0: Address
    currency1: Address


@dataclass(frozen=True, slots=True)
class Take:
    code: ClassVar[int] = 0x0E
    layout: ClassVar[tuple[str, ...]] = ("address", "address", "uint256")

    currency: Address
    recipient: Address
    amount: int


@dataclass(frozen=True, slots=True)
class TakePair:
    code: ClassVar[int] = 0x11
    layout: ClassVar[tuple[str, ...]] = ("address", "address", "address")

    currency0: Address
    currency1: Address
    recipient: Address


@dataclass(frozen=True, slots=True)
class CloseCurrency:
    code: ClassVar[int] = 0x12
    layout: ClassVar[tuple[str, ...]] = ("address",)

    currency: Address


@dataclass(frozen=True, slots=True)
class Sweep:
    code: ClassVar[int] = 0x14
    layout: ClassVar[tuple[str, ...]] = ("address", "address")

    currency: Address
    recipient: Address


Action = (
    Increase
    | Decrease
    | Mint
    | Burn
    | SwapExactIn
    | Settle
    | SettlePair
    | Take
    | TakePair
    | CloseCurrency
    | Sweep
)


@dataclass(frozen=True, slots=True)
class ModifyLiquidities:
    actions: tuple[Action, ...]
    deadline: int


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    token_id: int


@dataclass(frozen=True, slots=True)
class Multicall:
    calls: tuple[ModifyLiquidities | Unsubscribe, ...]


@dataclass(frozen=True, slots=True)
class V4Swap:
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Permit2Transfer:
    token: Address
    recipient: Address
    amount: int


@dataclass(frozen=True, slots=True)
class PositionManagerCall:
    call: ModifyLiquidities


Command = V4Swap | Permit2Transfer | PositionManagerCall


@dataclass(frozen=True, slots=True)
class Execute:
    commands: tuple[Command, ...]
    deadline: int


@dataclass(frozen=True, slots=True)
class TokenApproval:
    spender: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Permit2Approval:
    token: Address
    spender: Address
    amount: int
    expiration: int


@dataclass(frozen=True, slots=True)
class Deposit:
    """Wrap the value that is sent along."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    amount: int


Call = (
    ModifyLiquidities
    | Multicall
    | Unsubscribe
    | Execute
    | TokenApproval
    | Permit2Approval
    | Deposit
    | Withdraw
)


@dataclass(frozen=True, slots=True)
class DecodedStep:
    """A transaction with its calldata read back from its own bytes."""

    transaction: UnsignedTransaction
    call: Call
