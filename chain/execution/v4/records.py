"""The actions and calls of v4 as they read, and how v4's own calldata is read into them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from msgspec import Struct

from chain.contracts.networks import Address
from chain.contracts.pool_key import DecodedPoolKey
from chain.execution.plan.reading import DecodingError, Function, fields_of, read, write
from chain.execution.plan.records import Call, Execute, Multicall, PlainCall, RouterCommand
from chain.protocols.reference import V4

_KEY = "(address,address,uint24,int24,address)"

SENDER: Address = "0x" + "00" * 19 + "01"
"""Written in an action, whoever sends the transaction."""


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


class DecodedIncreaseFromDeltas(Struct, frozen=True):
    """Adds what the actions before it left over."""

    code: ClassVar[int] = 0x04
    layout: ClassVar[tuple[str, ...]] = ("uint256", "uint128", "uint128", "bytes")

    token_id: int
    amount0_max: int
    amount1_max: int
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
    | DecodedIncreaseFromDeltas
    | DecodedSwapExactIn
    | DecodedSettle
    | DecodedSettlePair
    | DecodedTake
    | DecodedTakePair
    | DecodedCloseCurrency
    | DecodedSweep
)


class ModifyLiquidities(PlainCall, frozen=True):
    protocol: ClassVar[str] = V4

    actions: tuple[Action, ...]
    deadline: int


class Unsubscribe(PlainCall, frozen=True):
    protocol: ClassVar[str] = V4

    token_id: int


class DecodedV4Swap(RouterCommand, frozen=True):
    protocol: ClassVar[str] = V4
    code: ClassVar[int] = 0x10

    actions: tuple[Action, ...]


class DecodedPositionManagerCall(RouterCommand, frozen=True):
    protocol: ClassVar[str] = V4
    code: ClassVar[int] = 0x14

    call: ModifyLiquidities


_PLAN = ("bytes", "bytes[]")

_ACTIONS: dict[int, type[Action]] = {
    action.code: action
    for action in (
        DecodedIncrease,
        DecodedDecrease,
        DecodedMint,
        DecodedBurn,
        DecodedIncreaseFromDeltas,
        DecodedSwapExactIn,
        DecodedSettle,
        DecodedSettlePair,
        DecodedTake,
        DecodedTakePair,
        DecodedCloseCurrency,
        DecodedSweep,
    )
}


def read_plan(data: bytes) -> tuple[Action, ...]:
    codes, inputs = read(_PLAN, data)
    same_length(codes, inputs)
    return tuple(_read_action(code, each) for code, each in zip(codes, inputs, strict=True))


def write_plan(actions: tuple[Action, ...]) -> bytes:
    codes = bytes(action.code for action in actions)
    return write(_PLAN, (codes, tuple(_written_action(action) for action in actions)))


def same_length(codes: bytes, inputs: Sequence[bytes]) -> None:
    if len(codes) != len(inputs):
        raise DecodingError(f"{len(codes)} codes come with {len(inputs)} inputs.")


def _read_action(code: int, data: bytes) -> Action:
    action = _ACTIONS.get(code)
    if action is None:
        raise DecodingError(f"The action 0x{code:02x} is not known.")
    values = read(_layout(action), data)
    if action is DecodedSwapExactIn:
        (values,) = values
    if action in (DecodedSwapExactIn, DecodedMint):
        values = (DecodedPoolKey(*values[0]), *values[1:])
    return action(*values)


def _written_action(action: Action) -> bytes:
    values = fields_of(action)
    return write(
        _layout(type(action)), (values,) if isinstance(action, DecodedSwapExactIn) else values
    )


def _layout(action: type[Action]) -> tuple[str, ...]:
    # A swap's fields are one tuple; all other actions lay theirs out flat.
    return (f"({','.join(action.layout)})",) if action is DecodedSwapExactIn else action.layout


MODIFY = Function(
    "modifyLiquidities",
    ("bytes", "uint256"),
    ModifyLiquidities,
    lambda values: ModifyLiquidities(read_plan(values[0]), values[1]),
    lambda call: (write_plan(call.actions), call.deadline),
)
FUNCTIONS = (MODIFY, Function("unsubscribe", ("uint256",), Unsubscribe))


def read_swap(data: bytes) -> DecodedV4Swap:
    return DecodedV4Swap(read_plan(data))


def write_swap(command: DecodedV4Swap) -> bytes:
    return write_plan(command.actions)


def read_manager_call(data: bytes) -> DecodedPositionManagerCall:
    if data[:4] != MODIFY.selector:
        raise DecodingError("The router may call only modifyLiquidities.")
    call = MODIFY.read(data[4:])
    assert isinstance(call, ModifyLiquidities)
    return DecodedPositionManagerCall(call)


def write_manager_call(command: DecodedPositionManagerCall) -> bytes:
    return MODIFY.encode(command.call)


def actions_of(call: Call) -> tuple[Action, ...]:
    """Every action in a call, whichever command carries it."""
    match call:
        case ModifyLiquidities(actions):
            return actions
        case Multicall(calls):
            return tuple(action for call in calls for action in actions_of(call))
        case Execute(commands):
            return tuple(
                action
                for command in commands
                for action in (
                    command.actions
                    if isinstance(command, DecodedV4Swap)
                    else command.call.actions
                    if isinstance(command, DecodedPositionManagerCall)
                    else ()
                )
            )
        case _:
            return ()


def rest_of(token_id: int) -> DecodedIncreaseFromDeltas:
    """Of a position: all that is left over goes into it."""
    return DecodedIncreaseFromDeltas(token_id, 2**128 - 1, 2**128 - 1, b"")


def parts_of(actions: tuple[Action, ...]) -> tuple[tuple[Action, ...], ...]:
    """The actions on each position by themselves, where a call changes several in turn."""
    changes = DecodedBurn | DecodedDecrease | DecodedIncrease
    begins = [at for at, action in enumerate(actions) if at and isinstance(action, changes)]
    return tuple(actions[first:end] for first, end in pairwise((0, *begins, len(actions))))
