"""Which model each office of the trade desk asks: its own, that of `[model]`, or the usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.model.settings import ModelSettings, RoleModels
from agents.trade.routing import (
    FALLBACK_MODEL,
    ROLE_ROUTES,
    ROUTES,
    RouteName,
    falls_back,
    provider_of,
)
from chain.base.redaction import SecretStruct
from zuno_tui.settings.models import ModelChoice, role_choice
from zuno_tui.settings.schema import RoleModelTable

if TYPE_CHECKING:
    from zuno_tui.settings.load import Settings

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
    own = settings.trade.models.fallback
    if own != RoleModelTable():
        stand_in = role_choice(Role("fallback"), settings.model, _with_provider(own), environment)
    searching = settings.trade.narrative
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
    own: RoleModelTable = getattr(settings.trade.models, name.value)
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
    return any(one is not None for one in told) or any(environment.get(one) for one in variables)
