"""What the tools say of a position's past."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.model.numerals import Unit

if TYPE_CHECKING:
    from agents.lp.facts import ObservedPool, PastChange, PositionPast
    from agents.model.brief import Brief

_HOUR = 3_600
_LATEST = 5


def past_answer(brief: Brief, past: PositionPast, observed: ObservedPool) -> str:
    def worth(units: float | None) -> str:
        each = observed.token1.usd_per_unit
        known = None if units is None or each is None else units * each
        return brief.number(known, Unit.USD)

    age = None if past.age_seconds is None else past.age_seconds / _HOUR
    latest = "; ".join(_change(brief, change) for change in past.changes[-_LATEST:])
    changes = f" The latest: {latest}." if latest else ""
    return (
        f"Opened {brief.number(age, Unit.HOURS)} ago; changes since then "
        f"{brief.number(past.changes_in_all, Unit.COUNT)}. At present prices: put in "
        f"{worth(past.deposited)}, taken out {worth(past.withdrawn)}, fees earned "
        f"{worth(past.fees_earned)}, of these collected {worth(past.fees_collected)}; better than "
        f"just holding by {worth(past.against_holding)}; without fees "
        f"{brief.number(past.impermanent_loss, Unit.FRACTION)} against holding.{changes}"
    )


def _change(brief: Brief, change: PastChange) -> str:
    when = brief.number(round(change.age_seconds / _HOUR, 2), Unit.HOURS)
    if not change.liquidity_delta:
        return f"fees collected {when} ago"
    return f"liquidity {'added' if change.liquidity_delta > 0 else 'removed'} {when} ago"
