"""The last word: everything held, waiting and new stays within twice the account, or nothing does.

Plain arithmetic. What is unknown counts as too much.
"""

from enum import StrEnum
from math import inf, isfinite

from msgspec import Struct

from agents.trade.terms import DeskLimits


class GuardReason(StrEnum):
    PASSED = "passed"
    SCALED = "scaled"
    UNKNOWN_EQUITY = "unknown_equity"
    UNKNOWN_EXPOSURE = "unknown_exposure"
    FULL = "full"
    """Nothing more fits under the cap."""
    TOO_SMALL = "too_small"
    """What fits is less than the venue takes."""


class VenueExposure(Struct, frozen=True):
    """What one position or waiting order stands for, in dollars; None where that is unknown."""

    venue: str
    symbol: str
    notional: float | None


class GuardFacts(Struct, frozen=True):
    equity: float | None
    exposures: tuple[VenueExposure, ...]
    least_notional: float


class GuardJudgment(Struct, frozen=True):
    reason: GuardReason
    notional: float
    """What may be opened, at most what was asked for."""
    exposure: float | None
    """What is held and waiting, gross."""
    leverage_before: float | None
    leverage_after: float | None

    @property
    def allows(self) -> bool:
        return self.notional > 0


def guard(asked: float, facts: GuardFacts, limits: DeskLimits) -> GuardJudgment:
    """How much of a new exposure fits; asked for nothing, it only tells where things stand."""
    equity = facts.equity
    if equity is None or not isfinite(equity) or equity <= 0:
        return GuardJudgment(GuardReason.UNKNOWN_EQUITY, 0.0, None, None, None)
    amounts = [
        abs(exposure.notional) if exposure.notional is not None else inf
        for exposure in facts.exposures
    ]
    exposure = sum(amounts)
    if not isfinite(exposure) or not isfinite(asked):
        return GuardJudgment(GuardReason.UNKNOWN_EXPOSURE, 0.0, None, None, None)
    before = exposure / equity
    room = limits.account_leverage * equity - exposure
    fits = min(max(asked, 0.0), max(room, 0.0))
    # The sum that is checked later is made of the same floats in another order.
    while fits > 0 and exposure + fits > limits.account_leverage * equity:
        fits *= 1 - 1e-12
    if asked > 0 and fits <= 0:
        return GuardJudgment(GuardReason.FULL, 0.0, exposure, before, before)
    if asked > 0 and fits < facts.least_notional:
        return GuardJudgment(GuardReason.TOO_SMALL, 0.0, exposure, before, before)
    reason = GuardReason.PASSED if fits >= asked else GuardReason.SCALED
    return GuardJudgment(reason, fits, exposure, before, (exposure + fits) / equity)
