"""Where alerts are sent: `[telegram]` and `[webhook]` in settings.toml, or the environment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.monitor.deliver.pace import EVERYTHING, FOR_PEOPLE
from agents.monitor.telegram import TELEGRAM_URL, Telegram, TelegramSettings
from agents.monitor.webhook import Webhook, WebhookSettings
from zuno_tui.settings.checking import SettingsError, checked_text, checked_url
from zuno_tui.settings.pace import PACE_KEYS, checked_pace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.monitor.channel import Channel
    from zuno_tui.settings.loading import Settings

_TELEGRAM_KEYS = ("token", "chat", "url", *PACE_KEYS)
_WEBHOOK_KEYS = ("url", "secret", *PACE_KEYS)
_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
_CHAT = re.compile(r"-?[0-9]+|@[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    telegram: TelegramSettings | None
    webhook: WebhookSettings | None

    def channels(self) -> tuple[Channel, ...]:
        """The channels a person has set, none of them connected yet."""
        telegram = () if self.telegram is None else (Telegram(self.telegram),)
        webhook = () if self.webhook is None else (Webhook(self.webhook),)
        return (*telegram, *webhook)


def channel_settings(settings: Settings, environment: Mapping[str, str]) -> ChannelSettings:
    """No message repeats what was set: any of it may be a secret, or be put where one belongs."""
    _refuse_unknown("telegram", settings.telegram, _TELEGRAM_KEYS)
    _refuse_unknown("webhook", settings.webhook, _WEBHOOK_KEYS)
    return ChannelSettings(
        _telegram(settings.telegram, environment), _webhook(settings.webhook, environment)
    )


def _telegram(
    table: Mapping[str, object], environment: Mapping[str, str]
) -> TelegramSettings | None:
    token = environment.get("ZUNO_TELEGRAM_TOKEN") or table.get("token")
    chat = environment.get("ZUNO_TELEGRAM_CHAT") or table.get("chat")
    if token is None and chat is None:
        return None
    if token is None or chat is None:
        missing = "token" if token is None else "chat"
        raise SettingsError(
            f"Telegram needs a token and a chat, and the {missing} is missing. "
            f"Set [telegram] {missing}, or ZUNO_TELEGRAM_{missing.upper()}."
        )
    url = environment.get("ZUNO_TELEGRAM_URL") or table.get("url", TELEGRAM_URL)
    return TelegramSettings(
        token=_matching(_TOKEN, token, "telegram.token", "what @BotFather gave: digits:letters"),
        chat=_matching(_CHAT, chat, "telegram.chat", "a number, or @ and a channel's name"),
        url=checked_url(url, "telegram.url"),
        pace=checked_pace("telegram", table, FOR_PEOPLE),
    )


def _webhook(table: Mapping[str, object], environment: Mapping[str, str]) -> WebhookSettings | None:
    url = environment.get("ZUNO_WEBHOOK_URL") or table.get("url")
    secret = environment.get("ZUNO_WEBHOOK_SECRET") or table.get("secret")
    if url is None:
        if secret is None:
            return None
        raise SettingsError("The webhook has a secret but no url. Set [webhook] url.")
    return WebhookSettings(
        checked_url(url, "webhook.url"),
        None if secret is None else checked_text(secret, "webhook.secret"),
        checked_pace("webhook", table, EVERYTHING),
    )


def _matching(pattern: re.Pattern[str], value: object, place: str, wanted: str) -> str:
    text = str(value).strip() if isinstance(value, str | int) else ""
    if isinstance(value, bool) or not pattern.fullmatch(text):
        raise SettingsError(f"{place} is not {wanted}.")
    return text


def _refuse_unknown(name: str, table: Mapping[str, object], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise SettingsError(f"[{name}] has an unknown setting. It may hold {', '.join(known)}.")
