"""Asks an OpenAI-compatible endpoint, and always ends: with an answer or a reason for none."""

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from enum import Enum, auto
from typing import TypeVar

from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.model.abilities import AbilityMemory, FormBesideTools
from agents.model.budget import DebateBudget
from agents.model.connection import ModelConnections
from agents.model.incoming_reply import ModelCompletion
from agents.model.interface import (
    Answer,
    Model,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    RoleModels,
    Unavailability,
    Usage,
)
from agents.model.pending_question import ModelExchange, ModelQuestion, PendingQuestion
from agents.model.reply_text import (
    PROSE_LIMIT,
    UnusableReplyError,
    has_fields_of,
    parse_reply,
    strict_schema,
)
from agents.model.tools import ToolPrompt, ToolRequest, calls_in_text, cleaned_calls
from chain.base.clean_text import Redactor, clean_text

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = range(0xD800, 0xE000)
_FIRST_LOW = 0xDC00


class _Place(Enum):
    BEFORE_OBJECT = auto()
    BEFORE_KEY = auto()
    IN_KEY = auto()
    BEFORE_COLON = auto()
    BEFORE_VALUE = auto()
    IN_VALUE = auto()
    DONE = auto()


class ProseReader:
    """Feed it JSON as it comes, cut anywhere; it gives the first field's text as far as known."""

    def __init__(self) -> None:
        self._place = _Place.BEFORE_OBJECT
        self._escape = ""
        self._high = 0

    def feed(self, text: str) -> str:
        said: list[str] = []
        for character in text:
            if self._place is _Place.DONE:
                break
            if self._place is _Place.IN_VALUE:
                self._read(character, said)
            elif self._escape or character == "\\":
                self._skip_escape(character)
            else:
                self._place = _step(self._place, character)
        return "".join(said)

    def _skip_escape(self, character: str) -> None:
        # Only a key can hold one here: what it stands for does not matter, a quote in it does.
        self._escape = "" if self._escape else character

    def _read(self, character: str, said: list[str]) -> None:
        if not self._escape:
            if character == '"':
                self._say("", said)
                self._place = _Place.DONE
            elif character == "\\":
                self._escape = character
            else:
                self._say_code(ord(character), said)
            return
        self._escape += character
        if self._escape[1] != "u":
            self._say(_ESCAPES.get(character, _UNKNOWN), said)
            self._escape = ""
        elif len(self._escape) == len("\\u0000"):
            self._say_code(_hex(self._escape[2:]), said)
            self._escape = ""

    def _say_code(self, code: int, said: list[str]) -> None:
        if code not in _SURROGATES:
            self._say(chr(code), said)
        elif code < _FIRST_LOW:
            self._say("", said)
            self._high = code
        elif self._high:
            whole = 0x10000 + ((self._high - 0xD800) << 10) + (code - _FIRST_LOW)
            self._high = 0
            said.append(chr(whole))
        else:
            said.append(_UNKNOWN)

    def _say(self, text: str, said: list[str]) -> None:
        if self._high:
            # The second half of a character never came.
            self._high = 0
            said.append(_UNKNOWN)
        said.append(text)


class ProseStream:
    """Passes words on as they come, clean, without known secrets, and not without end."""

    def __init__(self, listener: Callable[[str], None], redactor: Redactor) -> None:
        self._listener = listener
        self._redactor = redactor
        self._reader = ProseReader()
        self._gap = ""
        self._held = ""
        self._said = 0

    def feed(self, text: str) -> None:
        # Cleaned before secrets are looked for: invisible characters could hide one.
        known = self._redactor.without_known(self._held + self._clean(self._reader.feed(text)))
        kept = self._redactor.unfinished_length(known)
        self._held = known[len(known) - kept :]
        self._pass_on(known[: len(known) - kept])

    def close(self) -> None:
        self._pass_on(self._held)
        self._held = ""

    def _clean(self, text: str) -> str:
        """The clean words of a piece; space at its end waits for the words that follow."""
        # Between two letters the spaces at its ends survive the cleaning.
        piece = self._gap + clean_text(f"x{text}x", limit=PROSE_LIMIT)[1:-1].lstrip(self._gap)
        words = piece.rstrip(" ")
        self._gap = " " if piece != words else ""
        return words if self._said or self._held else words.lstrip(" ")

    def _pass_on(self, text: str) -> None:
        said = text[: PROSE_LIMIT - self._said]
        if said:
            self._said += len(said)
            self._listener(said)


def _step(place: _Place, character: str) -> _Place:
    if place is _Place.IN_KEY:
        return _Place.BEFORE_COLON if character == '"' else place
    if character.isspace():
        return place
    if place is _Place.BEFORE_OBJECT or (place is _Place.BEFORE_KEY and character not in '"}'):
        # Words or a code fence may stand before the object.
        return _Place.BEFORE_KEY if character == "{" else _Place.BEFORE_OBJECT
    expected = {
        _Place.BEFORE_KEY: ('"', _Place.IN_KEY),
        _Place.BEFORE_COLON: (":", _Place.BEFORE_VALUE),
        _Place.BEFORE_VALUE: ('"', _Place.IN_VALUE),
    }
    mark, following = expected[place]
    return following if character == mark else _Place.DONE


def _hex(digits: str) -> int:
    try:
        return int(digits, 16)
    except ValueError:
        return ord(_UNKNOWN)


T = TypeVar("T")
_QUOTED = 4_000  # characters of a useless reply that are sent back with the complaint
_SECONDS_BETWEEN = 1.0
"""How often it is told that a model still thinks."""


class OpenAIModel:
    """One debate's way to its models: shares the connections, has its own budget."""

    def __init__(
        self,
        models: RoleModels,
        connections: ModelConnections,
        budget: DebateBudget,
        memory: AbilityMemory,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_thinking: Callable[[Role, float], None] = lambda _role, _seconds: None,
    ) -> None:
        """`on_thinking` is told now and then how long a role's model has been thinking."""
        self._models = models
        self._exchange = ModelExchange(connections, clock=clock)
        self._budget = budget
        self._memory = memory
        self._sleep = sleep
        self._on_thinking = on_thinking
        self._redactor = Redactor(settings.api_key for settings in models.each())
        self._unresponsive: set[tuple[str, str]] = set()

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        question = _question(prompt, schema)

        async def answer_once(pending: PendingQuestion, deadline: asyncio.Timeout) -> Answer[Reply]:
            first = await self._first(pending, question, on_prose, deadline)
            return await self._answer(pending, question, schema, first, deadline)

        return await self._limited(role, answer_once)

    async def ask_with_tools(
        self, role: Role, prompt: ToolPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply] | ToolRequest | None:
        plain = _question(prompt.prompt, schema)
        question = replace(plain, tools=prompt.tools, turns=prompt.turns)
        offered = {tool.name for tool in prompt.tools}

        async def converse(
            pending: PendingQuestion, deadline: asyncio.Timeout
        ) -> Answer[Reply] | ToolRequest | None:
            both = pending.able.form_beside_tools is FormBesideTools.YES
            if (prompt.beside_form and not both) or not pending.able.calls_tools:
                return None

            def hear(text: str) -> None:
                if question.is_held(pending.able):
                    on_prose(text)

            begun = asyncio.get_running_loop().time()
            first, usage = await self._first(pending, question, hear, deadline)
            calls = first.calls or calls_in_text(first.raw, offered)
            # A tool that nobody offered may be the answer in another dress.
            dressed = not any(call.name in offered for call in calls) and self._reads(first, schema)
            if calls and not dressed:
                pending.keep()
                return ToolRequest(cleaned_calls(calls, self._redactor), usage, pending.model)
            untooled = replace(question, tools=())
            # What was answered beside tools and in no form is asked for once more in its form,
            # where there is time; if that fails, it is read as it is.
            now, until = asyncio.get_running_loop().time(), deadline.when()
            if not pending.held and (until is None or until - now > now - begun):
                with suppress(ModelUnavailable):
                    first, more = await self._first(pending, untooled, on_prose, deadline)
                    usage = usage.plus(more)
            return await self._answer(pending, untooled, schema, (first, usage), deadline)

        return await self._limited(role, converse)

    async def _limited(
        self, role: Role, asking: Callable[[PendingQuestion, asyncio.Timeout], Awaitable[T]]
    ) -> T:
        """Within the question's seconds; a server that gave no sign of life is not asked again."""
        settings = self._models.of(role)
        server = settings.base_url, settings.model
        if not settings.api_key:
            raise ModelUnavailable(
                Unavailability.NOT_SET, f"No key is set for {settings.host}. See: zuno model"
            )
        if server in self._unresponsive:
            raise ModelUnavailable(
                Unavailability.STALLED,
                "The model did not respond before: it is not asked again in this debate.",
            )
        pending = PendingQuestion(
            role,
            settings,
            exchange=self._exchange,
            budget=self._budget,
            memory=self._memory,
            sleep=self._sleep,
            on_thinking=self._thinking(role),
        )
        seconds = settings.limits.total_seconds
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await asking(pending, deadline)
        except TimeoutError:
            unavailable = ModelUnavailable(
                Unavailability.TIMED_OUT, f"The model did not finish within {seconds:.3g} seconds."
            )
        except ModelUnavailable as error:
            unavailable = error
        late = unavailable.reason in (Unavailability.TIMED_OUT, Unavailability.STALLED)
        if late and not pending.heard:
            self._unresponsive.add(server)
        raise unavailable

    async def _first(
        self,
        pending: PendingQuestion,
        question: ModelQuestion,
        on_prose: Callable[[str], None],
        deadline: asyncio.Timeout,
    ) -> tuple[ModelCompletion, Usage]:
        """The first reply; its words are passed on while they are written."""
        prose = ProseStream(on_prose, self._redactor)
        first, usage = await pending.complete(question, prose.feed, deadline)
        prose.close()
        return first, usage

    def _reads(self, reply: ModelCompletion, schema: type[Reply]) -> bool:
        try:
            parse_reply(reply.raw, schema, self._redactor)
        except UnusableReplyError:
            return False
        return True

    async def _answer(
        self,
        pending: PendingQuestion,
        question: ModelQuestion,
        schema: type[Reply],
        replied: tuple[ModelCompletion, Usage],
        deadline: asyncio.Timeout,
    ) -> Answer[Reply]:
        """What a first reply says, or else the second that mends it."""
        first, usage = replied
        try:
            read = parse_reply(first.raw, schema, self._redactor)
        except UnusableReplyError as error:
            complaint = str(error)
        else:
            pending.keep()
            return Answer(read.value, usage, read.text, pending.model)
        if first.finish is None:
            sentence = "The model's answer ended before it was complete."
            raise ModelUnavailable(Unavailability.DISCONNECTED, sentence)
        if first.finish == "length":
            complaint = "It was cut off because it was too long: write much less."
        elif not has_fields_of(first.raw, schema):
            pending.loosen()
        # The words of the second try are not passed on: they would follow those of the first.
        again = question.again(first.raw[:_QUOTED], complaint)
        second, more = await pending.complete(again, lambda _: None, deadline)
        try:
            read = parse_reply(second.raw, schema, self._redactor)
        except UnusableReplyError:
            sentence = "The model answered twice, but not in the form that was asked for."
        else:
            pending.keep()
            return Answer(read.value, usage.plus(more), read.text, pending.model)
        raise ModelUnavailable(Unavailability.INVALID, sentence)

    def _thinking(self, role: Role) -> Callable[[], None]:
        clock = asyncio.get_running_loop().time
        began: list[float] = []
        told = 0.0

        def tell() -> None:
            nonlocal told
            now = clock()
            if not began:
                began.append(now)
            elif now - told < _SECONDS_BETWEEN:
                return
            told = now
            self._on_thinking(role, now - began[0])

        return tell


def _question(prompt: ModelPrompt, schema: type[Reply]) -> ModelQuestion:
    return ModelQuestion(
        messages=(("system", prompt.system), ("user", prompt.user)),
        schema_name=schema.__name__,
        schema=strict_schema(schema),
        image=b"" if prompt.image is None else prompt.image.png,
    )


# A model that answered badly, or may not be paid, is no failure of its API.
_OF_THE_API = frozenset(
    (
        Unavailability.NOT_SET,
        Unavailability.REJECTED,
        Unavailability.RATE_LIMITED,
        Unavailability.SERVER_ERROR,
        Unavailability.UNREACHABLE,
        Unavailability.DISCONNECTED,
        Unavailability.TIMED_OUT,
        Unavailability.STALLED,
    )
)


class ModelWithFallback:
    def __init__(self, first: Model, second: Model, roles: AbstractSet[Role]) -> None:
        """`roles` are those whose question goes on to the second."""
        self._first = first
        self._second = second
        self._roles = roles

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        said: list[str] = []

        def hear(text: str) -> None:
            said.append(text)
            on_prose(text)

        try:
            return await self._first.ask(role, prompt, schema, hear)
        except ModelUnavailable as error:
            if role not in self._roles or error.reason not in _OF_THE_API:
                raise
            first = error
        # Words that were cut off are not followed by another's.
        heard = (lambda _: None) if said else on_prose
        try:
            return await self._second.ask(role, prompt, schema, heard)
        except ModelUnavailable as error:
            raise ModelUnavailable(error.reason, f"{first} {error}") from None
