"""`zuno model test`: one question to each role's model, and what came of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from agents.model.abilities import AbilityMemory, ServerAbilities
from agents.model.budget import NANO, Budget, DebateBudget, Spent
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import ModelPrompt, ModelUnavailable, Unavailability
from zuno_tui.app.debate_setup import with_keys
from zuno_tui.app.model import ability_words, choice_of, chosen_settings
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.settings.models import ModelChoice, role_models

if TYPE_CHECKING:
    from zuno_tui.app.session import Session

_PROMPT = ModelPrompt(
    "You are asked once, to see whether you can be asked.",
    "Say in one short sentence that you are ready, and name the sum of 2 and 3.",
)
_COLUMNS = ("role", "model", "server", "answer", "seconds", "tokens", "cost")
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


async def tested(session: Session, role: str | None) -> CommandAnswer:
    settings = chosen_settings(session)
    choices = choice_of(settings, role)
    models = await with_keys(role_models(choices))
    if models is None:
        words = "No model is set: the rules speak alone. See: zuno model"
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
            *table([OutputColumn(title) for title in _COLUMNS], [_row(one) for one in found]),
            *(f"{one.choice.role}: {_words(one)}" for one in found),
        ),
        document={"roles": [_as_json(one) for one in found]},
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
    failures = [one.failure for one in found if one.failure is not None]
    if not failures:
        return DONE
    return NETWORK if all(failure.reason in _NETWORK for failure in failures) else FAILED


def _row(one: TestedModel) -> tuple[str, ...]:
    spent = one.spent
    cost = "unknown" if spent.unpriced_tokens else f"${spent.nano_usd / NANO:.6f}"
    return (
        one.choice.role,
        one.choice.settings.model,
        one.choice.values["server"].shown,
        _outcome(one),
        f"{one.seconds:.1f}",
        f"{spent.tokens:,}",
        cost,
    )


def _outcome(one: TestedModel) -> str:
    if one.failure is not None:
        return one.failure.reason.value.replace("_", " ")
    return "ready" if one.right else "ready, but adds 2 and 3 wrongly"


def _words(one: TestedModel) -> str:
    if one.failure is not None:
        return str(one.failure)
    return "" if one.able is None else ability_words(one.able)


def _as_json(one: TestedModel) -> Json:
    spent, able = one.spent, one.able
    return {
        "role": one.choice.role,
        "model": one.choice.settings.model,
        "host": one.choice.settings.host,
        "ready": one.failure is None,
        "right": one.right,
        "reason": None if one.failure is None else one.failure.reason.value,
        "words": _words(one),
        "seconds": round(one.seconds, 3),
        "tokens": spent.tokens,
        "usd": None if spent.unpriced_tokens else spent.nano_usd / NANO,
        "form": None if able is None else able.form.value,
        "streams": None if able is None else able.streams,
        "thinks": None if able is None else able.thinks,
    }
