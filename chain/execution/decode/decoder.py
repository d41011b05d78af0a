"""An independent reading of calldata: every byte accounted for, or refused.

What is read is written out again and must give the same bytes, which leaves no room for padding,
overlapping tails or anything else a contract would skip over and a person would not see.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from chain.base.errors import ZunoError
from chain.contracts.addresses import keccak
from chain.contracts.networks import Address
from chain.execution.decode import records
from chain.execution.transaction import UnsignedTransaction


class DecodingError(ZunoError, ValueError):
    """Bytes that are not exactly one of the calls known here; nothing of them may be signed."""


def read(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """The values these bytes hold; eth_abi leaves what follows them to the caller."""
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError as AbiDecodingError

    try:
        return decode(types, data)
    except (AbiDecodingError, OverflowError, ValueError) as error:
        raise DecodingError(f"The calldata is not {', '.join(types) or 'empty'}.") from error


def write(types: Sequence[str], values: Sequence[object]) -> bytes:
    from eth_abi.abi import encode

    return encode(types, values)


_LONGEST = 32 * 1024
"""Ten times the longest recipe; what is longer is not read at all."""

_MODIFY = ("modifyLiquidities", ("bytes", "uint256"))
_MULTICALL = ("multicall", ("bytes[]",))
_UNSUBSCRIBE = ("unsubscribe", ("uint256",))
_EXECUTE = ("execute", ("bytes", "bytes[]", "uint256"))
_APPROVE_TOKEN = ("approve", ("address", "uint256"))
_APPROVE_PERMIT2 = ("approve", ("address", "address", "uint160", "uint48"))
_DEPOSIT: tuple[str, tuple[str, ...]] = ("deposit", ())
_WITHDRAW = ("withdraw", ("uint256",))
_CANCEL_ORDER = (
    "disableDelegation",
    ("(address,address,bytes32,(address,bytes,bytes)[],uint256,bytes)",),
)
_CANCEL_ALL = ("incrementNonce", ("address",))
_FUNCTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    _MODIFY,
    _MULTICALL,
    _UNSUBSCRIBE,
    _EXECUTE,
    _APPROVE_TOKEN,
    _APPROVE_PERMIT2,
    _DEPOSIT,
    _WITHDRAW,
    _CANCEL_ORDER,
    _CANCEL_ALL,
)

_EXECUTE_BATCH = ("execute", ("bytes32", "bytes"))
_BATCH_MODE = bytes([1]) + bytes(31)
"""Several calls, all of them or none."""
_CALLS = "(address,uint256,bytes)[]"

_PLAN = ("bytes", "bytes[]")
_TRANSFER = ("address", "address", "uint160")
_V4_SWAP, _PERMIT2_TRANSFER, _POSITION_MANAGER_CALL = 0x10, 0x02, 0x14

_ACTIONS: dict[int, type[records.Action]] = {
    action.code: action
    for action in (
        records.DecodedIncrease,
        records.DecodedDecrease,
        records.DecodedMint,
        records.DecodedBurn,
        records.DecodedSwapExactIn,
        records.DecodedSettle,
        records.DecodedSettlePair,
        records.DecodedTake,
        records.DecodedTakePair,
        records.DecodedCloseCurrency,
        records.DecodedSweep,
    )
}


def decode(transaction: UnsignedTransaction) -> records.DecodedStep:
    """The transaction with its calldata read back."""
    given = transaction.authorization
    if given is None:
        return records.DecodedStep(transaction, decode_call(transaction.data))
    if transaction.data:
        raise DecodingError(
            "The account is delegated by a transaction that does something else, too."
        )
    return records.DecodedStep(transaction, records.Delegation(given.delegate))


def decode_call(data: bytes) -> records.Call:
    if len(data) > _LONGEST:
        raise DecodingError(f"The calldata is {len(data)} bytes long, more than any known call.")
    call = _read_call(data)
    if encode_call(call) != data:
        raise DecodingError("The calldata holds bytes that no field accounts for.")
    return call


def encode_call(call: records.Call) -> bytes:
    """The one canonical form of a call."""
    match call:
        case records.ModifyLiquidities(actions, deadline):
            return _written(_MODIFY, (_written_plan(actions), deadline))
        case records.Multicall(calls):
            return _written(_MULTICALL, (tuple(encode_call(each) for each in calls),))
        case records.Execute(commands, deadline):
            codes = bytes(_code(command) for command in commands)
            inputs = tuple(_written_command(command) for command in commands)
            return _written(_EXECUTE, (codes, inputs, deadline))
        case records.Batch(calls):
            written = tuple((each.to, each.value, encode_call(each.call)) for each in calls)
            return _written(_EXECUTE_BATCH, (_BATCH_MODE, write((_CALLS,), (written,))))
        case records.Delegation():
            return b""
        case records.Unsubscribe():
            function: tuple[str, tuple[str, ...]] = _UNSUBSCRIBE
        case records.TokenApproval():
            function = _APPROVE_TOKEN
        case records.Permit2Approval():
            function = _APPROVE_PERMIT2
        case records.Deposit():
            function = _DEPOSIT
        case records.Withdraw():
            function = _WITHDRAW
        case records.CancelOrder():
            function = _CANCEL_ORDER
        case records.CancelAllOrders():
            function = _CANCEL_ALL
    return _written(function, _values(call))


def _read_call(data: bytes) -> records.Call:
    if data[:4] == _selector(_EXECUTE_BATCH):
        mode, calls = read(_EXECUTE_BATCH[1], data[4:])
        if mode != _BATCH_MODE:
            raise DecodingError("The batch is not one that is carried out whole or not at all.")
        (single_calls,) = read((_CALLS,), calls)
        return records.Batch(tuple(_read_batched(*each) for each in single_calls))
    return _read_plain(data)


def _read_batched(to: Address, value: int, data: bytes) -> records.BatchedCall:
    return records.BatchedCall(to, value, _read_plain(data))


def _read_plain(data: bytes) -> records.PlainCall:
    function = _functions().get(data[:4])
    if function is None:
        raise DecodingError(f"No known call begins with 0x{data[:4].hex()}.")
    values = read(function[1], data[4:])
    if function == _MODIFY:
        plan, deadline = values
        return records.ModifyLiquidities(_read_plan(plan), deadline)
    if function == _MULTICALL:
        (calls,) = values
        return records.Multicall(tuple(_read_inner(each) for each in calls))
    if function == _EXECUTE:
        codes, inputs, deadline = values
        return records.Execute(tuple(_read_commands(codes, inputs)), deadline)
    if function == _CANCEL_ORDER:
        (delegation,) = values
        return records.CancelOrder(records.DecodedDelegation(*delegation))
    simple: dict[tuple[str, tuple[str, ...]], type[records.PlainCall]] = {
        _UNSUBSCRIBE: records.Unsubscribe,
        _APPROVE_TOKEN: records.TokenApproval,
        _APPROVE_PERMIT2: records.Permit2Approval,
        _DEPOSIT: records.Deposit,
        _WITHDRAW: records.Withdraw,
        _CANCEL_ALL: records.CancelAllOrders,
    }
    return simple[function](*values)


def _read_inner(data: bytes) -> records.ModifyLiquidities | records.Unsubscribe:
    call = _read_plain(data)
    if not isinstance(call, records.ModifyLiquidities | records.Unsubscribe):
        raise DecodingError("A multicall may hold only modifyLiquidities and unsubscribe.")
    return call


def _read_commands(codes: bytes, inputs: Sequence[bytes]) -> Iterable[records.Command]:
    _same_length(codes, inputs)
    for code, data in zip(codes, inputs, strict=True):
        if code == _V4_SWAP:
            yield records.DecodedV4Swap(_read_plan(data))
        elif code == _PERMIT2_TRANSFER:
            yield records.DecodedPermit2Transfer(*read(_TRANSFER, data))
        elif code == _POSITION_MANAGER_CALL:
            call = _read_plain(data)
            if not isinstance(call, records.ModifyLiquidities):
                raise DecodingError("The router may call only modifyLiquidities.")
            yield records.DecodedPositionManagerCall(call)
        else:
            raise DecodingError(f"The router's command 0x{code:02x} is not known.")


def _read_plan(data: bytes) -> tuple[records.Action, ...]:
    codes, inputs = read(_PLAN, data)
    _same_length(codes, inputs)
    return tuple(_read_action(code, each) for code, each in zip(codes, inputs, strict=True))


def _read_action(code: int, data: bytes) -> records.Action:
    action = _ACTIONS.get(code)
    if action is None:
        raise DecodingError(f"The action 0x{code:02x} is not known.")
    values = read(_layout(action), data)
    if action is records.DecodedSwapExactIn:
        (values,) = values
    if action in (records.DecodedSwapExactIn, records.DecodedMint):
        values = (records.DecodedPoolKey(*values[0]), *values[1:])
    return action(*values)


def _written_plan(actions: tuple[records.Action, ...]) -> bytes:
    codes = bytes(action.code for action in actions)
    return write(_PLAN, (codes, tuple(_written_action(action) for action in actions)))


def _written_action(action: records.Action) -> bytes:
    values = _values(action)
    return write(
        _layout(type(action)),
        (values,) if isinstance(action, records.DecodedSwapExactIn) else values,
    )


def _layout(action: type[records.Action]) -> tuple[str, ...]:
    # A swap's fields are one tuple; all other actions lay theirs out flat.
    return (
        (f"({','.join(action.layout)})",) if action is records.DecodedSwapExactIn else action.layout
    )


def _code(command: records.Command) -> int:
    match command:
        case records.DecodedV4Swap():
            return _V4_SWAP
        case records.DecodedPermit2Transfer():
            return _PERMIT2_TRANSFER
        case records.DecodedPositionManagerCall():
            return _POSITION_MANAGER_CALL


def _written_command(command: records.Command) -> bytes:
    match command:
        case records.DecodedV4Swap(actions):
            return _written_plan(actions)
        case records.DecodedPermit2Transfer():
            return write(_TRANSFER, _values(command))
        case records.DecodedPositionManagerCall(call):
            return encode_call(call)


def _same_length(codes: bytes, inputs: Sequence[bytes]) -> None:
    if len(codes) != len(inputs):
        raise DecodingError(f"{len(codes)} codes come with {len(inputs)} inputs.")


def _values(record: records.Call | records.Command | records.Action) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record.__struct_fields__)


def _written(function: tuple[str, tuple[str, ...]], values: tuple[object, ...]) -> bytes:
    return _selector(function) + write(function[1], values)


@cache
def _functions() -> dict[bytes, tuple[str, tuple[str, ...]]]:
    return {_selector(function): function for function in _FUNCTIONS}


@cache
def _selector(function: tuple[str, tuple[str, ...]]) -> bytes:
    name, types = function
    return keccak(f"{name}({','.join(types)})".encode())[:4]


def single_calls(steps: Iterable[records.DecodedStep]) -> tuple[records.DecodedStep, ...]:
    """The steps in their order, a batch's calls in its place."""
    return tuple(single for step in steps for single in _singles(step))


def _singles(step: records.DecodedStep) -> tuple[records.DecodedStep, ...]:
    if not isinstance(step.call, records.Batch):
        return (step,)
    return tuple(
        records.DecodedStep(
            replace(
                step.transaction,
                to=each.to,
                value=each.value,
                data=encode_call(each.call),
                step=_name(each.call),
            ),
            each.call,
        )
        for each in step.call.calls
    )


_NAMES: dict[type[records.PlainCall], str] = {
    records.Unsubscribe: "unsubscribe",
    records.Deposit: "wrap",
    records.Withdraw: "unwrap",
    records.CancelOrder: "cancel order",
    records.CancelAllOrders: "cancel all orders",
    records.Multicall: "multicall",
}


def _name(call: records.PlainCall) -> str:
    """What the step is called where it is sent alone."""
    match call:
        case records.TokenApproval() | records.Permit2Approval():
            given = (
                "allow Permit2"
                if isinstance(call, records.TokenApproval)
                else "allow through Permit2"
            )
            return given if call.amount else "revoke"
        case records.Execute(commands):
            enters = any(isinstance(each, records.DecodedPositionManagerCall) for each in commands)
            return "enter" if enters else "swap"
        case records.ModifyLiquidities():
            return _change_name(call)
        case _:
            return _NAMES[type(call)]


def _change_name(call: records.ModifyLiquidities) -> str:
    kinds = [type(action) for action in call.actions]
    if records.DecodedBurn in kinds:
        return "move" if records.DecodedMint in kinds else "exit"
    if records.DecodedMint in kinds:
        return "create"
    if records.DecodedIncrease in kinds:
        return "increase"
    taken = [
        action.liquidity for action in call.actions if isinstance(action, records.DecodedDecrease)
    ]
    return "decrease" if any(taken) else "collect"
