"""Many contract reads in one: Multicall3's `aggregate3`, where each call may fail on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.abi import AbiError, decode, encode_call
from chain.rpc.requests import Request, call
from chain.rpc.values import InvalidValueError
from chain.rpc.values import data as hex_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.networks import Address
    from chain.rpc.types import BlockRef

_AGGREGATE = "aggregate3((address,bool,bytes)[])"


@dataclass(frozen=True, slots=True)
class Call:
    target: Address
    data: bytes


@dataclass(frozen=True, slots=True)
class CallOutcome:
    success: bool
    data: bytes
    """What the contract returned; the reason where it failed."""


def aggregate(calls: Sequence[Call]) -> bytes:
    """Calldata that makes all calls, letting each fail without the others."""
    return encode_call(_AGGREGATE, [(one.target, True, one.data) for one in calls])


def decode_aggregate(answer: bytes) -> list[CallOutcome]:
    """The outcomes in the order of the calls; raises `AbiError` on anything else."""
    [outcomes] = decode(["(bool,bytes)[]"], answer)
    return [CallOutcome(success, data) for success, data in outcomes]


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
