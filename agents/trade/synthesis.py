"""Four findings as one map of agreements and conflicts, for a judge who need not read them raw."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from agents.trade.findings import Conflict, ConflictMap
from agents.trade.terms import HIERARCHY, Bias, ExpertName, bias_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.trade.findings import AnyFinding, RegimeCall
    from agents.trade.terms import TradeMode


def conflict_map(
    findings: Sequence[AnyFinding], regime: RegimeCall, mode: TradeMode
) -> ConflictMap:
    by_expert = {one.expert: one for one in findings}
    opposed = [
        (one, other)
        for one, other in combinations(findings, 2)
        if one.bias.sign * other.bias.sign < 0
    ]
    strongest = max(findings, key=lambda one: (one.confidence, -list(ExpertName).index(one.expert)))
    return ConflictMap(
        consensus_signals=_consensus(by_expert),
        conflicts=tuple(
            Conflict(
                between=(one.expert, other.expert),
                expert_a_claim=_claim(one),
                expert_b_claim=_claim(other),
                tiebreaker=_tiebreaker(one.expert, other.expert, mode),
            )
            for one, other in opposed
        ),
        dominant_signal=_dominant(findings, regime),
        highest_confidence_expert=strongest.expert,
        key_uncertainty=_uncertainty(findings, opposed),
        regime_note=f"{regime.regime.value}: {regime.trust_directive}",
        fallback=True,
    )


def _claim(finding: AnyFinding) -> str:
    return f"{finding.bias.value} at {finding.confidence:.0%}: {finding.rationale}"


def _consensus(findings: Mapping[ExpertName, AnyFinding]) -> tuple[str, ...]:
    """What nobody contradicts, with the prices it hangs on."""
    signs = {one.bias.sign for one in findings.values() if one.bias.sign}
    if len(signs) != 1:
        return ()
    who = ", ".join(one.expert.spoken for one in findings.values() if one.bias.sign)
    geometry = findings.get(ExpertName.GEOMETRY)
    places = ""
    if geometry is not None and geometry.expert is ExpertName.GEOMETRY:
        levels = geometry.key_levels
        found = [levels.immediate_support, levels.immediate_resistance]
        known = [f"{price:,.2f}" for price in found if price is not None]
        places = f", between {' and '.join(known)}" if known else ""
    return (f"{bias_of(signs.pop()).value} by {who}{places}",)


def _tiebreaker(one: ExpertName, other: ExpertName, mode: TradeMode) -> str:
    first = min(one, other, key=HIERARCHY[mode].index)
    return f"{first.spoken} comes first in {mode.value} trading"


def _dominant(findings: Sequence[AnyFinding], regime: RegimeCall) -> Bias:
    total = sum(one.bias.sign * one.confidence * regime.weights[one.expert] for one in findings)
    return bias_of(round(total, 6))


def _uncertainty(
    findings: Sequence[AnyFinding], opposed: Sequence[tuple[AnyFinding, AnyFinding]]
) -> str:
    if opposed:
        one, other = opposed[0]
        return f"Who is right, {one.expert.spoken} or {other.expert.spoken}?"
    silent = [one.expert.spoken for one in findings if not one.bias.sign]
    if silent:
        return f"What would {silent[0]} say if it saw more?"
    return "What would have to happen for all of them to be wrong at once?"
