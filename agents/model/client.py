"""Asks an OpenAI-compatible endpoint, and always ends: with an answer or a reason for none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.model.budget import estimated_tokens
from agents.model.exchange import ModelCompletion, ModelExchange, Question, TryLaterError
from agents.model.interface import Answer, ModelUnavailable, Unavailability, Usage
from agents.model.prose import ProseStream
from agents.model.reply_text import UnusableReplyError, parse_reply
from chain.base.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pydantic import BaseModel

    from agents.bus.envelope import Role
    from agents.model.budget import DebateBudget
    from agents.model.connection import Connection
    from agents.model.interface import ModelPrompt, Reply
    from agents.model.settings import ModelSettings

_KEPT = frozenset(("type", "enum", "const", "description", "$ref"))
_REFUSED = frozenset(("oneOf", "allOf", "not", "prefixItems", "patternProperties", "if"))
# Endpoints differ in which bounds they enforce and some refuse a schema that has any: they are
# told in words, and checked when the reply is read.
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


class UnsupportedSchemaError(TypeError):
    """A reply model that structured outputs cannot express."""


def strict_schema(model: type[BaseModel]) -> dict[str, object]:
    """The schema of a reply; its first field must be the prose that is shown while written."""
    whole = model.model_json_schema(by_alias=True)
    kinds = [node.get("type") for node in whole.get("properties", {}).values()]
    if kinds[:1] != ["string"]:
        raise UnsupportedSchemaError(f"The first field of {model.__name__} must be its prose.")
    strict = _strict(whole, model.__name__)
    if definitions := whole.get("$defs"):
        strict["$defs"] = {
            name: _strict(node, model.__name__) for name, node in definitions.items()
        }
    return strict


def _strict(node: Mapping[str, object], name: str) -> dict[str, object]:
    if refused := _REFUSED & node.keys():
        raise UnsupportedSchemaError(
            f"{name} needs {', '.join(sorted(refused))}; use another form."
        )
    strict = {key: value for key, value in node.items() if key in _KEPT}
    if bounds := [words.format(node[key]) for key, words in _BOUNDS.items() if key in node]:
        described = strict.get("description")
        said = ", ".join(bounds)
        strict["description"] = f"{described} ({said})" if described else said
    if isinstance(properties := node.get("properties"), dict):
        strict["properties"] = {key: _strict(item, name) for key, item in properties.items()}
        strict["required"] = list(properties)
        strict["additionalProperties"] = False
    if isinstance(items := node.get("items"), dict):
        strict["items"] = _strict(items, name)
    if isinstance(choices := node.get("anyOf"), list):
        strict["anyOf"] = [_strict(choice, name) for choice in choices]
    return {"$ref": strict["$ref"]} if "$ref" in strict else strict


_FIRST_PAUSE = 0.5
_QUOTED = 4_000  # characters of a useless reply that are sent back with the complaint
# Nothing was generated, so nothing is owed.
_FREE = frozenset((Unavailability.REJECTED, Unavailability.UNREACHABLE))


class OpenAIModel:
    """One debate's way to the model: shares the connection, has its own budget."""

    def __init__(
        self,
        settings: ModelSettings,
        connection: Connection,
        budget: DebateBudget,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._exchange = ModelExchange(settings, connection, clock=clock)
        self._budget = budget
        self._sleep = sleep
        self._redactor = Redactor((settings.api_key,))
        self._seconds_left = settings.limits.debate_seconds

    async def ask(
        self,
        role: Role,
        prompt: ModelPrompt,
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply]:
        seconds = min(self._settings.limits.total_seconds, self._seconds_left)
        if seconds <= 0:
            raise ModelUnavailable(
                Unavailability.TIMED_OUT,
                "The model has used up the time it has for one debate.",
            )
        question = Question(
            model=self._settings.model_for(role),
            messages=(("system", prompt.system), ("user", prompt.user)),
            schema_name=schema.__name__,
            schema=strict_schema(schema),
        )
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await self._answer(role, question, schema, on_prose, deadline)
        except TimeoutError:
            sentence = f"The model did not finish within {seconds:.3g} seconds."
        finally:
            self._seconds_left -= clock() - began
        raise ModelUnavailable(Unavailability.TIMED_OUT, sentence)

    async def _answer(
        self,
        role: Role,
        question: Question,
        schema: type[Reply],
        on_prose: Callable[[str], None],
        deadline: asyncio.Timeout,
    ) -> Answer[Reply]:
        prose = ProseStream(on_prose, self._redactor)
        first, usage = await self._completed(role, question, prose.feed, deadline)
        prose.close()
        try:
            read = parse_reply(first.raw, schema, self._redactor)
        except UnusableReplyError as error:
            complaint = str(error)
        else:
            return Answer(read.value, usage, read.text, question.model)
        if first.finish is None:
            sentence = "The model's answer ended before it was complete."
            raise ModelUnavailable(Unavailability.DISCONNECTED, sentence)
        if first.finish == "length":
            complaint = "It was cut off because it was too long: write much less."
        # The words of the second try are not passed on: they would follow those of the first.
        again = question.again(first.raw[:_QUOTED], complaint)
        second, more = await self._completed(role, again, lambda _: None, deadline)
        try:
            read = parse_reply(second.raw, schema, self._redactor)
        except UnusableReplyError:
            sentence = "The model answered twice, but not in the form that was asked for."
        else:
            return Answer(read.value, usage.plus(more), read.text, question.model)
        raise ModelUnavailable(Unavailability.INVALID, sentence)

    async def _completed(
        self,
        role: Role,
        question: Question,
        on_text: Callable[[str], None],
        deadline: asyncio.Timeout,
    ) -> tuple[ModelCompletion, Usage]:
        """One call, repeated while the endpoint is busy, paid for from the budget."""
        tokens_in = question.estimated_tokens()
        attempts = self._settings.limits.attempts
        for attempt in range(attempts):
            reservation = self._budget.reserve(
                role, question.model, tokens_in, self._settings.most_tokens
            )
            # What is cancelled, stalls or breaks off has been generated: it stays counted in full.
            try:
                completion = await self._exchange.once(question, on_text)
            except TryLaterError as error:
                reservation.release()
                busy = error
            except ModelUnavailable as error:
                if error.reason in _FREE:
                    reservation.release()
                raise
            else:
                written = estimated_tokens(completion.raw)
                usage = completion.usage or Usage(tokens_in, written, estimated=True)
                reservation.settle(usage)
                return completion, usage
            pause = _FIRST_PAUSE * 2**attempt if busy.seconds is None else busy.seconds
            if attempt + 1 == attempts or pause >= _remaining(deadline):
                break
            await self._sleep(pause)
        raise busy.unavailable


def _remaining(deadline: asyncio.Timeout) -> float:
    when = deadline.when()
    return float("inf") if when is None else when - asyncio.get_running_loop().time()
