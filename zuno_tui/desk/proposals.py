"""What a model takes an unknown phrase for: put in the prompt, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import (
    AlertsChanged,
    Event,
    OutboxReady,
    PhraseProposed,
    PlanChanged,
    PositionsChanged,
    RecordsReady,
    StatusChanged,
)
from zuno_tui.intents.context import PhraseContext, held_positions
from zuno_tui.intents.intents import SayPhrase
from zuno_tui.present.views import PlanView

if TYPE_CHECKING:
    from zuno_tui.settings.debates import DebateSettings


def context_after(context: PhraseContext, event: Event) -> PhraseContext:
    """The context after the desk has told something."""
    match event:
        case PositionsChanged(view):
            after = replace(
                context,
                positions=tuple(row.ref for row in view.rows),
                held=held_positions(view.rows),
            )
        case AlertsChanged(view):
            after = replace(
                context,
                alerts=tuple(row.alert_id for row in view.rows),
                alerts_of=tuple(
                    (row.alert_id, row.ref)
                    for row in view.rows
                    if row.ref is not None and not row.place
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
        plan_position=plan.ref,
        candidates=tuple(option.candidate for option in options if option.candidate is not None),
        argued=bool(plan.options),
        applied=plan.result is not None,
        approved=plan.approval is not None and plan.result is None,
    )


_PATIENCE = 60.0


class PhraseProposals:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def propose(self, intent: SayPhrase) -> None:
        """Nothing happens where no model is set, or one is asked about another phrase."""
        from zuno_tui.settings.debates import debate_settings

        opening = self._context.opening
        settings = debate_settings(
            self._context.session.settings,
            opening.environment,
            profile=None,
            deterministic=opening.deterministic,
        )
        if settings.model is None or self._context.jobs.is_running("phrase"):
            return
        self._context.jobs.start(
            "phrase",
            "Asking the model what is meant",
            lambda _: self._ask(settings, intent.phrase),
            seconds=_PATIENCE,
        )

    async def _ask(self, settings: DebateSettings, typed: str) -> None:
        from agents.bus.run import Listener
        from zuno_tui.app.debate_setup import live_model, with_keys
        from zuno_tui.catalog.model_phrase import phrase_of_model
        from zuno_tui.catalog.registry import registry

        settings = replace(settings, model=await with_keys(settings.model))
        store = self._context.sources.store
        async with live_model(settings, store, Listener()) as (model, _budget):
            phrase = None if model is None else await phrase_of_model(typed, model, registry())
        if phrase:
            self._context.tell(PhraseProposed(typed, phrase))
