"""The demo's hint line: what a newcomer could do next, by what has happened so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from zuno_tui.desk.events import DebateChanged, PlanChanged, PositionsChanged

if TYPE_CHECKING:
    from zuno_tui.desk.events import Event
    from zuno_tui.present.views import PlanView, PositionRow, PositionsView, Standing

# What is to be typed stands whole on a line of 80 columns: 76 of them are left for a hint.
_READING = "Reading the chain: the demo wallet and a week of its market."
_ARGUING = "Four agents argue about it. Watch the debate; the plan comes in a moment."
_APPROVED = "Nothing is signed yet. To read the transactions: press : and type apply"
_REFUSED = "Nothing was signed: things moved. Press : and type approve again"
_HOLD = "The plan says to leave it: there is nothing to sign. Ask about another one."
_MORE = "Applied. More at the prompt: inspect, create, records, exit drill, help"

_MATTERS: dict[Standing, str] = {
    "out of range": "is out of range: no fees until it is back",
    "near edge": "is near the edge of its range",
    "in range": "is in range; agents may know better",
    "empty": "is empty",
}
_URGENCY: tuple[Standing, ...] = tuple(_MATTERS)


class Guide(Struct, frozen=True):
    """What has happened, as far as the next hint depends on it."""

    urgent: PositionRow | None = None
    """The position that most wants attention."""
    arguing: bool = False
    plan: PlanView | None = None
    applied: bool = False

    def heard(self, event: Event) -> Guide:
        """The guide after the desk has told something."""
        match event:
            case PositionsChanged(positions) if positions.rows:
                return replace(self, urgent=_most_urgent(positions))
            case DebateChanged(debate):
                return replace(self, arguing=debate.ended is None)
            case PlanChanged(plan):
                return replace(self, plan=plan, applied=self.applied or _went_well(plan))
        return self

    @property
    def hint(self) -> str:
        if self.arguing:
            return _ARGUING
        if self.plan is not None and not _went_well(self.plan):
            return _about(self.plan)
        if self.applied:
            return _MORE
        if self.urgent is None:
            return _READING
        token_id, matter = self.urgent.token_id, _MATTERS[self.urgent.standing]
        return f"#{token_id} {matter}. Press r: four agents argue."


def _about(plan: PlanView) -> str:
    if plan.result is not None:
        return (
            _REFUSED
            if plan.result.state == "refused"
            else "See where things stand: press : and type outbox"
        )
    if plan.approval is not None:
        return _APPROVED
    chosen = next((one for one in plan.options if one.recommended), None)
    if chosen is None or chosen.candidate is None:
        return _HOLD
    return f"The plan says {chosen.name}. To build and try it: press a, then Enter"


def _went_well(plan: PlanView | None) -> bool:
    result = None if plan is None else plan.result
    return result is not None and result.done


def _most_urgent(view: PositionsView) -> PositionRow:
    """By its state; of two alike the one without a hook or a stranger's hand on it."""
    return min(view.rows, key=lambda row: (_URGENCY.index(row.standing), len(row.notes)))
