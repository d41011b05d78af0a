"""An independent reading of calldata: every byte accounted for, or refused.

What is read is written out again and must give the same bytes, which leaves no room for padding,
overlapping tails or anything else a contract would skip over and a person would not see.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from msgspec.structs import replace

from chain.contracts.networks import NATIVE, Address
from chain.contracts.safe import CALL, DELEGATE_CALL, multi_sends
from chain.execution import protocols
from chain.execution.plan import records
from chain.execution.plan.effects import Provision, Sale, Withdrawal
from chain.execution.plan.protocol import CommandForm
from chain.execution.plan.reading import (
    DecodingError,
    Function,
    fields_of,
    read,
    selector_of,
    write,
)
from chain.execution.transaction import UnsignedTransaction

_LONGEST = 32 * 1024
"""Ten times the longest recipe; what is longer is not read at all."""

_MULTICALL = ("multicall", ("bytes[]",))
_EXECUTE = ("execute", ("bytes", "bytes[]", "uint256"))
_COMMON = (
    Function("approve", ("address", "uint256"), records.TokenApproval),
    Function("approve", ("address", "address", "uint160", "uint48"), records.Permit2Approval),
    Function("deposit", (), records.Deposit),
    Function("withdraw", ("uint256",), records.Withdraw),
    Function(
        "disableDelegation",
        ("(address,address,bytes32,(address,bytes,bytes)[],uint256,bytes)",),
        records.CancelOrder,
        lambda values: records.CancelOrder(records.DecodedDelegation(*values[0])),
    ),
    Function("incrementNonce", ("address",), records.CancelAllOrders),
)

_EXECUTE_BATCH = ("execute", ("bytes32", "bytes"))
_SIMPLE_BATCH = ("executeBatch", ("(address,uint256,bytes)[]",))
_BATCH_MODE = bytes([1]) + bytes(31)
"""Several calls, all of them or none."""
_CALLS = "(address,uint256,bytes)[]"

_EXECUTE_SAFE = (
    "execTransaction",
    ("address", "uint256", "bytes", "uint8", *["uint256"] * 3, "address", "address", "bytes"),
)
_MULTI_SEND = ("multiSend", ("bytes",))
_NO_REFUND = (0, 0, 0, NATIVE, NATIVE)
_PACKED_HEAD = 1 + 20 + 32 + 32

_TRANSFER = ("address", "address", "uint160")

PERMIT2: Address = "0x000000000022d473030f116ddee9f6b43ac78ba3"
"""The same on every network."""


def decode(transaction: UnsignedTransaction) -> records.DecodedStep:
    """The transaction with its calldata read back."""
    given = transaction.authorization
    if given is None and transaction.data[:4] == selector_of(*_EXECUTE_SAFE):
        return records.DecodedStep(transaction, _read_safe(transaction.to, transaction.data))
    if given is None:
        return records.DecodedStep(transaction, decode_call(transaction.data))
    if transaction.data:
        raise DecodingError(
            "The account is delegated by a transaction that does something else, too."
        )
    return records.DecodedStep(transaction, records.Delegation(given.delegate, given.lender))


def _read_safe(safe: Address, data: bytes) -> records.SafeExecution:
    calls: tuple[records.BatchedCall, ...]
    multi_send: Address | None
    to, value, inner, operation, *refund, signatures = read(_EXECUTE_SAFE[1], data[4:])
    if tuple(refund) != _NO_REFUND:
        raise DecodingError("The Safe would pay for gas, or somebody for it.")
    if (to, value, inner, operation) == (safe, 0, b"", CALL):
        calls, multi_send = (), None
    elif operation == CALL:
        calls, multi_send = (_read_batched(to, value, inner),), None
    elif operation == DELEGATE_CALL and to in multi_sends() and value == 0:
        calls, multi_send = read_multi_send(inner), to
    else:
        raise DecodingError(f"The Safe would run the code of {to} as its own.")
    found = records.SafeExecution(safe, multi_send, calls, signatures)
    if encode_call(found) != data:
        raise DecodingError("The calldata holds bytes that no field accounts for.")
    return found


def read_multi_send(data: bytes) -> tuple[records.BatchedCall, ...]:
    """Calls packed one behind the other; one that is to run as the account's own code is none."""
    if data[:4] != selector_of(*_MULTI_SEND):
        raise DecodingError(f"No known call begins with 0x{data[:4].hex()}.")
    (packed,) = read(_MULTI_SEND[1], data[4:])
    found = []
    while packed:
        head, packed = packed[:_PACKED_HEAD], packed[_PACKED_HEAD:]
        size = int.from_bytes(head[-32:], "big")
        if len(head) < _PACKED_HEAD or head[0] != CALL or size > len(packed):
            raise DecodingError("The calls of a Safe's batch are not whole, or not plain calls.")
        to, value = "0x" + head[1:21].hex(), int.from_bytes(head[21:53], "big")
        found.append(_read_batched(to, value, packed[:size]))
        packed = packed[size:]
    return tuple(found)


def _written_safe(call: records.SafeExecution) -> bytes:
    inner: tuple[object, ...]
    if not call.calls:
        inner = (call.safe, 0, b"", CALL)
    elif call.multi_send is None:
        (only,) = call.calls
        inner = (only.to, only.value, encode_call(only.call), CALL)
    else:
        packed = b"".join(
            bytes([CALL])
            + bytes.fromhex(each.to[2:])
            + each.value.to_bytes(32, "big")
            + len(data).to_bytes(32, "big")
            + data
            for each in call.calls
            for data in [encode_call(each.call)]
        )
        inner = (call.multi_send, 0, _written(_MULTI_SEND, (packed,)), DELEGATE_CALL)
    return _written(_EXECUTE_SAFE, (*inner, *_NO_REFUND, call.signatures))


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
        case records.Multicall(calls):
            return _written(_MULTICALL, (tuple(encode_call(each) for each in calls),))
        case records.Execute(commands, deadline):
            codes = bytes(command.code for command in commands)
            inputs = tuple(_commands()[each.code].written(each) for each in commands)
            return _written(_EXECUTE, (codes, inputs, deadline))
        case records.Batch(batched, form):
            written = tuple((each.to, each.value, encode_call(each.call)) for each in batched)
            simple = form == "executeBatch"
            values = (written,) if simple else (_BATCH_MODE, write((_CALLS,), (written,)))
            return _written(_SIMPLE_BATCH if simple else _EXECUTE_BATCH, values)
        case records.SafeExecution():
            return _written_safe(call)
        case records.Delegation():
            return b""
        case _:
            return _by_record()[type(call)].encode(call)


def _read_call(data: bytes) -> records.Call:
    if data[:4] == selector_of(*_EXECUTE_BATCH):
        mode, calls = read(_EXECUTE_BATCH[1], data[4:])
        if mode != _BATCH_MODE:
            raise DecodingError("The batch is not all-or-nothing.")
        (single_calls,) = read((_CALLS,), calls)
        return records.Batch(tuple(_read_batched(*each) for each in single_calls))
    if data[:4] == selector_of(*_SIMPLE_BATCH):
        (single_calls,) = read(_SIMPLE_BATCH[1], data[4:])
        return records.Batch(tuple(_read_batched(*each) for each in single_calls), "executeBatch")
    return _read_plain(data)


def _read_batched(to: Address, value: int, data: bytes) -> records.BatchedCall:
    return records.BatchedCall(to, value, _read_plain(data))


def _read_plain(data: bytes) -> records.PlainCall:
    if data[:4] == selector_of(*_MULTICALL):
        (calls,) = read(_MULTICALL[1], data[4:])
        return records.Multicall(tuple(_read_inner(calls)))
    if data[:4] == selector_of(*_EXECUTE):
        codes, inputs, deadline = read(_EXECUTE[1], data[4:])
        return records.Execute(tuple(_read_commands(codes, inputs)), deadline)
    function = _functions().get(data[:4])
    if function is None:
        raise DecodingError(f"No known call begins with 0x{data[:4].hex()}.")
    return function.read(data[4:])


def _read_inner(calls: Sequence[bytes]) -> Iterator[records.PlainCall]:
    """Calls of one manager's own; a multicall in a multicall is none."""
    inner = [_functions().get(data[:4]) for data in calls]
    whose = {function.record.protocol if function else "" for function in inner}
    if "" in whose or len(whose) > 1:
        raise DecodingError("A multicall may hold only calls of one protocol's manager.")
    for function, data in zip(inner, calls, strict=True):
        if function is not None:
            yield function.read(data[4:])


def _read_commands(codes: bytes, inputs: Sequence[bytes]) -> Iterable[records.RouterCommand]:
    if len(codes) != len(inputs):
        raise DecodingError(f"{len(codes)} codes come with {len(inputs)} inputs.")
    for code, data in zip(codes, inputs, strict=True):
        form = _commands().get(code)
        if form is None:
            raise DecodingError(f"The router's command 0x{code:02x} is not known.")
        yield form.read(data)


@cache
def _commands() -> dict[int, CommandForm]:
    transfer = CommandForm(
        lambda data: records.DecodedPermit2Transfer(*read(_TRANSFER, data)),
        lambda command: write(_TRANSFER, fields_of(command)),
    )
    found = {records.DecodedPermit2Transfer.code: transfer}
    for protocol in protocols.ALL:
        found |= protocol.commands
    return found


@cache
def _functions() -> dict[bytes, Function]:
    own = (function for protocol in protocols.ALL for function in protocol.functions)
    return {function.selector: function for function in (*_COMMON, *own)}


@cache
def _by_record() -> dict[type, Function]:
    return {function.record: function for function in _functions().values()}


def _written(function: tuple[str, tuple[str, ...]], values: tuple[object, ...]) -> bytes:
    return selector_of(*function) + write(function[1], values)


def single_calls(steps: Iterable[records.DecodedStep]) -> tuple[records.DecodedStep, ...]:
    """The steps in their order, a batch's calls in its place."""
    return tuple(single for step in steps for single in _singles(step))


def _singles(step: records.DecodedStep) -> tuple[records.DecodedStep, ...]:
    if not isinstance(step.call, records.Batch | records.SafeExecution):
        return (step,)
    return tuple(
        records.DecodedStep(
            replace(
                step.transaction,
                sender=step.transaction.account,
                to=each.to,
                value=each.value,
                data=encode_call(each.call),
                step=call_name(each.call),
            ),
            each.call,
        )
        for each in step.call.calls
    )


_NAMES: dict[type[records.PlainCall], str] = {
    records.Deposit: "wrap",
    records.Withdraw: "unwrap",
    records.CancelOrder: "cancel order",
    records.CancelAllOrders: "cancel all orders",
}


def call_name(call: records.PlainCall) -> str:
    """What the step is called where it is sent alone."""
    match call:
        case records.TokenApproval(spender, amount):
            return (
                ("allow Permit2" if spender == PERMIT2 else "allow manager") if amount else "revoke"
            )
        case records.Permit2Approval(_, _, amount):
            return "allow through Permit2" if amount else "revoke"
        case _ if (protocol := protocols.of_call(call)) is not None:
            if protocol.dismissed_positions(call) and not isinstance(call, records.Multicall):
                return "unsubscribe"
            return _change_name(call)
        case _:
            return _NAMES[type(call)]


def _change_name(call: records.PlainCall) -> str:
    effects = protocols.effects_of(call)
    sold = any(isinstance(effect, Sale) for effect in effects)
    provisions = [effect for effect in effects if isinstance(effect, Provision)]
    taken = [effect for effect in effects if isinstance(effect, Withdrawal)]
    opened = any(provision.ref is None for provision in provisions)
    if sold:
        return "enter" if opened else "swap"
    if any(withdrawal.ends for withdrawal in taken):
        return "move" if opened else "exit"
    if provisions:
        return "create" if opened else "compound" if taken else "increase"
    if not taken:
        return "multicall"
    return "decrease" if any(withdrawal.liquidity for withdrawal in taken) else "collect"
