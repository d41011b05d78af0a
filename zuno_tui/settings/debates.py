"""How the person wants debates held: profile, rounds, which model, and what it may cost."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.lp.debate import DEFAULT_ROUNDS, LP_FLOW
from agents.lp.payloads import MOST_ROUNDS
from agents.model.budget import NANO, BudgetLimits, TokenRate
from agents.model.settings import DEFAULT_MODEL, OPENAI_URL, ModelSettings
from agents.numbers.profiles import RiskProfile
from zuno_tui.settings.load import (
    SettingsError,
    checked_switch,
    checked_url,
    refuse_unknown,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zuno_tui.settings.load import Settings

_DEBATE_KEYS = {"profile", "rounds", "deterministic"}
_MODEL_KEYS = {"name", "prices", "budget", *LP_FLOW.handlers}
_BUDGET_KEYS = {"debate_tokens", "day_tokens", "debate_usd", "day_usd"}


class DebateSettings(Struct, frozen=True):
    profile: RiskProfile
    max_rounds: int
    model: ModelSettings | None
    """None: no key, or the person wants the rules alone."""
    limits: BudgetLimits
    prices: Mapping[str, TokenRate]


def debate_settings(
    settings: Settings, environment: Mapping[str, str], *, profile: str | None, deterministic: bool
) -> DebateSettings:
    refuse_unknown("debate", settings.debate, _DEBATE_KEYS)
    refuse_unknown("model", settings.model, _MODEL_KEYS)
    chosen = profile or environment.get("ZUNO_RISK_PROFILE") or settings.debate.get("profile")
    rounds = environment.get("ZUNO_MAX_DEBATE_ROUNDS") or settings.debate.get("rounds")
    rules_only = deterministic or _rules_only(settings.debate, environment)
    limits = _limits(settings.model.get("budget", {}))
    prices = _prices(settings.model.get("prices", {}))
    # Read even when it is not used: a mistake should not wait for the day there is a key.
    model = _model(settings.model, environment)
    asked = not rules_only and bool(model.api_key)
    if asked:
        _refuse_blind_limits(model, limits, prices)
    return DebateSettings(
        profile=RiskProfile.BALANCED if chosen is None else _profile(chosen),
        max_rounds=DEFAULT_ROUNDS if rounds is None else _rounds(rounds),
        model=model if asked else None,
        limits=limits,
        prices=prices,
    )


def _rules_only(table: Mapping[str, object], environment: Mapping[str, str]) -> bool:
    if told := environment.get("ZUNO_DETERMINISTIC"):
        if told.lower() not in ("true", "false"):
            raise SettingsError(f"ZUNO_DETERMINISTIC is {told!r}, but it may be true or false.")
        return told.lower() == "true"
    return checked_switch(table.get("deterministic", False), "debate.deterministic")


def _model(table: Mapping[str, object], environment: Mapping[str, str]) -> ModelSettings:
    named = environment.get("ZUNO_AGENT_MODEL") or table.get("name", DEFAULT_MODEL)
    return ModelSettings(
        api_key=_key(environment.get("OPENAI_API_KEY", "")),
        base_url=checked_url(environment.get("OPENAI_BASE_URL") or OPENAI_URL, "OPENAI_BASE_URL"),
        default_model=_name(named, "model.name"),
        models={
            role: _name(table[role], f"model.{role}") for role in LP_FLOW.handlers if role in table
        },
    )


def _key(text: str) -> str:
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError("OPENAI_API_KEY holds a character that no key has. Copy it again.")
    return key


def _name(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{place} is {value!r}, but must be the name of a model.")
    return value


def _refuse_blind_limits(
    model: ModelSettings, limits: BudgetLimits, prices: Mapping[str, TokenRate]
) -> None:
    if limits.debate_nano_usd is None and limits.day_nano_usd is None:
        return
    for name in map(model.model_for, LP_FLOW.handlers):
        if name not in prices:
            raise SettingsError(
                f"model.budget limits dollars, but nobody said what {name!r} costs. "
                f'Add it under [model.prices], like: "{name}" = [0.15, 0.6], or limit tokens.'
            )


def _profile(value: object) -> RiskProfile:
    try:
        return RiskProfile(str(value))
    except ValueError:
        known = ", ".join(RiskProfile)
        raise SettingsError(f"The profile is {value!r}, but it may be {known}.") from None


def _rounds(value: object) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_ROUNDS:
        raise SettingsError(f"Debate rounds are {text!r}, but may be 1 to {MOST_ROUNDS}.")
    return int(text)


def _limits(table: object) -> BudgetLimits:
    if not isinstance(table, dict):
        raise SettingsError(f"model.budget must be a table of {', '.join(sorted(_BUDGET_KEYS))}.")
    refuse_unknown("model.budget", table, _BUDGET_KEYS)
    default = BudgetLimits()
    return BudgetLimits(
        debate_tokens=_tokens(table.get("debate_tokens", default.debate_tokens)),
        day_tokens=_tokens(table.get("day_tokens", default.day_tokens)),
        debate_nano_usd=_nano(table.get("debate_usd")),
        day_nano_usd=_nano(table.get("day_usd")),
    )


def _prices(table: object) -> dict[str, TokenRate]:
    if not isinstance(table, dict):
        raise SettingsError('model.prices names models, like: "gpt-4o-mini" = [0.15, 0.6].')
    prices: dict[str, TokenRate] = {}
    for name, pair in table.items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise SettingsError(f"model.prices.{name} must be [dollars in, dollars out] a million.")
        prices[str(name)] = TokenRate.per_million(_dollars(pair[0]), _dollars(pair[1]))
    return prices


def _tokens(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise SettingsError(f"A token budget is {value!r}, but must be a whole number of tokens.")


def _nano(value: object) -> int | None:
    return None if value is None else int(_dollars(value) * NANO)


def _dollars(value: object) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise SettingsError(f"{value!r} is not an amount of dollars.")
    return amount
