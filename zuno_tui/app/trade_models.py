"""Opening the models of the trade desk: who is asked, who stands in, and what it may cost."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agents.bus.envelope import Role
from agents.bus.run import Listener
from agents.memory.lesson_writing import FEEDBACK, POST_MORTEM
from agents.model.budget import Budget
from agents.model.settings import RoleModels
from agents.trade.observe.news import EXTRACTION
from agents.trade.payloads import GEOMETRY
from agents.trade.routing import RouteName
from zuno_tui.app.debate_setup import debate_limits, with_keys
from zuno_tui.settings.debates import debate_settings, rules_only
from zuno_tui.settings.trade_models import desk_models

if TYPE_CHECKING:
    from agents.bus.transport import BusLimits
    from agents.model.interface import Model
    from agents.trade.services import ChartArtist
    from zuno_tui.app.session import Session


class OpenModels(Struct, frozen=True):
    """What one question to the desk has of models; nothing where the rules speak alone."""

    model: Model | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    narrative: Model | None = None
    limits: BusLimits | None = None
    tokens: int | None = None
    secrets: tuple[str, ...] = ()
    filing: Model | None = None
    """Who extracts what strangers wrote before it is filed."""
    lessons: Model | None = None
    """Who words what one trade taught."""
    feedback: Model | None = None
    """Who words what all of them taught."""
    chat: Model | None = None
    """Who answers questions from facts."""

    def artist(self, record: Path, *, reported: bool) -> ChartArtist | None:
        """Who draws for the role that sees, and for a report that is sent; a picture that nobody
        looks at is not drawn."""
        if not (reported or GEOMETRY in self.names) or find_spec("matplotlib") is None:
            return None
        from zuno_tui.charts.drawing import PngArtist

        return PngArtist(record.with_suffix(".png"))


@asynccontextmanager
async def open_models(
    session: Session, listener: Listener | None = None
) -> AsyncIterator[OpenModels]:
    """For as long as the block lasts."""
    chosen = desk_models(session.settings, os.environ)
    settings = debate_settings(session.settings, os.environ, profile=None, deterministic=False)
    wanted = None if rules_only(session.settings, os.environ) else chosen.models
    if wanted is None and chosen.narrative is None:
        yield OpenModels()
        return
    from agents.model.abilities import AbilityMemory
    from agents.model.client import ModelWithFallback, OpenAIModel
    from agents.model.connection import ModelConnections

    heard = listener or Listener()
    keys: set[str] = set()
    with session.open_store() as store:
        budget = Budget(settings.limits, settings.prices, store, clock=time.time).debate()
        memory = AbilityMemory(store, time.time)
        async with ModelConnections() as connections:

            async def opened(models: RoleModels) -> Model:
                keyed = await with_keys(models) or models
                keys.update(one.api_key for one in keyed.each() if one.api_key)
                return OpenAIModel(
                    keyed,
                    connections,
                    budget,
                    memory,
                    clock=time.time,
                    on_thinking=heard.on_thinking,
                )

            model = None if wanted is None else await opened(wanted)
            if model is not None and chosen.fallback is not None:
                second = await opened(RoleModels(chosen.fallback))
                model = ModelWithFallback(model, second, chosen.falling_back)
            search = chosen.narrative
            narrative = None if search is None else await opened(RoleModels(search))
            yield OpenModels(
                model,
                {} if model is None else chosen.names,
                narrative,
                debate_limits(settings),
                settings.limits.debate_tokens,
                tuple(sorted(keys)),
                *(
                    model if role in chosen.roles else None
                    for role in (EXTRACTION, POST_MORTEM, FEEDBACK, Role(RouteName.CHAT.value))
                ),
            )
