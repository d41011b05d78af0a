"""Calldata of the PositionManager and the UniversalRouter, the only place that writes it.

Every action's parameters are flat, `abi.encode(a, b, …)`; a swap's are one tuple. The fields of
a swap are those of universal-router 2.1.0: other releases add one.
"""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import astuple

from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey

EVERYTHING = 2**128 - 1
"""The largest amount there is: no bound."""

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


class _Action(Struct, frozen=True):
    """Its parameters are its fields, in their order."""

    code: ClassVar[int]
    layout: ClassVar[tuple[str, ...]]

    @property
    def params(self) -> bytes:
        return abi.encode(self.layout, self.values)

    @property
    def values(self) -> tuple[object, ...]:
        return tuple(part.values if isinstance(part, PoolKey) else part for part in astuple(self))


_CHANGE = ("uint256", "uint256", "uint128", "uint128", "bytes")


class Mint(_Action, frozen=True):
    code = 0x02
    layout = (_POOL_KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes")

    pool: PoolKey
    tick_lower: int
    tick_upper: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    owner: Address
    hook_data: bytes = b""


class Increase(_Action, frozen=True):
    code = 0x00
    layout = _CHANGE

    token_id: int
    liquidity: int
    amount0_max: int
    amount1_max: int
    hook_data: bytes = b""


class Decrease(_Action, frozen=True):
    """Remove liquidity; removing none pays out the fees alone."""

    code = 0x01
    layout = _CHANGE

    token_id: int
    liquidity: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes = b""


class Burn(_Action, frozen=True):
    """Remove all liquidity and end the token."""

    code = 0x03
    layout = ("uint256", "uint128", "uint128", "bytes")

    token_id: int
    amount0_min: int
    amount1_min: int
    hook_data: bytes = b""


class IncreaseFromDeltas(_Action, frozen=True):
    """Add what the actions before it left over; some networks' managers do not know it."""

    code = 0x04
    layout = ("uint256", "uint128", "uint128", "bytes")

    token_id: int
    amount0_max: int = EVERYTHING
    amount1_max: int = EVERYTHING
    hook_data: bytes = b""


class SwapExactIn(_Action, frozen=True):
    """Sell an exact amount in one pool."""

    code = 0x06
    layout = (f"({_POOL_KEY},bool,uint128,uint128,bytes)",)

    pool: PoolKey
    zero_for_one: bool
    amount_in: int
    amount_out_minimum: int
    hook_data: bytes = b""

    @property
    def params(self) -> bytes:
        return abi.encode(self.layout, (self.values,))


class Settle(_Action, frozen=True):
    """Pay what is owed to the pool, from the sender or from the contract's own balance."""

    code = 0x0B
    layout = ("address", "uint256", "bool")

    currency: Address
    amount: int
    payer_is_user: bool


class SettlePair(_Action, frozen=True):
    """Pay what is owed in both currencies; reverts when either is a credit."""

    code = 0x0D
    layout = ("address", "address")

    currency0: Address
    currency1: Address


class Take(_Action, frozen=True):
    code = 0x0E
    layout = ("address", "address", "uint256")

    currency: Address
    recipient: Address
    amount: int


class TakePair(_Action, frozen=True):
    code = 0x11
    layout = ("address", "address", "address")

    currency0: Address
    currency1: Address
    recipient: Address


class CloseCurrency(_Action, frozen=True):
    """Pay or take, whichever way the open balance points."""

    code = 0x12
    layout = ("address",)

    currency: Address


class Sweep(_Action, frozen=True):
    """Send on what the contract holds, such as change from native value."""

    code = 0x14
    layout = ("address", "address")

    currency: Address
    recipient: Address


Balancing = Settle | SettlePair | Take | TakePair | CloseCurrency | Sweep
PositionAction = Mint | Increase | Decrease | Burn | IncreaseFromDeltas | Balancing
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


class OwnCommand(Struct, frozen=True):
    """A command of another protocol, as that protocol wrote it."""

    code: int
    input: bytes


RouterCommand = V4Swap | Permit2Transfer | PositionManagerCall | OwnCommand


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
