"""The two ways out for a transaction that waits: pay more for it, or put nothing in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.rules import check_can_replace, least_dearer

if TYPE_CHECKING:
    from chain.execution.outbox.records import PlanStep
    from chain.execution.transaction import UnsignedTransaction

PLAIN_TRANSFER_GAS = 21_000


class Fees(Struct, frozen=True):
    max_fee_per_gas: int
    max_priority_fee_per_gas: int


def speed_up(step: PlanStep, *, market: Fees, cap: Fees) -> UnsignedTransaction:
    """The same transaction at the market's fees, and at least 12.5 % dearer than before."""
    before = _newest(step)
    fees = _dearer(before, market, cap)
    return replace(
        before,
        max_fee_per_gas=fees.max_fee_per_gas,
        max_priority_fee_per_gas=fees.max_priority_fee_per_gas,
    )


def cancellation(
    step: PlanStep, *, market: Fees, cap: Fees, gas: int = PLAIN_TRANSFER_GAS
) -> UnsignedTransaction:
    """Nothing sent to oneself with the step's nonce: once it is included the step cannot be."""
    return replace(
        speed_up(step, market=market, cap=cap),
        to=step.transaction.sender,
        value=0,
        data=b"",
        gas=gas,
    )


def _newest(step: PlanStep) -> UnsignedTransaction:
    check_can_replace(step)
    newest = step.newest
    if newest is None:
        raise OutboxError(f"{step.name} was never signed: there is nothing to replace.")
    return newest.transaction.unsigned


def _dearer(before: UnsignedTransaction, market: Fees, cap: Fees) -> Fees:
    tip = max(least_dearer(before.max_priority_fee_per_gas), market.max_priority_fee_per_gas)
    fee = max(least_dearer(before.max_fee_per_gas), market.max_fee_per_gas, tip)
    if fee > cap.max_fee_per_gas or tip > cap.max_priority_fee_per_gas:
        raise OutboxError(
            f"Replacing it would cost up to {fee} wei per gas, over the cap of"
            f" {cap.max_fee_per_gas}.",
            "Wait for cheaper blocks, or raise the cap in settings.toml.",
        )
    return Fees(fee, tip)
