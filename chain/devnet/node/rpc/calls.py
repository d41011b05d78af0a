"""Trying a call without sending it, and finding the gas it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.devnet.node.records import to_hex
from chain.devnet.node.rpc.faults import failed, stopped
from chain.devnet.node.rpc.messages import (
    CALL_GAS_CAP,
    CALL_SECONDS,
    for_this_chain,
    message,
    overrides,
)
from chain.devnet.node.rpc.references import LATEST, reference, state_at
from chain.devnet.node.transactions import BASE_GAS, TransactionRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chain.devnet.node.execution import BlockState
    from chain.devnet.node.messages import Message, Outcome
    from chain.devnet.node.node import Node
    from chain.devnet.node.rpc.faults import Json
    from chain.devnet.node.rpc.fields import Params

CALL_STIPEND = 2_300
ESTIMATE_PRECISION = 0.015
"""How far above the least sufficient gas an estimate may end, as in geth."""


def call(node: Node, params: Params) -> Json:
    wanted = for_this_chain(node, params.take(message))
    at = params.maybe(reference, LATEST)
    changed = params.maybe(overrides, None)
    gas = CALL_GAS_CAP if wanted.gas is None else min(wanted.gas, CALL_GAS_CAP)
    state = state_at(node, at, changed)
    outcome = state.call(replace(wanted, gas=gas), time_limit=CALL_SECONDS)
    if not outcome.success:
        raise stopped(outcome)
    return to_hex(outcome.output)


def estimate_gas(node: Node, params: Params) -> Json:
    wanted = for_this_chain(node, params.take(message))
    at = params.maybe(reference, LATEST)
    changed = params.maybe(overrides, None)
    return hex(least_gas(state_at(node, at, changed), wanted))


def least_gas(state: BlockState, wanted: Message) -> int:
    """Bisect between what the call used and what it may use, as contracts can look at their gas."""
    most = _affordable(state, wanted, min(wanted.gas or CALL_GAS_CAP, state.environment.gas_limit))

    def attempt(gas: int) -> Outcome:
        return state.call(replace(wanted, gas=gas), time_limit=CALL_SECONDS)

    first = attempt(most)
    if not first.success:
        if first.reverted or wanted.gas is None:
            raise stopped(first)
        raise failed(f"gas required exceeds allowance ({most})")
    if first.gas_used == BASE_GAS:
        return BASE_GAS  # a plain transfer: nothing costs less
    spent = first.gas_used + first.gas_refunded
    # A call passes on at most 63/64 of the gas, and one with value needs the stipend beside.
    likely = (spent + CALL_STIPEND) * 64 // 63
    low = first.gas_used - 1
    if likely < most:
        low, most = (low, likely) if _suffices(attempt, likely) else (likely, most)
    while low + 1 < most and (most - low) / most > ESTIMATE_PRECISION:
        middle = min((low + most) // 2, low * 2)
        low, most = (low, middle) if _suffices(attempt, middle) else (middle, most)
    return most


def _suffices(attempt: Callable[[int], Outcome], gas: int) -> bool:
    try:
        return attempt(gas).success
    except TransactionRefusedError:
        return False


def _affordable(state: BlockState, wanted: Message, gas: int) -> int:
    if not wanted.max_fee_per_gas:
        return gas
    left = state.balance(wanted.sender) - wanted.value
    allowance = max(left, 0) // wanted.max_fee_per_gas
    if allowance < BASE_GAS:
        raise failed(f"gas required exceeds allowance ({allowance})")
    return min(gas, allowance)


METHODS: Mapping[str, Callable[[Node, Params], Json]] = {
    "eth_call": call,
    "eth_estimateGas": estimate_gas,
}
