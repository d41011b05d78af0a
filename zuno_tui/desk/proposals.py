"""What a model takes an unknown phrase for: put in the prompt, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.desk.events import PhraseProposed

if TYPE_CHECKING:
    from zuno_tui.catalog.intents import SayPhrase
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.settings.debates import DebateSettings

_PATIENCE = 60.0


class PhraseProposals:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def propose(self, intent: SayPhrase) -> None:
        """Nothing happens where no model is set, or one is asked about another phrase."""
        from zuno_tui.settings.debates import debate_settings

        opening = self._desk_context.opening
        settings = debate_settings(
            self._desk_context.session.settings,
            opening.environment,
            profile=None,
            deterministic=opening.deterministic,
        )
        if settings.model is None or self._desk_context.jobs.is_running("phrase"):
            return
        self._desk_context.jobs.start(
            "phrase",
            "Asking the model what is meant",
            lambda _: self._ask(settings, intent.phrase),
            seconds=_PATIENCE,
        )

    async def _ask(self, settings: DebateSettings, typed: str) -> None:
        from agents.bus.run import Listener
        from zuno_tui.app.debate_setup import live_model, with_keys
        from zuno_tui.catalog.registry import registry
        from zuno_tui.prompt.model_phrase import phrase_of_model

        settings = replace(settings, model=await with_keys(settings.model))
        store = self._desk_context.sources.store
        async with live_model(settings, store, Listener()) as (model, _budget):
            phrase = None if model is None else await phrase_of_model(typed, model, registry())
        if phrase:
            self._desk_context.tell(PhraseProposed(typed, phrase))
