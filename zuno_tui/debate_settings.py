"""How the person wants debates held: profile, rounds, which model, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from agents.debate import DEFAULT_ROUNDS
from agents.envelope import Role
from agents.model.budget import NANO, BudgetLimits, Price
from agents.model.settings import DEFAULT_MODEL, OPENAI_URL, ModelSettings
from agents.numbers.profiles import RiskProfile
from agents.payloads import MOST_ROUNDS
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zuno_tui.settings import Settings

_DEBATE_KEYS = {"profile", "rounds", "deterministic"}
_MODEL_KEYS = {"name", "prices", "budget", *(role.value for role in Role if role is not Role.CLI)}
_BUDGET_KEYS = {"debate_tokens", "day_tokens", "debate_usd", "day_usd"}


@dataclass(frozen=True, slots=True)
class DebateSettings:
    profile: RiskProfile
    max_rounds: int
    model: ModelSettings | None
    """None: no key, or the person wants the rules alone."""
    limits: BudgetLimits
    prices: Mapping[str, Price]


def debate_settings(
    settings: Settings, environment: Mapping[str, str], *, profile: str | None, deterministic: bool
) -> DebateSettings:
    _refuse_unknown("debate", settings.debate, _DEBATE_KEYS)
    _refuse_unknown("model", settings.model, _MODEL_KEYS)
    chosen = profile or environment.get("ZUNO_RISK_PROFILE") or settings.debate.get("profile")
    rounds = environment.get("ZUNO_MAX_DEBATE_ROUNDS") or settings.debate.get("rounds")
    rules_only = (
        deterministic
        or environment.get("ZUNO_DETERMINISTIC", "").lower() == "true"
        or settings.debate.get("deterministic") is True
    )
    key = environment.get("OPENAI_API_KEY")
    return DebateSettings(
        profile=RiskProfile.BALANCED if chosen is None else _profile(chosen),
        max_rounds=DEFAULT_ROUNDS if rounds is None else _rounds(rounds),
        model=None if rules_only or not key else _model(settings.model, environment, key),
        limits=_limits(settings.model.get("budget", {})),
        prices=_prices(settings.model.get("prices", {})),
    )


def _model(table: Mapping[str, object], environment: Mapping[str, str], key: str) -> ModelSettings:
    named = environment.get("ZUNO_AGENT_MODEL") or table.get("name", DEFAULT_MODEL)
    return ModelSettings(
        api_key=key,
        base_url=environment.get("OPENAI_BASE_URL") or OPENAI_URL,
        default_model=str(named),
        models={role: str(table[role.value]) for role in Role if role.value in table},
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
        raise SettingsError("model.budget must be a table.")
    _refuse_unknown("model.budget", table, _BUDGET_KEYS)
    default = BudgetLimits()
    return BudgetLimits(
        debate_tokens=_tokens(table.get("debate_tokens", default.debate_tokens)),
        day_tokens=_tokens(table.get("day_tokens", default.day_tokens)),
        debate_nano_usd=_nano(table.get("debate_usd")),
        day_nano_usd=_nano(table.get("day_usd")),
    )


def _prices(table: object) -> dict[str, Price]:
    if not isinstance(table, dict):
        raise SettingsError('model.prices names models, like: "gpt-4o-mini" = [0.15, 0.6].')
    prices: dict[str, Price] = {}
    for name, pair in table.items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise SettingsError(f"model.prices.{name} must be [dollars in, dollars out] a million.")
        prices[str(name)] = Price.per_million(_dollars(pair[0]), _dollars(pair[1]))
    return prices


def _tokens(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise SettingsError(f"A token budget is {value!r}, but must be a whole number.")


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


def _refuse_unknown(name: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise SettingsError(f"[{name}] has an unknown setting {key!r}: {sorted(known)}.")
