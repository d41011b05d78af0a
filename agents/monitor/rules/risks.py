"""The rules by which a position is risky: one pure function a kind, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agents.monitor.alerts.alert import AlertKind, Finding
from agents.monitor.rules import change_risks, hedge_risks, range_risks, worth_risks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agents.monitor.rules.situation import Situation
    from agents.monitor.rules.thresholds import Thresholds

Rule: TypeAlias = "Callable[[Situation, Thresholds, bool], Finding | None]"
"""Whether the matter stands; the flag says that its alert does, so that it is left less easily."""

RULES: Mapping[AlertKind, Rule] = {
    AlertKind.OUT_OF_RANGE: range_risks.out_of_range,
    AlertKind.NEAR_BOUNDARY: range_risks.near_boundary,
    AlertKind.LIKELY_TO_LEAVE: range_risks.likely_to_leave,
    AlertKind.FEES_WORTH_COLLECTING: worth_risks.fees_worth_collecting,
    AlertKind.POOL_DRAINED: change_risks.pool_drained,
    AlertKind.FEE_CHANGED: change_risks.fee_changed,
    AlertKind.HOOK_CHANGED: change_risks.hook_changed,
    AlertKind.APPROVAL_CHANGED: change_risks.approval_changed,
    AlertKind.PRICE_DISAGREEMENT: worth_risks.price_disagreement,
    AlertKind.PRICE_LEVEL: worth_risks.price_level,
    AlertKind.LOSS_LEVEL: worth_risks.loss_level,
    AlertKind.HEDGE_DRIFTED: hedge_risks.hedge_drifted,
}
"""What can be said of a position alone; a lost owner and a blind eye are told elsewhere."""

_NONE_STANDING: frozenset[AlertKind] = frozenset()


def findings(
    situation: Situation,
    thresholds: Thresholds,
    standing: Collection[AlertKind] = _NONE_STANDING,
) -> list[Finding]:
    """All that is the matter, given the kinds whose alerts stand already."""
    judged = (rule(situation, thresholds, kind in standing) for kind, rule in RULES.items())
    return [finding for finding in judged if finding is not None]
