"""Telegram: alerts to a chat, the bot that answers questions, and the Bot API with one token."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from agents.monitor.alerts.alert import AlertEvent
from agents.monitor.deliver.channel import (
    DELIVERY_LIMITS,
    ChannelRefused,
    Delayed,
    Delivered,
    Notification,
    Outcome,
    fingerprint,
    is_news,
)
from agents.monitor.deliver.delivery import announcement
from agents.monitor.deliver.pace import FOR_PEOPLE, Pace
from chain.base.clean_text import Redactor, SecretStruct, clean_text, quote_words, without_own_marks
from chain.base.home import write_atomically
from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpLimits
from chain.base.strict_json import InvalidJsonError, loads
from chain.base.units import DAY, MEGABYTE

_OK = 200
_CONFLICT = 409
_BUSY = 429
_ADVICE = {
    400: "Check the chat: [telegram] chat in the settings, and write to the bot once yourself.",
    401: "Telegram does not know this token. Ask @BotFather for it: [telegram] token.",
    403: "The bot may not write there. Unblock it, or add it to the group.",
    404: "Telegram does not know this token. Ask @BotFather for it: [telegram] token.",
}
_BOUNDARY = "zuno-5c1f7a0e94d24b6b"


class BotConnection:
    def __init__(self, token: str, url: str, limits: HttpLimits) -> None:
        base = url.rstrip("/")
        # The token is who the bot is: no repr, log, error or record may show it.
        self._urls = f"{base}/bot{token}/"
        self._limits = limits
        self._http = HttpClient(base)
        self._redactor = Redactor([token])

    async def send(
        self, method: str, body: bytes, *, now: float, kind: str = "application/json"
    ) -> Outcome:
        """What became of something that was to be taken."""
        outcome, _ = await self.ask(method, body, self._limits, now=now, kind=kind)
        return outcome

    async def ask(
        self,
        method: str,
        body: bytes,
        limits: HttpLimits,
        *,
        now: float,
        kind: str = "application/json",
    ) -> tuple[Outcome, object]:
        """How it ended, and the result where it was answered."""
        try:
            posted = await self._http.post(
                f"{self._urls}{method}", body, limits, {"content-type": kind}
            )
        except HttpError as error:
            return Delayed(f"it {error}"), None
        answer = _answer(posted.body)
        return self._outcome(posted, answer, now), answer.get("result")

    async def close(self) -> None:
        await self._http.close()

    def _outcome(self, posted: HttpAnswer, answer: dict[str, object], now: float) -> Outcome:
        if posted.status == _OK:
            if answer.get("ok") is True:
                return Delivered()
            return Delayed("something that is not Telegram answered")
        # Redacted after cleaning, which may join a token's pieces, and before the cut.
        words = without_own_marks(clean_text(str(answer.get("description", ""))))
        said = quote_words(self._redactor.text(words))
        reason = f"HTTP {posted.status}, {said or 'no reason given'}"
        if posted.status in (_BUSY, _CONFLICT):
            return Delayed(reason, _retry_after(answer) or posted.wait(now))
        if 400 <= posted.status < 500:
            return ChannelRefused(f"{reason}. {_ADVICE.get(posted.status, 'Check [telegram].')}")
        if 300 <= posted.status < 400:
            return ChannelRefused(
                f"{reason}. It points elsewhere: set [telegram] url to where that is."
            )
        return Delayed(reason, answered=True)


def message_body(chat: str, text: str) -> bytes:
    """Plain text: no markup, and no preview of anything in it."""
    preview = {"is_disabled": True}
    return json.dumps({"chat_id": chat, "text": text, "link_preview_options": preview}).encode()


def photo_body(chat: str, caption: str, png: bytes) -> tuple[bytes, str]:
    """A picture with words under it, and the content type it is sent as."""
    fields = "".join(
        f"--{_BOUNDARY}\r\n"
        f'Content-Disposition: form-data; name="{name}"\r\n'
        "Content-Type: text/plain; charset=utf-8\r\n\r\n"
        f"{value}\r\n"
        for name, value in (("chat_id", chat), ("caption", caption))
    )
    head = (
        f"--{_BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="photo"; filename="chart.png"\r\n'
        "Content-Type: image/png\r\n\r\n"
    )
    body = fields.encode() + head.encode() + png + f"\r\n--{_BOUNDARY}--\r\n".encode()
    return body, f"multipart/form-data; boundary={_BOUNDARY}"


def _answer(body: bytes) -> dict[str, object]:
    try:
        answer = loads(body)
    except InvalidJsonError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _retry_after(answer: dict[str, object]) -> float | None:
    parameters = answer.get("parameters")
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(asked, bool) or not isinstance(asked, int | float):
        return None
    return float(asked)


TELEGRAM_URL = "https://api.telegram.org"
MOST_UNITS = 4096
"""Of UTF-16, in one message."""

CHAT_PAUSE_SECONDS = 1.0
GROUP_PAUSE_SECONDS = 3.0
"""Groups and channels take twenty messages a minute."""

_BETWEEN = "\n\n"


class TelegramSettings(SecretStruct, frozen=True):
    # The token is who the bot is: no repr, log, error or record may show it.
    token: str
    chat: str
    url: str = TELEGRAM_URL
    pace: Pace = FOR_PEOPLE
    also: tuple[str, ...] = ()
    """Other chats in which questions are answered."""

    @property
    def chats(self) -> frozenset[str]:
        return frozenset((self.chat, *self.also))


class Telegram:
    name = "Telegram"

    def __init__(self, settings: TelegramSettings, limits: HttpLimits = DELIVERY_LIMITS) -> None:
        self._chat = settings.chat
        self.pace = settings.pace
        self._bot = BotConnection(settings.token, settings.url, limits)
        base = settings.url.rstrip("/")
        self.fingerprint = fingerprint(base, settings.token, settings.chat)
        alone = settings.chat.isdigit()  # only a person's own chat has a positive number
        self.pause_seconds = CHAT_PAUSE_SECONDS if alone else GROUP_PAUSE_SECONDS

    def wants(self, event: AlertEvent) -> bool:
        return is_news(event)

    def letter(self, events: Sequence[AlertEvent]) -> Notification:
        """All that waits, each in full, up to what one message holds: a burst needs few."""
        text, taken = announcement(events[0]), 1
        for event in events[1:]:
            longer = text + _BETWEEN + announcement(event)
            if text_units(longer) > MOST_UNITS:
                break
            text, taken = longer, taken + 1
        return Notification(self._body(text), tuple(events[:taken]))

    def notice(self, text: str) -> Notification:
        return Notification(self._body(text), ())

    async def send(self, letter: Notification, *, now: float) -> Outcome:
        return await self._bot.send("sendMessage", letter.body, now=now)

    async def close(self) -> None:
        await self._bot.close()

    def _body(self, text: str) -> bytes:
        return message_body(self._chat, text)


def text_units(text: str) -> int:
    """How long Telegram counts a text to be."""
    return len(text.encode("utf-16-le")) // 2


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

    def is_from(self, chat: str) -> bool:
        return chat in (self.chat, self.handle) and bool(chat)


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


_COUNTS_SECONDS = 6 * DAY


class KeptOffset(Struct, frozen=True):
    """Which questions are done with, of this bot alone: another token begins anew.

    After a week without any, Telegram begins to count from elsewhere.
    """

    path: Path
    of: str
    clock: Callable[[], float]

    def read(self) -> int:
        with suppress(OSError, InvalidJsonError):
            kept = loads(self.path.read_bytes())
            if isinstance(kept, dict) and kept.get("bot") == self.of:
                offset, at = kept.get("offset"), kept.get("at")
                if isinstance(offset, int) and isinstance(at, int):
                    return offset if self.clock() - at < _COUNTS_SECONDS else 0
        return 0

    def keep(self, offset: int) -> None:
        kept = {"bot": self.of, "offset": offset, "at": int(self.clock())}
        write_atomically(self.path, json.dumps(kept, indent=2).encode())


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


class ChatBot(Struct, eq=False):
    connection: BotConnection
    chats: frozenset[str]
    answer: Callable[[ChatQuestion], Awaitable[ChatReply | None]]
    """None where nothing is to be answered."""
    offsets: OffsetStore
    clock: Callable[[], float]
    oldest_seconds: float = _OLDEST_SECONDS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _failures: int = 0

    async def look(self, *, seconds: int = LOOK_SECONDS) -> ChatStep:
        """Ask once for questions and answer those that came."""
        offset = self.offsets.read()
        asked = {
            "offset": offset,
            "limit": _MOST_AT_ONCE,
            "timeout": seconds,
            "allowed_updates": ["message"],
        }
        limits = HttpLimits(5.0, seconds + 15.0, MEGABYTE)
        body = json.dumps(asked).encode()
        outcome, result = await self.connection.ask("getUpdates", body, limits, now=self.clock())
        if not isinstance(outcome, Delivered):
            return self._troubled(outcome)
        self._failures = 0
        batch = read_updates(result, offset)
        answered = strangers = too_old = 0
        for question in batch.questions:
            if not any(map(question.is_from, self.chats)):
                strangers += 1
            elif self.clock() - question.date > self.oldest_seconds:
                too_old += 1
            else:
                sent = await self._reply(question)
                if not isinstance(sent, Delivered):
                    return self._troubled(sent)
                answered += 1
            self.offsets.keep(question.update_id + 1)
        if batch.next_offset != offset:
            self.offsets.keep(batch.next_offset)
        return ChatStep(answered, strangers, too_old)

    async def _reply(self, question: ChatQuestion) -> Outcome:
        reply = await self.answer(question)
        if reply is None:
            return Delivered()
        outcome: Outcome = Delayed("nothing was tried")
        for attempt in range(_TRIES):
            outcome = await send_reply(self.connection, question.chat, reply, now=self.clock())
            if not isinstance(outcome, Delayed):
                break
            await self.sleep(_rest(outcome, attempt))
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
    body, kind = photo_body(chat, shorten_text(caption, MOST_CAPTION_UNITS), reply.png)
    outcome = await connection.send("sendPhoto", body, now=now, kind=kind)
    if fits or isinstance(outcome, Delayed):
        return outcome
    return await connection.send("sendMessage", _message(chat, reply.text), now=now)


def shorten_text(text: str, most: int) -> str:
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
    return message_body(chat, shorten_text(text, MOST_UNITS))


def _rest(outcome: Delayed, failures: int) -> float:
    """As long as was asked for, else twice as long as last time."""
    if outcome.asked_seconds is not None:
        return min(_LONGEST_WAIT, max(_SHORTEST_WAIT, outcome.asked_seconds))
    return float(min(_LONGEST_WAIT, _SHORTEST_WAIT * 2.0 ** min(failures, 10)))
