"""How the person wants debates held: profile, rounds, which model, and what it may cost."""

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from agents.lp.debate import DEFAULT_ROUNDS, LP_FLOW
from agents.model.budget import NANO, BudgetLimits, TokenRate, known_prices
from agents.model.interface import DEBATE_SECONDS, RoleModels
from agents.numbers.rules import RiskProfile
from zuno_tui.settings.check import SettingsError, checked
from zuno_tui.settings.load import Settings, TransportChoice, told
from zuno_tui.settings.models import ModelChoice, model_choices, role_models
from zuno_tui.settings.schema import BudgetTable, Rounds

READING_SECONDS = 300.0


class DebateSettings(Struct, frozen=True):
    profile: RiskProfile
    max_rounds: int
    choices: tuple[ModelChoice, ...]
    """What every role would ask."""
    model: RoleModels | None
    """None: no key, or the person wants the rules alone."""
    seconds: float
    """What models have for a whole debate."""
    limits: BudgetLimits
    prices: Mapping[str, TokenRate]
    transport: TransportChoice = TransportChoice.AUTO
    reading_seconds: float = READING_SECONDS
    """For what the chain is read before anybody argues."""


def debate_settings(
    settings: Settings,
    environment: Mapping[str, str],
    *,
    profile: str | None,
    deterministic: bool,
    transport: str | None = None,
) -> DebateSettings:
    table = settings.debate
    chosen = profile or told(environment, "debate.profile") or table.profile
    rounds = told(environment, "debate.rounds")
    alone = deterministic or rules_only(settings, environment)
    limits = _limits(settings.model.budget)
    prices = {
        **known_prices(),
        **{
            name: TokenRate.per_million(*(Decimal(str(price)) for price in pair))
            for name, pair in settings.model.prices.items()
        },
    }
    # Read even when it is not used: a mistake should not wait for the day there is a key.
    choices = model_choices(settings.model, environment)
    model = None if alone else role_models(choices)
    if model is not None:
        _refuse_blind_limits(model, limits, prices)
    return DebateSettings(
        profile=RiskProfile.BALANCED if chosen is None else _profile(chosen),
        max_rounds=_rounds(rounds) if rounds else table.rounds or DEFAULT_ROUNDS,
        choices=choices,
        model=model,
        seconds=settings.model.debate_seconds or DEBATE_SECONDS,
        limits=limits,
        prices=prices,
        transport=_transport(transport or told(environment, "debate.transport") or table.transport),
        reading_seconds=table.reading_seconds or READING_SECONDS,
    )


def rules_only(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether the person wants no model to be asked."""
    wish = (told(environment, "debate.deterministic") or "").lower()
    if wish not in ("", "true", "false"):
        raise SettingsError(f"ZUNO_DETERMINISTIC is {wish!r}, but it may be true or false.")
    return wish == "true" if wish else settings.debate.deterministic


def _refuse_blind_limits(
    model: RoleModels, limits: BudgetLimits, prices: Mapping[str, TokenRate]
) -> None:
    if limits.debate_nano_usd is None and limits.day_nano_usd is None:
        return
    for name in (model.of(role).model for role in LP_FLOW.handlers):
        if name not in prices:
            raise SettingsError(
                f"model.budget limits dollars, but nobody said what {name!r} costs. "
                f'Add it under [model.prices], like: "{name}" = [0.15, 0.6], or limit tokens.'
            )


def _transport(value: str | None) -> TransportChoice:
    try:
        return TransportChoice(value or TransportChoice.AUTO)
    except ValueError:
        known = ", ".join(TransportChoice)
        raise SettingsError(f"The transport is {value!r}, but it may be {known}.") from None


def _profile(value: object) -> RiskProfile:
    try:
        return RiskProfile(str(value))
    except ValueError:
        known = ", ".join(RiskProfile)
        raise SettingsError(f"The profile is {value!r}, but it may be {known}.") from None


def _rounds(text: str) -> int:
    rounds = int(text) if text.isascii() and text.isdigit() else 0
    return checked(Rounds, rounds, "ZUNO_MAX_DEBATE_ROUNDS")


def _limits(table: BudgetTable) -> BudgetLimits:
    default = BudgetLimits()
    return BudgetLimits(
        default.debate_tokens if table.debate_tokens is None else table.debate_tokens,
        default.day_tokens if table.day_tokens is None else table.day_tokens,
        _nano(table.debate_usd),
        _nano(table.day_usd),
    )


def _nano(dollars: float | None) -> int | None:
    return None if dollars is None else int(Decimal(str(dollars)) * NANO)
