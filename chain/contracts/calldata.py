"""Calldata of the PositionManager and the UniversalRouter, the only place that writes it.

Every action's parameters are flat, `abi.encode(a, b, …)`; a swap's are one tuple. The fields of
a swap are those of universal-router 2.1.0: other releases add one.
"""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey

OPEN_DELTA = 0
"""In place of an amount: whatever is still owed, to or by the pool."""

TO_SENDER: Address = "0x" + "00" * 19 + "01"
"""In place of a recipient: whoever sent the transaction."""

TO_CONTRACT: Address = "0x" + "00" * 19 + "02"
"""In place of a recipient: the contract that runs the actions."""

MODIFY_LIQUIDITIES = "modifyLiquidities(bytes,uint256)"
EXECUTE = "execute(bytes,bytes[],uint256)"
INITIALIZE_POOL = f"initializePool(({','.join(POOL_KEY_TYPES)}),uint160)"
APPROVE_TOKEN = "approve(address,uint256)"  # noqa: S105 - a signature, not a password
APPROVE_PERMIT2 = "approve(address,address,uint160,uint48)"

_POOL_KEY = f"({','.join(POOL_KEY_TYPES)})"


class Mint(Struct, frozen=True):
    code: ClassVar[int] = 0x02

    pool: PoolKey
    tick_lower: int
    tick_upper: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    owner: Address
    hook_data: bytes = b""

    @property
    def params(self) -> bytes:
        return abi.encode(
            (_POOL_KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes"),
            (
                self.pool.values,
                self.tick_lower,
                self.tick_upper,
                self.liquidity,
                self.amount0_max,
                self.amount1_max,
                self.owner,
                self.hook_data,
            ),
        )


_CHANGE = ("uint256", "uint256", "uint128", "uint128", "bytes")


class Increase(Struct, frozen=True):
    code: ClassVar[int] = 0x00

    token_id: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    hook_data: bytes = b""

    @property
    def params(self) -> bytes:
        amounts = (self.amount0_max, self.amount1_max)
        return abi.encode(_CHANGE, (self.token_id, self.liquidity, *amounts, self.hook_data))


class Decrease(Struct, frozen=True):
    """Remove liquidity; removing none pays out the fees alone."""

    code: ClassVar[int] = 0x01

    token_id: int
    liquidity: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes = b""

    @property
    def params(self) -> bytes:
        amounts = (self.amount0_min, self.amount1_min)
        return abi.encode(_CHANGE, (self.token_id, self.liquidity, *amounts, self.hook_data))


class Burn(Struct, frozen=True):
    """Remove all liquidity and end the token."""

    code: ClassVar[int] = 0x03

    token_id: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes = b""

    @property
    def params(self) -> bytes:
        return abi.encode(
            ("uint256", "uint128", "uint128", "bytes"),
            (self.token_id, self.amount0_min, self.amount1_min, self.hook_data),
        )


class SwapExactIn(Struct, frozen=True):
    """Sell an exact amount in one pool."""

    code: ClassVar[int] = 0x06

    pool: PoolKey
    zero_for_one: bool
    amount_in: int
    amount_out_minimum: int
    hook_data: bytes = b""

    @property
    def params(self) -> bytes:
        return abi.encode(
            (f"({_POOL_KEY},bool,uint128,uint128,bytes)",),
            (
                (
                    self.pool.values,
                    self.zero_for_one,
                    self.amount_in,
                    self.amount_out_minimum,
                    self.hook_data,
                ),
            ),
        )


class Settle(Struct, frozen=True):
    """Pay what is owed to the pool, from the sender or from the contract's own balance."""

    code: ClassVar[int] = 0x0B

    currency: Address
    amount: int
    payer_is_user: bool

    @property
    def params(self) -> bytes:
        return abi.encode(
            ("address", "uint256", "bool"), (self.currency, self.amount, self.payer_is_user)
        )


class SettlePair(Struct, frozen=True):
    """Pay what is owed in both currencies; reverts when either is a credit."""

    code: ClassVar[int] = 0x0D

    currency0: Address
    currency1: Address

    @property
    def params(self) -> bytes:
        return abi.encode(("address", "address"), (self.currency0, self.currency1))


class Take(Struct, frozen=True):
    code: ClassVar[int] = 0x0E

    currency: Address
    recipient: Address
    amount: int

    @property
    def params(self) -> bytes:
        return abi.encode(
            ("address", "address", "uint256"), (self.currency, self.recipient, self.amount)
        )


class TakePair(Struct, frozen=True):
    code: ClassVar[int] = 0x11

    currency0: Address
    currency1: Address
    recipient: Address

    @property
    def params(self) -> bytes:
        return abi.encode(
            ("address", "address", "address"), (self.currency0, self.currency1, self.recipient)
        )


class CloseCurrency(Struct, frozen=True):
    """Pay or take, whichever way the open balance points."""

    code: ClassVar[int] = 0x12

    currency: Address

    @property
    def params(self) -> bytes:
        return abi.encode(("address",), (self.currency,))


class Sweep(Struct, frozen=True):
    """Send on what the contract holds, such as change from native value."""

    code: ClassVar[int] = 0x14

    currency: Address
    recipient: Address

    @property
    def params(self) -> bytes:
        return abi.encode(("address", "address"), (self.currency, self.recipient))


Balancing = Settle | SettlePair | Take | TakePair | CloseCurrency | Sweep
PositionAction = Mint | Increase | Decrease | Burn | Balancing
SwapAction = SwapExactIn | Settle | Take


class V4Swap(Struct, frozen=True):
    """Run swap actions in the PoolManager."""

    code: ClassVar[int] = 0x10

    actions: tuple[SwapAction, ...]

    @property
    def input(self) -> bytes:
        return _plan(self.actions)


class Permit2Transfer(Struct, frozen=True):
    """Move the sender's tokens through Permit2."""

    code: ClassVar[int] = 0x02

    token: Address
    recipient: Address
    amount: int

    @property
    def input(self) -> bytes:
        return abi.encode(
            ("address", "address", "uint160"), (self.token, self.recipient, self.amount)
        )


class PositionManagerCall(Struct, frozen=True):
    """Call the PositionManager with these bytes; of positions the router lets it only mint."""

    code: ClassVar[int] = 0x14

    calldata: bytes

    @property
    def input(self) -> bytes:
        return self.calldata


RouterCommand = V4Swap | Permit2Transfer | PositionManagerCall


def modify_liquidities(actions: Sequence[PositionAction], deadline: int) -> bytes:
    """Calldata of `PositionManager.modifyLiquidities`."""
    return abi.encode_call(MODIFY_LIQUIDITIES, _plan(actions), deadline)


def execute(commands: Sequence[RouterCommand], deadline: int) -> bytes:
    """Calldata of `UniversalRouter.execute`."""
    codes = bytes(command.code for command in commands)
    return abi.encode_call(EXECUTE, codes, tuple(each.input for each in commands), deadline)


def swap_exact_in(swap: SwapExactIn, *, recipient: Address = TO_SENDER) -> V4Swap:
    """One swap, paid for by the sender, with all that comes out sent to the recipient."""
    pair = (swap.pool.currency0, swap.pool.currency1)
    sold, bought = pair if swap.zero_for_one else pair[::-1]
    return V4Swap(
        (swap, Settle(sold, OPEN_DELTA, payer_is_user=True), Take(bought, recipient, OPEN_DELTA))
    )


def initialize_pool(pool: PoolKey, sqrt_price_x96: int) -> bytes:
    """Calldata of `PositionManager.initializePool`."""
    return abi.encode_call(INITIALIZE_POOL, pool.values, sqrt_price_x96)


def approve_token(spender: Address, amount: int) -> bytes:
    """Calldata of an ERC-20's `approve`, as Permit2 needs it before it can move the token."""
    return abi.encode_call(APPROVE_TOKEN, spender, amount)


def approve_through_permit2(
    token: Address, spender: Address, amount: int, expiration: int
) -> bytes:
    """Calldata of `Permit2.approve`: this spender, this amount, until this time."""
    return abi.encode_call(APPROVE_PERMIT2, token, spender, amount, expiration)


def _plan(actions: Sequence[PositionAction] | Sequence[SwapAction]) -> bytes:
    codes = bytes(action.code for action in actions)
    return abi.encode(("bytes", "bytes[]"), (codes, tuple(action.params for action in actions)))
