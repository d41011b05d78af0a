"""How the person wants debates held: profile, rounds, which model, and what it may cost."""

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.lp.debate import DEFAULT_ROUNDS, LP_FLOW
from agents.model.budget import NANO, BudgetLimits, TokenRate, known_prices
from agents.model.interface import DEBATE_SECONDS, PROVIDERS, ModelLimits, ModelSettings, RoleModels
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import SecretStruct
from zuno_tui.settings.check import SettingsError, check_as, refuse_plain
from zuno_tui.settings.load import VARIABLES, Settings, TransportChoice, environment_value
from zuno_tui.settings.schema import (
    KEY_VARIABLE,
    KEYRING,
    BudgetTable,
    ModelName,
    ModelTable,
    RoleModelTable,
    Rounds,
    checked_url,
)

OWN_KEY_VARIABLE = "ZUNO_MODEL_KEY"
"""The key of a server that is named by its URL."""
_NO_KEY = "none"
"""What is sent to a server of one's own that asks for none; the library demands something."""
_FILE, _DEFAULT = "settings.toml", "default"


class SetValue(Struct, frozen=True):
    """A value as it may be shown, and who set it."""

    shown: str
    origin: str


class ModelChoice(SecretStruct, frozen=True):
    """What one role asks."""

    role: Role
    settings: ModelSettings
    values: Mapping[str, SetValue]
    """By setting; of the key only where it is."""

    keyring_name: str
    """Under what the system's keyring keeps its key, or would."""

    @property
    def has_key(self) -> bool:
        return bool(self.settings.api_key or self.settings.keyring_name)


def model_choices(table: ModelTable, environment: Mapping[str, str]) -> tuple[ModelChoice, ...]:
    """For every role of the debate, in the order in which they speak."""
    return tuple(
        role_choice(role, table, getattr(table.roles, role), environment)
        for role in LP_FLOW.handlers
    )


def role_models(choices: tuple[ModelChoice, ...]) -> RoleModels | None:
    """What the client is given; None where no role has anybody to ask."""
    if not any(choice.has_key for choice in choices):
        return None
    return RoleModels(choices[0].settings, {choice.role: choice.settings for choice in choices})


class _Server(SecretStruct, frozen=True):
    provider: str
    """Its name; empty for a URL of one's own."""
    base_url: str
    value: SetValue


def role_choice(
    role: Role, table: ModelTable, own: RoleModelTable, environment: Mapping[str, str]
) -> ModelChoice:
    """What one role asks: its own table first, then the one for all."""
    place = f"{_FILE}, role {role}"
    server = _server(table, own, place, environment)
    name, said = _name(role, table, own, server, environment)
    settings = ModelSettings(api_key="", base_url=server.base_url, model=name)
    values = {"name": SetValue(name, said), "server": server.value}
    # Another server of a role's own has another key.
    elsewhere = own.provider is not None or own.base_url is not None
    key_place = own.key if elsewhere or own.key is not None else table.key
    settings, values["key"] = _with_key(settings, key_place, server, environment)
    if settings.keyring_name or settings.api_key not in ("", _NO_KEY):
        refuse_plain(settings.base_url or "", f"base_url of {place}", "the model's key")
    for field, shown in (
        ("temperature", "the server's own"),
        ("max_tokens", f"{settings.max_tokens:,}"),
        ("thinking_tokens", f"{settings.thinking_tokens:,}"),
    ):
        chosen = getattr(own, field)
        origin = place if chosen is not None else _FILE
        chosen = getattr(table, field) if chosen is None else chosen
        values[field] = SetValue(shown, _DEFAULT)
        if chosen is not None:
            settings = replace(settings, **{field: chosen})
            values[field] = SetValue(f"{chosen:,}", origin)
    seconds = own.seconds or table.seconds or settings.limits.total_seconds
    origin = place if own.seconds else _FILE if table.seconds else _DEFAULT
    values["seconds"] = SetValue(f"{seconds:g}", origin)
    limits = ModelLimits(total_seconds=seconds, first_seconds=seconds)
    return ModelChoice(
        role, replace(settings, limits=limits), values, _keyring_name(server, settings)
    )


def _keyring_name(server: _Server, settings: ModelSettings) -> str:
    return f"model:{server.provider or settings.host}"


def _server(
    table: ModelTable, own: RoleModelTable, place: str, environment: Mapping[str, str]
) -> _Server:
    for said, origin in ((own, place), (table, _FILE)):
        if said.base_url is not None:
            url = said.base_url.strip()
            return _Server("", url, SetValue(ModelSettings("", url).host, origin))
        if said.provider is not None:
            return _provided(said.provider, origin, environment)
    return _provided("openai", _DEFAULT, environment)


def _provided(name: str, origin: str, environment: Mapping[str, str]) -> _Server:
    provider = PROVIDERS[name]
    # The usual pair of variables: where OpenAI's client would go, and with which key.
    if name == "openai" and (given := environment.get("OPENAI_BASE_URL")):
        url = checked_url(given, "OPENAI_BASE_URL")
        return _Server(name, url, SetValue(ModelSettings("", url).host, "OPENAI_BASE_URL"))
    return _Server(name, provider.base_url, SetValue(provider.title, origin))


def _name(
    role: Role,
    table: ModelTable,
    own: RoleModelTable,
    server: _Server,
    environment: Mapping[str, str],
) -> tuple[str, str]:
    if own.name is not None:
        return own.name.strip(), f"{_FILE}, role {role}"
    if wish := environment_value(environment, "model.name"):
        variable = VARIABLES["model.name"]
        return check_as(ModelName, wish, variable).strip(), variable
    if table.name is not None:
        return table.name.strip(), _FILE
    usual = PROVIDERS[server.provider].model if server.provider else None
    if usual is None:
        raise SettingsError(
            f"No model is named for {server.value.shown}. "
            'Write it under [model], like: name = "the-model"',
            "model.name",
        )
    return usual, _DEFAULT


def _with_key(
    settings: ModelSettings, place: str | None, server: _Server, environment: Mapping[str, str]
) -> tuple[ModelSettings, SetValue]:
    if place == KEYRING:
        return replace(settings, keyring_name=_keyring_name(server, settings)), SetValue(
            "in the keyring", _FILE
        )
    named = None if place is None else KEY_VARIABLE.fullmatch(place)
    usual = PROVIDERS[server.provider].key_variable if server.provider else OWN_KEY_VARIABLE
    variable = usual if named is None else named[1]
    key = _clean_key(environment.get(variable, ""), variable) if variable else ""
    if key:
        return replace(settings, api_key=key), SetValue("set", variable)
    if not variable or (variable == OWN_KEY_VARIABLE and named is None):
        return replace(settings, api_key=_NO_KEY), SetValue("none needed", _DEFAULT)
    return settings, SetValue(f"{variable} is not set", _DEFAULT)


def _clean_key(text: str, variable: str) -> str:
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(f"{variable} holds a character that no key has. Copy it again.")
    return key


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
    chosen = profile or environment_value(environment, "debate.profile") or table.profile
    rounds = environment_value(environment, "debate.rounds")
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
        transport=_transport(
            transport or environment_value(environment, "debate.transport") or table.transport
        ),
        reading_seconds=table.reading_seconds or READING_SECONDS,
    )


def rules_only(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether the person wants no model to be asked."""
    wish = (environment_value(environment, "debate.deterministic") or "").lower()
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
                f"model.budget limits dollars, but no price is set for {name!r}. "
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
    return check_as(Rounds, rounds, "ZUNO_MAX_DEBATE_ROUNDS")


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
