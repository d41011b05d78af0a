"""What a phrase may mean after the desk has told something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.desk.events import (
    AlertsChanged,
    Event,
    OutboxReady,
    PlanChanged,
    PositionsChanged,
    RecordsReady,
    StatusChanged,
)
from zuno_tui.prompt.context import PhraseContext, held_positions

if TYPE_CHECKING:
    from zuno_tui.present.views import PlanView


def context_after(context: PhraseContext, event: Event) -> PhraseContext:
    """The context after the desk has told something."""
    match event:
        case PositionsChanged(view):
            after = replace(
                context,
                positions=tuple(row.token_id for row in view.rows),
                held=held_positions(view.rows),
            )
        case AlertsChanged(view):
            after = replace(
                context,
                alerts=tuple(row.alert_id for row in view.rows),
                alerts_of=tuple(
                    (row.alert_id, row.token_id)
                    for row in view.rows
                    if row.token_id is not None and not row.place
                ),
            )
        case PlanChanged(view):
            after = _with_plan(context, view)
        case RecordsReady(rows):
            after = replace(context, records=tuple(row.request_id for row in rows))
        case OutboxReady(rows):
            after = replace(context, sent=tuple(row.plan_id for row in rows))
        case StatusChanged(view):
            after = replace(
                context,
                network=view.network,
                has_market=view.market is not None,
                market_paused=view.market_paused,
                cancellable=any(job.cancellable for job in view.jobs),
            )
        case _:
            after = context
    return after


def _with_plan(context: PhraseContext, plan: PlanView | None) -> PhraseContext:
    if plan is None:
        return replace(
            context,
            plan_id=None,
            plan_position=None,
            candidates=(),
            argued=False,
            approved=False,
            applied=False,
        )
    # False sorts first, and the order of the card stays otherwise.
    options = sorted(plan.options, key=lambda option: not option.recommended)
    return replace(
        context,
        plan_id=plan.plan_id,
        plan_position=plan.token_id,
        candidates=tuple(one.candidate for one in options if one.candidate is not None),
        argued=bool(plan.options),
        applied=plan.result is not None,
        approved=plan.approval is not None and plan.result is None,
    )
