"""Where alerts are sent: `[telegram]` and `[webhook]` in settings.toml, or the environment."""

from __future__ import annotations

import re
from datetime import time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct
from msgspec.structs import replace

from agents.monitor.alerts.alert import Severity
from agents.monitor.deliver.ledger import EVERYTHING, FOR_PEOPLE, QuietHours
from agents.monitor.deliver.telegram import TELEGRAM_URL, Telegram, TelegramSettings
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.units import HOUR
from zuno_tui.settings.load import SettingsError, checked_text, checked_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.monitor.deliver.channel import Channel
    from agents.monitor.deliver.ledger import Pace
    from zuno_tui.settings.load import Settings

PACE_KEYS = (
    *("least_severity", "quiet_hours", "time_zone", "critical_in_quiet_hours"),
    *("cooldown_minutes", "most_a_day", "remind_hours"),
)
_HOURS = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])")
_MOST_MINUTES = 1_440.0
_MOST_HOURS = 168.0
_MOST_A_DAY = 1_000


def checked_pace(name: str, table: Mapping[str, object], default: Pace) -> Pace:
    """What is set departs from the default; no message repeats it, it may be a misplaced secret."""
    pace = default
    if "least_severity" in table:
        severity = _severity(f"{name}.least_severity", table["least_severity"])
        pace = replace(pace, least_severity=severity)
    if "critical_in_quiet_hours" in table:
        passes = table["critical_in_quiet_hours"]
        if not isinstance(passes, bool):
            raise SettingsError(f"{name}.critical_in_quiet_hours may be true or false.")
        pace = replace(pace, critical_passes=passes)
    if "cooldown_minutes" in table:
        place = f"{name}.cooldown_minutes"
        minutes = _number(place, table["cooldown_minutes"], _MOST_MINUTES)
        pace = replace(pace, cooldown_seconds=minutes * 60)
    if "remind_hours" in table:
        hours = _number(f"{name}.remind_hours", table["remind_hours"], _MOST_HOURS)
        pace = replace(pace, remind_seconds=hours * HOUR)
    if "most_a_day" in table:
        most = _number(f"{name}.most_a_day", table["most_a_day"], _MOST_A_DAY)
        if most != int(most):
            raise SettingsError(f"{name}.most_a_day must be a whole number; 0 is no limit.")
        pace = replace(pace, most_a_day=int(most))
    return replace(pace, quiet_hours=_quiet_hours(name, table))


def _quiet_hours(name: str, table: Mapping[str, object]) -> QuietHours | None:
    hours, zone = table.get("quiet_hours"), table.get("time_zone")
    if hours is None:
        if zone is None:
            return None
        raise SettingsError(
            f'[{name}] has a time_zone but no quiet_hours, like quiet_hours = "22:00-07:00".'
        )
    read = _HOURS.fullmatch(hours.replace(" ", "")) if isinstance(hours, str) else None
    if read is None:
        raise SettingsError(f'{name}.quiet_hours must be two times of day, like "22:00-07:00".')
    start, end = (time(int(read[at]), int(read[at + 1])) for at in (1, 3))
    if start == end:
        raise SettingsError(
            f"{name}.quiet_hours begin and end at the same time. To be told of what is critical"
            f' alone, set {name}.least_severity = "critical".'
        )
    return QuietHours(start, end, _zone(name, zone))


def _zone(name: str, zone: object) -> str:
    if zone is None:
        raise SettingsError(
            f'[{name}] has quiet_hours but no time_zone, like time_zone = "Europe/Berlin" or "UTC".'
        )
    try:
        return str(ZoneInfo(zone).key) if isinstance(zone, str) and zone else _refused_zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _refused_zone(name)


def _refused_zone(name: str) -> str:
    raise SettingsError(
        f"{name}.time_zone is no time zone that this system knows. Write it like"
        ' "Europe/Berlin", "America/New_York" or "UTC".'
    )


def _severity(place: str, value: object) -> Severity:
    try:
        return Severity(value)  # type: ignore[arg-type]  # whatever it is not, it refuses
    except ValueError:
        may = ", ".join(one.value for one in Severity)
        raise SettingsError(f"{place} may be {may}.") from None


def _number(place: str, value: object, most: float) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
    if not fits:
        raise SettingsError(f"{place} must be a number from 0, which is off, to {most:g}.")
    return float(value)  # type: ignore[arg-type]  # a number, as was just seen


_TELEGRAM_KEYS = ("token", "chat", "url", *PACE_KEYS)
_WEBHOOK_KEYS = ("url", "secret", *PACE_KEYS)
_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
_CHAT = re.compile(r"-?[0-9]+|@[A-Za-z][A-Za-z0-9_]*")


class ChannelSettings(Struct, frozen=True):
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
