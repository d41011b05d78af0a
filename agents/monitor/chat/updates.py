"""What was written to the bot, out of Telegram's updates; another shape is no question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable

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
