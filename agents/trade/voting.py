"""The judge without a model: experts vote by rank, trust and confidence; weak votes hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.trade.terms import HIERARCHY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.trade.findings import AnyFinding
    from agents.trade.limits import DeskLimits
    from agents.trade.terms import ExpertName, TradeMode

_RANK = (0.4, 0.3, 0.2, 0.1)
_MOST_CLAIMED = 25.0
"""Percentage points above even odds that a unanimous vote claims."""


class ExpertVote(Struct, frozen=True):
    direction: int
    """1 up, −1 down, 0 neither."""
    strength: float
    """From 0 to 1."""
    deadlock: ExpertName | None
    """Who decided where the experts were divided evenly."""

    @property
    def claimed_probability_pct(self) -> float:
        return 50 + self.strength * _MOST_CLAIMED


def count_votes(
    findings: Sequence[AnyFinding],
    trust: Mapping[ExpertName, float],
    mode: TradeMode,
    limits: DeskLimits,
) -> ExpertVote:
    order = HIERARCHY[mode]
    weight = {expert: _RANK[place] * trust[expert] for place, expert in enumerate(order)}
    total = sum(weight.values())
    if total <= 0:
        return ExpertVote(0, 0.0, None)
    score = sum(weight[one.expert] * one.confidence * one.bias.sign for one in findings) / total
    if abs(score) < limits.margin and _is_divided(findings):
        first = min(
            (one for one in findings if one.bias.sign), key=lambda one: order.index(one.expert)
        )
        strength = weight[first.expert] * first.confidence / total
        return ExpertVote(first.bias.sign, strength, first.expert)
    direction = 0 if score == 0 else 1 if score > 0 else -1
    return ExpertVote(direction, abs(score), None)


def _is_divided(findings: Sequence[AnyFinding]) -> bool:
    up = sum(one.bias.sign > 0 for one in findings)
    down = sum(one.bias.sign < 0 for one in findings)
    return up == down > 0
