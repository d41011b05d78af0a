"""Many contract reads in one: Multicall3's `aggregate3`, where each call may fail on its own."""

from collections.abc import Sequence

from msgspec import Struct

from chain.contracts.abi import WORD, AbiError, address_bytes, selector
from chain.contracts.networks import Address
from chain.rpc.records import BlockRef
from chain.rpc.requests import Request, call
from chain.rpc.values import InvalidValueError
from chain.rpc.values import data as hex_data

_AGGREGATE = "aggregate3((address,bool,bytes)[])"

# A monitor makes tens of thousands of calls a poll: both layouts are spelled out here, where
# `chain.contracts.abi` would walk through their types for every single one.
_ARRAY_FOLLOWS = WORD.to_bytes(WORD, "big")
_MAY_FAIL_AND_BYTES_FOLLOW = (1).to_bytes(WORD, "big") + (3 * WORD).to_bytes(WORD, "big")
_BYTES_FOLLOW = 2 * WORD


class Call(Struct, frozen=True):
    target: Address
    data: bytes


class CallOutcome(Struct, frozen=True):
    success: bool
    data: bytes
    """What the contract returned; the reason where it failed."""


def aggregate(calls: Sequence[Call]) -> bytes:
    """Calldata that makes all calls, letting each fail without the others."""
    targets: dict[Address, bytes] = {}
    offsets: list[bytes] = []
    bodies: list[bytes] = []
    offset = WORD * len(calls)
    for request in calls:
        target = targets.get(request.target)
        if target is None:
            target = targets[request.target] = bytes(12) + address_bytes(request.target)
        length = len(request.data)
        head = target + _MAY_FAIL_AND_BYTES_FOLLOW + length.to_bytes(WORD, "big")
        body = head + request.data + bytes(-length % WORD)
        offsets.append(offset.to_bytes(WORD, "big"))
        bodies.append(body)
        offset += len(body)
    count = len(calls).to_bytes(WORD, "big")
    return b"".join((selector(_AGGREGATE), _ARRAY_FOLLOWS, count, *offsets, *bodies))


def decode_aggregate(answer: bytes) -> list[CallOutcome]:
    """The outcomes in the order of the calls; raises `AbiError` on anything else.

    Only the canonical layout passes: every byte is read once, in order, and none is left over.
    """
    word = int.from_bytes
    if len(answer) < 2 * WORD or answer[:WORD] != _ARRAY_FOLLOWS:
        raise AbiError("The outcomes do not begin where they must.")
    count = word(answer[WORD : 2 * WORD], "big")
    base = 2 * WORD
    if count * WORD > len(answer) - base:
        raise AbiError(f"{count} outcomes are announced, beyond the data's end.")
    at = base + count * WORD
    outcomes: list[CallOutcome] = []
    for place in range(base, at, WORD):
        if word(answer[place : place + WORD], "big") != at - base:
            raise AbiError(f"The offset at byte {place} does not point to the next outcome.")
        success = word(answer[at : at + WORD], "big")
        follows = word(answer[at + WORD : at + 2 * WORD], "big")
        length = word(answer[at + 2 * WORD : at + 3 * WORD], "big")
        start = at + 3 * WORD
        at = start + length + -length % WORD
        if success > 1 or follows != _BYTES_FOLLOW or at > len(answer):
            raise AbiError(f"The outcome before byte {start} is not laid out as it must be.")
        if any(answer[start + length : at]):
            raise AbiError(f"The bytes at {start} are not padded with zeros to whole words.")
        outcomes.append(CallOutcome(success == 1, answer[start : start + length]))
    if at != len(answer):
        raise AbiError(f"{len(answer) - at} bytes are left over after the outcomes.")
    return outcomes


def multicall(
    multicall3: Address,
    calls: Sequence[Call],
    at: BlockRef = "latest",
    *,
    answer_bytes: int | None = None,
) -> Request[list[CallOutcome]]:
    """One `eth_call` for all; an answer with another number of outcomes is refused."""
    asked = call(multicall3, aggregate(calls), at, answer_bytes=answer_bytes)

    def parse(value: object) -> list[CallOutcome]:
        try:
            outcomes = decode_aggregate(hex_data(value))
        except AbiError:
            outcomes = None
        if outcomes is None or len(outcomes) != len(calls):
            raise InvalidValueError("the outcomes of other calls than those asked for")
        return outcomes

    return Request(
        asked.method,
        asked.params,
        parse,
        block_param=asked.block_param,
        answer_bytes=asked.answer_bytes,
    )
