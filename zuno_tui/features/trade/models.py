"""Which model each office of the trade desk asks, and those models opened."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.bus.run import Listener
from agents.bus.worker import BusLimits
from agents.memory.lesson_writing import FEEDBACK, POST_MORTEM
from agents.model.budget import Budget, BudgetLimits, Spent, TokenRate
from agents.model.interface import Model, ModelSettings, RoleModels
from agents.trade.observe.news import EXTRACTION
from agents.trade.payloads import GEOMETRY
from agents.trade.routing import (
    FALLBACK_MODEL,
    ROLE_ROUTES,
    ROUTES,
    RouteName,
    falls_back,
    provider_of,
)
from chain.base.clean_text import SecretStruct
from zuno_tui.app.debate_setup import debate_limits, with_keys
from zuno_tui.app.session import Session
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import ModelChoice, debate_settings, role_choice, rules_only
from zuno_tui.settings.load import Settings
from zuno_tui.settings.schema import RoleModelTable

if TYPE_CHECKING:
    from zuno_tui.features.trade.chart import PngArtist

_OWN_ROLES = (RouteName.FEEDBACK, RouteName.POST_MORTEM, RouteName.EXTRACTION, RouteName.CHAT)
"""Offices outside the flow, each a role of its own."""


class DeskModels(SecretStruct, frozen=True):
    """Who is asked for each role of the desk."""

    choices: Mapping[Role, ModelChoice]
    fallback: ModelSettings | None
    """Who stands in for a Claude or a GPT whose API fails; None where nobody can."""
    narrative: ModelSettings | None = None
    """Who searches the web for the narrative; None where nobody is set."""
    roles: frozenset[Role] = field(default_factory=frozenset)
    """Those that ask anybody."""

    @property
    def models(self) -> RoleModels | None:
        asked = {role: self.choices[role].settings for role in self.choices if role in self.roles}
        return RoleModels(next(iter(asked.values())), asked) if asked else None

    @property
    def names(self) -> dict[str, str]:
        """The model that each role of the flow asks first."""
        return {
            role: self.choices[role].settings.model for role in ROLE_ROUTES if role in self.roles
        }

    @property
    def falling_back(self) -> frozenset[Role]:
        if self.fallback is None:
            return frozenset()
        return frozenset(
            role for role in self.roles if falls_back(self.choices[role].settings.model)
        )


def desk_models(settings: Settings, environment: Mapping[str, str]) -> DeskModels:
    """Nothing that the person chose is overruled: an office's own setting comes first, then what
    `[model]` names, and the usual models only where nobody chose and a key for them is there."""
    routes = {name: _route_choice(name, settings, environment) for name in RouteName}
    choices = {role: routes[name] for role, name in ROLE_ROUTES.items()}
    choices |= {Role(name.value): routes[name] for name in _OWN_ROLES}
    stand_in = _usual(Role("fallback"), FALLBACK_MODEL, settings, environment)
    own = settings.table(TradeTable).models.fallback
    if own != RoleModelTable():
        stand_in = role_choice(Role("fallback"), settings.model, _with_provider(own), environment)
    searching = settings.table(TradeTable).narrative
    narrative = (
        None
        if searching == RoleModelTable()
        else role_choice(Role("narrative"), settings.model, _with_provider(searching), environment)
    )
    return DeskModels(
        choices,
        stand_in.settings if stand_in.has_key else None,
        narrative.settings if narrative is not None and narrative.has_key else None,
        frozenset(role for role, choice in choices.items() if choice.has_key),
    )


def _route_choice(
    name: RouteName, settings: Settings, environment: Mapping[str, str]
) -> ModelChoice:
    role, table = Role(name.value), settings.model
    own: RoleModelTable = getattr(settings.table(TradeTable).models, name.value)
    if own != RoleModelTable():
        return role_choice(role, table, _with_provider(own), environment)
    if not _has_chosen(settings, environment):
        usual = _usual(role, ROUTES[name].model, settings, environment)
        if usual.has_key:
            return usual
    return role_choice(role, table, RoleModelTable(), environment)


def _usual(
    role: Role, model: str, settings: Settings, environment: Mapping[str, str]
) -> ModelChoice:
    return role_choice(
        role, settings.model, _with_provider(RoleModelTable(name=model)), environment
    )


def _with_provider(own: RoleModelTable) -> RoleModelTable:
    """A name alone picks who serves it, by how it begins."""
    if own.name is None or own.provider is not None or own.base_url is not None:
        return own
    provider = provider_of(own.name)
    return own if provider is None else replace(own, provider=provider)


def _has_chosen(settings: Settings, environment: Mapping[str, str]) -> bool:
    table = settings.model
    told = (table.name, table.provider, table.base_url)
    variables = ("ZUNO_AGENT_MODEL", "OPENAI_BASE_URL")
    return any(setting is not None for setting in told) or any(
        environment.get(variable) for variable in variables
    )


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
    spent: Callable[[], Spent] = Spent
    """Until now."""

    def artist(self, record: Path, *, reported: bool) -> PngArtist | None:
        """Who draws for the role that sees, and for a report that is sent; a picture that nobody
        looks at is not drawn."""
        if not (reported or GEOMETRY in self.names) or find_spec("matplotlib") is None:
            return None
        from zuno_tui.features.trade.chart import PngArtist

        return PngArtist(record.with_suffix(".png"))


def within(limits: BudgetLimits, most: BudgetLimits) -> BudgetLimits:
    """Of both the smaller, for one run."""

    def smaller(one: int | None, other: int | None) -> int | None:
        return min((each for each in (one, other) if each is not None), default=None)

    return replace(
        limits,
        debate_tokens=smaller(limits.debate_tokens, most.debate_tokens),
        debate_nano_usd=smaller(limits.debate_nano_usd, most.debate_nano_usd),
    )


def refuse_unpriced(
    models: RoleModels, most: BudgetLimits, prices: Mapping[str, TokenRate]
) -> None:
    """Dollars bind only where they are known."""
    unknown = sorted({model.model for model in models.each()} - prices.keys())
    if most.debate_nano_usd is not None and unknown:
        raise SettingsError(
            f"A watch in dollars must know what {unknown[0]} costs: add it under [model.prices], "
            "or limit tokens."
        )


@asynccontextmanager
async def open_models(
    session: Session, listener: Listener | None = None, most: BudgetLimits | None = None
) -> AsyncIterator[OpenModels]:
    """For as long as the block lasts."""
    chosen = desk_models(session.settings, os.environ)
    settings = debate_settings(session.settings, os.environ, profile=None, deterministic=False)
    alone = session.flags.deterministic or rules_only(session.settings, os.environ)
    wanted = chosen.models
    if alone or (wanted is None and chosen.narrative is None):
        yield OpenModels()
        return
    from agents.model.abilities import AbilityMemory
    from agents.model.client import ModelWithFallback, OpenAIModel
    from agents.model.connection import ModelConnections

    heard = listener or Listener()
    keys: set[str] = set()
    with session.open_store() as store:
        limits = settings.limits if most is None else within(settings.limits, most)
        if most is not None and wanted is not None:
            refuse_unpriced(wanted, most, settings.prices)
        budget = Budget(limits, settings.prices, store, clock=time.time).debate()
        memory = AbilityMemory(store, time.time)
        async with ModelConnections() as connections:

            async def open_model(models: RoleModels) -> Model:
                keyed = await with_keys(models) or models
                keys.update(model.api_key for model in keyed.each() if model.api_key)
                await connections.load(keyed)
                return OpenAIModel(
                    keyed,
                    connections,
                    budget,
                    memory,
                    clock=time.time,
                    on_thinking=heard.on_thinking,
                )

            model = None if wanted is None else await open_model(wanted)
            if model is not None and chosen.fallback is not None:
                second = await open_model(RoleModels(chosen.fallback))
                model = ModelWithFallback(model, second, chosen.falling_back)

            def model_of(role: Role) -> Model | None:
                return model if role in chosen.roles else None

            search = chosen.narrative
            narrative = None if search is None else await open_model(RoleModels(search))
            yield OpenModels(
                model,
                {} if model is None else chosen.names,
                narrative,
                debate_limits(settings),
                limits.debate_tokens,
                tuple(sorted(keys)),
                filing=model_of(EXTRACTION),
                lessons=model_of(POST_MORTEM),
                feedback=model_of(FEEDBACK),
                chat=model_of(Role(RouteName.CHAT.value)),
                spent=lambda: budget.report().debate,
            )
