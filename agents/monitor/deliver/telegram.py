"""Alerts to a Telegram chat: push only, plain text, at the pace the service allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.monitor.deliver.bot_connection import BotConnection, message_body
from agents.monitor.deliver.channel import (
    DELIVERY_LIMITS,
    Notification,
    Outcome,
    fingerprint,
    is_news,
)
from agents.monitor.deliver.delivery import announcement
from agents.monitor.deliver.ledger import FOR_PEOPLE, Pace
from chain.base.secret_struct import SecretStruct

if TYPE_CHECKING:
    from agents.monitor.alerts.alert import AlertEvent
    from chain.base.http import HttpLimits

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
