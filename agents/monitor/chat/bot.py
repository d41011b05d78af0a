"""The bot that answers: one long look for questions at a time, each answered once, in its chat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from msgspec import Struct

from agents.monitor.deliver.bot_connection import BotConnection, message_body, photo_body
from agents.monitor.deliver.channel import ChannelRefused, Delayed, Delivered, Outcome
from agents.monitor.deliver.telegram import MOST_UNITS, text_units
from chain.base.clean_text import clean_text
from chain.base.http import HttpLimits
from chain.base.units import MEGABYTE

MOST_CHARACTERS = 500
"""Of a question; what is longer is cut."""


class ChatQuestion(Struct, frozen=True):
    update_id: int
    chat: str
    handle: str
    """A group's public name, as `@name`; empty where it has none."""
    date: int
    text: str
    """As it was written, without control bytes: never markup, never an order."""


class UpdateBatch(Struct, frozen=True):
    questions: tuple[ChatQuestion, ...]
    next_offset: int
    """From which update on is asked next: all before are done with."""


def read_updates(result: object, offset: int) -> UpdateBatch:
    """Each update once, in order; what the server repeats of earlier ones is left out."""
    seen = offset
    questions = []
    for number, update in sorted(_numbered(result), key=lambda one: one[0]):
        if number < seen:
            continue
        seen = number + 1
        question = _question(number, update)
        if question is not None:
            questions.append(question)
    return UpdateBatch(tuple(questions), seen)


def _numbered(result: object) -> Iterable[tuple[int, dict[str, object]]]:
    for update in result if isinstance(result, list) else ():
        number = update.get("update_id") if isinstance(update, dict) else None
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            yield number, update


def _question(number: int, update: dict[str, object]) -> ChatQuestion | None:
    message = update.get("message")
    chat = message.get("chat") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(chat, dict):
        return None
    text, where, date = message.get("text"), chat.get("id"), message.get("date")
    if not isinstance(text, str) or not isinstance(where, int) or not isinstance(date, int):
        return None
    name = chat.get("username")
    handle = f"@{name}" if isinstance(name, str) and name else ""
    words = clean_text(text, limit=MOST_CHARACTERS)
    return ChatQuestion(number, str(where), handle, date, words) if words else None


LOOK_SECONDS = 25
"""How long the server may keep a look open while nothing is asked."""
MOST_CAPTION_UNITS = 1024
_MOST_AT_ONCE = 20
_OLDEST_SECONDS = 600
"""A question that waited longer is not answered: whoever asked has looked elsewhere by then."""
_SHORTEST_WAIT, _LONGEST_WAIT = 1.0, 300.0
_TRIES = 5
_CUT = "\n…"


class ChatReply(Struct, frozen=True):
    text: str
    png: bytes | None = None


class OffsetStore(Protocol):
    """Where it is kept which updates are done with; it lasts beyond the process."""

    def read(self) -> int: ...

    def keep(self, offset: int) -> None: ...


class ChatStep(Struct, frozen=True):
    """What one look came to."""

    answered: int = 0
    strangers: int = 0
    """Questions from chats that are not set; they get no answer."""
    too_old: int = 0
    trouble: str = ""
    refused: bool = False
    """Whether nothing will change before a person changes something."""
    wait_seconds: float = 0.0


class ChatBot:
    def __init__(
        self,
        connection: BotConnection,
        chats: frozenset[str],
        answer: Callable[[str], Awaitable[ChatReply]],
        offsets: OffsetStore,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._connection = connection
        self._chats = chats
        self._answer = answer
        self._offsets = offsets
        self._clock = clock
        self._sleep = sleep
        self._failures = 0

    async def look(self, *, seconds: int = LOOK_SECONDS) -> ChatStep:
        """Ask once for questions and answer those that came."""
        offset = self._offsets.read()
        asked = {
            "offset": offset,
            "limit": _MOST_AT_ONCE,
            "timeout": seconds,
            "allowed_updates": ["message"],
        }
        limits = HttpLimits(5.0, seconds + 15.0, MEGABYTE)
        body = json.dumps(asked).encode()
        outcome, result = await self._connection.ask("getUpdates", body, limits, now=self._clock())
        if not isinstance(outcome, Delivered):
            return self._troubled(outcome)
        self._failures = 0
        batch = read_updates(result, offset)
        answered = strangers = too_old = 0
        for question in batch.questions:
            if not self._is_known(question):
                strangers += 1
            elif self._clock() - question.date > _OLDEST_SECONDS:
                too_old += 1
            else:
                sent = await self._reply(question)
                if not isinstance(sent, Delivered):
                    return self._troubled(sent)
                answered += 1
            self._offsets.keep(question.update_id + 1)
        if batch.next_offset != offset:
            self._offsets.keep(batch.next_offset)
        return ChatStep(answered, strangers, too_old)

    def _is_known(self, question: ChatQuestion) -> bool:
        return question.chat in self._chats or question.handle in self._chats

    async def _reply(self, question: ChatQuestion) -> Outcome:
        reply = await self._answer(question.text)
        outcome: Outcome = Delayed("nothing was tried")
        for attempt in range(_TRIES):
            outcome = await send_reply(self._connection, question.chat, reply, now=self._clock())
            if not isinstance(outcome, Delayed):
                break
            await self._sleep(_rest(outcome, attempt))
        if isinstance(outcome, ChannelRefused):
            # This chat takes nothing, and asking again for its question would hold up the others.
            return Delivered()
        return outcome

    def _troubled(self, outcome: Outcome) -> ChatStep:
        self._failures += 1
        if isinstance(outcome, ChannelRefused):
            return ChatStep(trouble=outcome.reason, refused=True, wait_seconds=_LONGEST_WAIT)
        reason = outcome.reason if isinstance(outcome, Delayed) else ""
        delayed = outcome if isinstance(outcome, Delayed) else Delayed(reason)
        return ChatStep(trouble=reason, wait_seconds=_rest(delayed, self._failures))


async def send_reply(
    connection: BotConnection, chat: str, reply: ChatReply, *, now: float
) -> Outcome:
    """The picture first, with as much of the words under it as fit; then the rest of them."""
    if reply.png is None:
        return await connection.send("sendMessage", _message(chat, reply.text), now=now)
    fits = text_units(reply.text) <= MOST_CAPTION_UNITS
    caption = reply.text if fits else reply.text.partition("\n")[0]
    body, kind = photo_body(chat, shortened(caption, MOST_CAPTION_UNITS), reply.png)
    outcome = await connection.send("sendPhoto", body, now=now, kind=kind)
    if fits or isinstance(outcome, Delayed):
        return outcome
    return await connection.send("sendMessage", _message(chat, reply.text), now=now)


def shortened(text: str, most: int) -> str:
    """As many whole lines as fit, with a mark where there were more."""
    if text_units(text) <= most:
        return text
    kept = ""
    for line in text.split("\n"):
        longer = f"{kept}\n{line}" if kept else line
        if text_units(longer + _CUT) > most:
            break
        kept = longer
    return (kept or text[: most // 2 - len(_CUT)]) + _CUT


def _message(chat: str, text: str) -> bytes:
    return message_body(chat, shortened(text, MOST_UNITS))


def _rest(outcome: Delayed, failures: int) -> float:
    """As long as was asked for, else twice as long as last time."""
    if outcome.asked_seconds is not None:
        return min(_LONGEST_WAIT, max(_SHORTEST_WAIT, outcome.asked_seconds))
    return float(min(_LONGEST_WAIT, _SHORTEST_WAIT * 2.0 ** min(failures, 10)))
