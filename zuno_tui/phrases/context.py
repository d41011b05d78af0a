"""What stands on the desk while something is typed: what `it` can mean, what can be named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zuno_tui.desk.events import (
    AlertsChanged,
    OutboxReady,
    PlanChanged,
    PositionsChanged,
    RecordsReady,
    StatusChanged,
)

if TYPE_CHECKING:
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.views import PlanView


@dataclass(frozen=True, slots=True)
class Context:
    positions: tuple[int, ...] = ()
    selected: int | None = None
    """The position under the cursor."""
    plan_id: str | None = None
    plan_position: int | None = None
    candidates: tuple[str, ...] = ()
    """What `approve` takes of the plan on the card, the recommended one first."""
    approved: bool = False
    alerts: tuple[str, ...] = ()
    selected_alert: str | None = None
    records: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    """The plans in the outbox."""
    network: str = ""
    has_market: bool = False
    """Whether this is the embedded chain, whose clock can be stopped."""

    @property
    def it(self) -> int | None:
        """The position that `it` means."""
        if self.selected is not None:
            return self.selected
        if self.plan_position is not None:
            return self.plan_position
        return self.positions[0] if len(self.positions) == 1 else None

    def heard(self, event: Event) -> Context:
        """The context after the desk has told something."""
        match event:
            case PositionsChanged(view):
                after = replace(self, positions=tuple(row.token_id for row in view.rows))
            case AlertsChanged(view):
                after = replace(self, alerts=tuple(row.alert_id for row in view.rows))
            case PlanChanged(view):
                after = self._with_plan(view)
            case RecordsReady(rows):
                after = replace(self, records=tuple(row.request_id for row in rows))
            case OutboxReady(rows):
                after = replace(self, sent=tuple(row.plan_id for row in rows))
            case StatusChanged(view):
                after = replace(self, network=view.network, has_market=view.market is not None)
            case _:
                after = self
        return after

    def _with_plan(self, plan: PlanView | None) -> Context:
        if plan is None:
            return replace(self, plan_id=None, plan_position=None, candidates=(), approved=False)
        # False sorts first, and the order of the card stays otherwise.
        options = sorted(plan.options, key=lambda option: not option.recommended)
        return replace(
            self,
            plan_id=plan.plan_id,
            plan_position=plan.token_id,
            candidates=tuple(one.candidate for one in options if one.candidate is not None),
            approved=plan.approval is not None and plan.result is None,
        )
