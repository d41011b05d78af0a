"""Alerts to a Telegram chat: push only, plain text, at the pace the service allows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.monitor.deliver.channel import (
    DELIVERY_LIMITS,
    ChannelRefused,
    Delayed,
    Delivered,
    Notification,
    fingerprint,
    is_news,
)
from agents.monitor.deliver.delivery import announcement
from agents.monitor.deliver.ledger import FOR_PEOPLE
from chain.base.clean_text import clean_text, quoted, without_own_marks
from chain.base.http import HttpClient, HttpError
from chain.base.redaction import Redactor
from chain.base.secret_struct import SecretStruct
from chain.base.strict_json import InvalidJsonError, loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.monitor.alerts.alert import AlertEvent
    from agents.monitor.deliver.channel import Outcome
    from agents.monitor.deliver.ledger import Pace
    from chain.base.http import HttpAnswer, HttpLimits

TELEGRAM_URL = "https://api.telegram.org"
MOST_UNITS = 4096
"""Of UTF-16, in one message."""

CHAT_PAUSE_SECONDS = 1.0
GROUP_PAUSE_SECONDS = 3.0
"""Groups and channels take twenty messages a minute."""

_BETWEEN = "\n\n"
_OK = 200
_BUSY = 429
_ADVICE = {
    400: "Check the chat: [telegram] chat in the settings, and write to the bot once yourself.",
    401: "Telegram does not know this token. Ask @BotFather for it: [telegram] token.",
    403: "The bot may not write there. Unblock it, or add it to the group.",
    404: "Telegram does not know this token. Ask @BotFather for it: [telegram] token.",
}


class TelegramSettings(SecretStruct, frozen=True):
    # The token is who the bot is: no repr, log, error or record may show it.
    token: str
    chat: str
    url: str = TELEGRAM_URL
    pace: Pace = FOR_PEOPLE


class Telegram:
    name = "Telegram"

    def __init__(self, settings: TelegramSettings, limits: HttpLimits = DELIVERY_LIMITS) -> None:
        self._chat = settings.chat
        self.pace = settings.pace
        base = settings.url.rstrip("/")
        self._url = f"{base}/bot{settings.token}/sendMessage"
        self._limits = limits
        self._http = HttpClient(base)
        self._redactor = Redactor([settings.token])
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
            if _units(longer) > MOST_UNITS:
                break
            text, taken = longer, taken + 1
        return Notification(self._body(text), tuple(events[:taken]))

    def notice(self, text: str) -> Notification:
        return Notification(self._body(text), ())

    async def send(self, letter: Notification, *, now: float) -> Outcome:
        try:
            posted = await self._http.post(self._url, letter.body, self._limits)
        except HttpError as error:
            return Delayed(f"it {error}")
        return self._outcome(posted, now)

    async def close(self) -> None:
        await self._http.close()

    def _body(self, text: str) -> bytes:
        preview = {"is_disabled": True}
        body = {"chat_id": self._chat, "text": text, "link_preview_options": preview}
        return json.dumps(body).encode()

    def _outcome(self, posted: HttpAnswer, now: float) -> Outcome:
        answer = _answer(posted.body)
        if posted.status == _OK:
            if answer.get("ok") is True:
                return Delivered()
            return Delayed("something that is not Telegram answered")
        # Redacted after cleaning, which may join a token's pieces, and before the cut.
        words = without_own_marks(clean_text(str(answer.get("description", ""))))
        said = quoted(self._redactor.text(words))
        reason = f"HTTP {posted.status}, {said or 'no reason given'}"
        if posted.status == _BUSY:
            return Delayed(reason, _asked(answer) or posted.wait(now))
        if 400 <= posted.status < 500:
            return ChannelRefused(f"{reason}. {_ADVICE.get(posted.status, 'Check [telegram].')}")
        if 300 <= posted.status < 400:
            return ChannelRefused(
                f"{reason}. It points elsewhere: set [telegram] url to where that is."
            )
        return Delayed(reason, answered=True)


def _answer(body: bytes) -> dict[str, object]:
    try:
        answer = loads(body)
    except InvalidJsonError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _asked(answer: dict[str, object]) -> float | None:
    parameters = answer.get("parameters")
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(asked, bool) or not isinstance(asked, int | float):
        return None
    return float(asked)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
