"""`zuno model`: what is set for each role, by whom, and what it may cost."""

import os
import time
from argparse import Namespace
from collections.abc import Iterable

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from agents.lp.payloads import USUAL_TOKENS
from agents.model.abilities import AbilityMemory, ServerAbilities
from agents.model.budget import NANO, Budget, DebateBudget, Spent, TokenRate, known_prices
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import ModelPrompt, ModelUnavailable, Unavailability
from zuno_tui.app.debate_setup import with_keys
from zuno_tui.app.session import Session, say
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import parts
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import Json, OutputColumn, print_json, table
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import DebateSettings, ModelChoice, debate_settings, role_models
from zuno_tui.settings.edit import keep_setting

_HOUR = 3_600.0
_COLUMNS = ("role", "model", "server", "key", "seconds", "tokens", "a million tokens", "a debate")


def chosen_settings(session: Session) -> DebateSettings:
    return debate_settings(session.settings, os.environ, profile=None, deterministic=False)


async def list_models(session: Session) -> CommandAnswer:
    settings = chosen_settings(session)
    with session.open_store() as store:
        memory = AbilityMemory(store, time.time)
        known = {choice.role: _remembered_abilities(memory, choice) for choice in settings.choices}
        budget = Budget(settings.limits, settings.prices, store, clock=time.time)
        spent = budget.day(budget.today())
    rows = [_row(choice, settings) for choice in settings.choices]
    tokens = sum(spending.tokens for spending in spent.values())
    nano = sum(spending.nano_usd for spending in spent.values())
    return CommandAnswer(
        lines=(
            *table([OutputColumn(title) for title in _COLUMNS], rows),
            *_origins(settings.choices),
            *(f"{role}: {words}" for role, words in known.items() if words),
            _usual_line(settings),
            *_budget_lines(settings, tokens, nano),
        ),
        document={
            "rules": settings.model is None,
            "debateSeconds": settings.seconds,
            "roles": [
                _as_json(choice, settings, known[choice.role]) for choice in settings.choices
            ],
            "budget": {
                "debateTokens": settings.limits.debate_tokens,
                "dayTokens": settings.limits.day_tokens,
                "debateUsd": _usd(settings.limits.debate_nano_usd),
                "dayUsd": _usd(settings.limits.day_nano_usd),
                "usedTokensToday": tokens,
                "usedUsdToday": _usd(nano),
            },
        },
        remarks=_remarks(settings),
    )


def ability_words(able: ServerAbilities) -> str:
    """What a server can do, in a line."""
    form = {"schema": "strict schemas", "json": "JSON mode", "text": "plain text"}[able.form]
    said = [form, "streaming" if able.streams else "no streaming"]
    if able.thinks:
        said.append("thinks first")
    left_out = [
        name
        for name, taken in (
            ("stream_options", able.counts_stream),
            ("temperature", able.takes_temperature),
            ("system messages", able.takes_system),
            ("a limit of tokens", bool(able.limit_name)),
            ("tools", able.calls_tools),
        )
        if not taken
    ]
    if left_out:
        said.append(f"refuses {', '.join(left_out)}")
    if able.most_tokens is not None:
        said.append(f"at most {able.most_tokens:,} tokens a reply")
    return ", ".join(said)


def choice_of(settings: DebateSettings, role: str | None) -> tuple[ModelChoice, ...]:
    """Those of all roles, or of the one that is named."""
    if role is None:
        return settings.choices
    found = tuple(choice for choice in settings.choices if choice.role == role)
    if not found:
        names = ", ".join(choice.role for choice in settings.choices)
        raise SettingsError(f"There is no role {role!r}. They are {names}.")
    return found


def keep_key(arguments: Namespace) -> int:
    """Ask for a provider's key, keep it in the keyring, and let the settings say so."""
    from chain.wallet.keyring_store import find_keyring
    from zuno_tui.app.wallet_secrets import ask_model_key

    session = Session.start(arguments)
    choice = choice_of(chosen_settings(session), arguments.role)[0]
    server = choice.values["server"].shown
    keyring = find_keyring()
    key = ask_model_key(server).strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError("A key cannot contain that character. Nothing was saved.")
    keyring.keep_text(choice.keyring_name, key)
    table_name = "model" if arguments.role is None else f"model.roles.{arguments.role}"
    keep_setting(session.home.settings, table_name, "key", "keyring")
    if session.as_json:
        print_json({"kept": choice.keyring_name, "in": keyring.title})
    say(f"{keyring.title} keeps the key of {server}. Try it: zuno model test")
    return DONE


def _row(choice: ModelChoice, settings: DebateSettings) -> tuple[str, ...]:
    values = choice.values
    tokens = f"{values['max_tokens'].shown} + {values['thinking_tokens'].shown} thinking"
    return (
        choice.role,
        values["name"].shown,
        values["server"].shown,
        values["key"].shown,
        values["seconds"].shown,
        tokens,
        _price_words(choice, settings),
        _debate_words(_debate_cost(choice, settings)),
    )


def _price_words(choice: ModelChoice, settings: DebateSettings) -> str:
    rate = settings.prices.get(choice.settings.model)
    if rate is None:
        return "unknown"
    tokens_in, tokens_out = map(_usd_per_million, (rate.tokens_in, rate.tokens_out))
    return f"${tokens_in:g} in, ${tokens_out:g} out"


def _debate_cost(choice: ModelChoice, settings: DebateSettings) -> int | None:
    """What this role would usually cost a debate, in billionths of a dollar."""
    rate = settings.prices.get(choice.settings.model)
    return None if rate is None else rate.of(*USUAL_TOKENS[choice.role])


def _debate_words(nano: int | None) -> str:
    return "unknown" if nano is None else f"${nano / NANO:.4f}"


def _usual_line(settings: DebateSettings) -> str:
    costs = [_debate_cost(choice, settings) for choice in settings.choices]
    known = None if None in costs else sum(cost or 0 for cost in costs)
    tokens_in, tokens_out = map(sum, zip(*USUAL_TOKENS.values(), strict=True))
    return (
        f"a usual debate of two rounds: {_debate_words(known)} for {tokens_in:,} tokens in and "
        f"{tokens_out:,} out, thinking not counted"
    )


def _origins(choices: Iterable[ModelChoice]) -> list[str]:
    """Who said what, once for all roles that it was said for."""
    by_origin: dict[str, dict[str, list[str]]] = {}
    for choice in choices:
        for name, value in choice.values.items():
            by_origin.setdefault(value.origin, {}).setdefault(name, []).append(choice.role)
    lines = []
    for origin, names in by_origin.items():
        said = ", ".join(names)
        roles = {role for named in names.values() for role in named}
        whose = "" if len(roles) == len(tuple(choices)) else f" ({', '.join(sorted(roles))})"
        lines.append(f"by {origin}: {said}{whose}")
    return lines


def _remembered_abilities(memory: AbilityMemory, choice: ModelChoice) -> str:
    able, age = memory.recall(choice.settings), memory.age(choice.settings)
    if able is None or age is None:
        return ""
    return f"{ability_words(able)} (found out {age / _HOUR:.0f} h ago)"


def _budget_lines(settings: DebateSettings, tokens: int, nano: int) -> tuple[str, ...]:
    limits = settings.limits
    return (
        f"a debate: at most {_tokens(limits.debate_tokens)}{_dollars(limits.debate_nano_usd)}, "
        f"{settings.seconds:g} seconds for models",
        f"a day: at most {_tokens(limits.day_tokens)}{_dollars(limits.day_nano_usd)}; "
        f"used today: {tokens:,} tokens, ${nano / NANO:.4f}",
    )


def _remarks(settings: DebateSettings) -> tuple[str, ...]:
    said = ["Prices may be out of date; set the ones you pay under [model.prices]."]
    if settings.model is None:
        said.append(
            'Fixed rules decide alone. Set a key, or a provider: [model] provider = "ollama"'
        )
    return tuple(said)


def _as_json(choice: ModelChoice, settings: DebateSettings, known: str) -> Json:
    rate = settings.prices.get(choice.settings.model)
    return {
        **_choice_parts(choice),
        "hasKey": choice.has_key,
        "values": {
            name: {"value": value.shown, "from": value.origin}
            for name, value in choice.values.items()
        },
        "usdPerMillion": None
        if rate is None
        else [_usd_per_million(rate.tokens_in), _usd_per_million(rate.tokens_out)],
        "usdPerDebate": _usd(_debate_cost(choice, settings)),
        "priceFrom": _price_origin(choice.settings.model, rate),
        "abilities": known or None,
    }


def _price_origin(model: str, rate: TokenRate | None) -> str | None:
    if rate is None:
        return None
    return "table" if known_prices().get(model) == rate else "settings.toml"


def _usd_per_million(nano_per_token: int) -> float:
    return nano_per_token / 1_000


def _tokens(most: int | None) -> str:
    return "any number of tokens" if most is None else f"{most:,} tokens"


def _dollars(nano: int | None) -> str:
    return "" if nano is None else f" and ${nano / NANO:.2f}"


def _usd(nano: int | None) -> float | None:
    return None if nano is None else nano / NANO


_PROMPT = ModelPrompt(
    "You are asked once, to see whether you can be asked.",
    "Say in one short sentence that you are ready, and name the sum of 2 and 3.",
)
_TEST_COLUMNS = ("role", "model", "server", "answer", "seconds", "tokens", "cost")
_NETWORK = frozenset(
    (
        Unavailability.UNREACHABLE,
        Unavailability.STALLED,
        Unavailability.TIMED_OUT,
        Unavailability.DISCONNECTED,
    )
)


class ReadinessReply(BaseModel):
    """What a model is asked for in a test."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: str = Field(min_length=1, max_length=200)
    total: int = Field(ge=0, le=100)


class TestedModel(Struct, frozen=True):
    __test__ = False

    choice: ModelChoice
    failure: ModelUnavailable | None
    right: bool
    seconds: float
    spent: Spent
    able: ServerAbilities | None


async def test_models(session: Session, role: str | None) -> CommandAnswer:
    settings = chosen_settings(session)
    choices = choice_of(settings, role)
    models = await with_keys(role_models(choices))
    if models is None:
        words = "No AI model is set: fixed rules decide. See: zuno model"
        return CommandAnswer((), {"roles": []}, remarks=(words,), code=FAILED)
    found: list[TestedModel] = []
    with session.open_store() as store:
        memory = AbilityMemory(store, time.time)
        budget = Budget(settings.limits, settings.prices, store, clock=time.time)
        async with ModelConnections() as connections:
            for choice in choices:
                # What the library takes to load is no server's fault.
                await connections.client(models.of(choice.role))
                spending = budget.debate()
                model = OpenAIModel(models, connections, spending, memory, clock=time.time)
                found.append(await _try_model(choice, model, spending, memory))
    return CommandAnswer(
        lines=(
            *table(
                [OutputColumn(title) for title in _TEST_COLUMNS],
                [_tested_row(tested) for tested in found],
            ),
            *(f"{tested.choice.role}: {_words(tested)}" for tested in found),
        ),
        document={"roles": [_tested_as_json(tested) for tested in found]},
        code=_code(found),
    )


async def _try_model(
    choice: ModelChoice, model: OpenAIModel, budget: DebateBudget, memory: AbilityMemory
) -> TestedModel:
    began = time.monotonic()
    failure, right = None, False
    try:
        answer = await model.ask(choice.role, _PROMPT, ReadinessReply, lambda _: None)
        right = answer.value.total == 5
    except ModelUnavailable as error:
        failure = error
    return TestedModel(
        choice=choice,
        failure=failure,
        right=right,
        seconds=time.monotonic() - began,
        spent=budget.report().debate,
        able=memory.recall(choice.settings),
    )


def _code(found: list[TestedModel]) -> int:
    failures = [tested.failure for tested in found if tested.failure is not None]
    if not failures:
        return DONE
    return NETWORK if all(failure.reason in _NETWORK for failure in failures) else FAILED


def _tested_row(tested: TestedModel) -> tuple[str, ...]:
    spent = tested.spent
    cost = "unknown" if spent.unpriced_tokens else f"${spent.nano_usd / NANO:.6f}"
    return (
        tested.choice.role,
        tested.choice.settings.model,
        tested.choice.values["server"].shown,
        _outcome(tested),
        f"{tested.seconds:.1f}",
        f"{spent.tokens:,}",
        cost,
    )


def _outcome(tested: TestedModel) -> str:
    if tested.failure is not None:
        return tested.failure.reason.value.replace("_", " ")
    return "ready" if tested.right else "ready, but adds 2 and 3 wrongly"


def _words(tested: TestedModel) -> str:
    if tested.failure is not None:
        return str(tested.failure)
    return "" if tested.able is None else ability_words(tested.able)


def _choice_parts(choice: ModelChoice) -> dict[str, Json]:
    return {"role": choice.role, "host": choice.settings.host}


_ABILITIES = ("form", "streams", "thinks")


def _tested_as_json(tested: TestedModel) -> Json:
    spent, able = tested.spent, tested.able
    return {
        **_choice_parts(tested.choice),
        "model": tested.choice.settings.model,
        "ready": tested.failure is None,
        **parts(tested, "right"),
        "reason": None if tested.failure is None else tested.failure.reason.value,
        "words": _words(tested),
        "seconds": round(tested.seconds, 3),
        **parts(spent, "tokens"),
        "usd": None if spent.unpriced_tokens else spent.nano_usd / NANO,
        **(dict.fromkeys(_ABILITIES) if able is None else parts(able, *_ABILITIES)),
    }
