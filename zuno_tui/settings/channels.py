"""Where the person wants to be told of alerts, and how often: `[telegram]` and `[webhook]`."""

from collections.abc import Mapping
from datetime import time
from typing import TypeVar

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from agents.monitor.alerts.alert import Severity
from agents.monitor.deliver.channel import Channel
from agents.monitor.deliver.pace import EVERYTHING, FOR_PEOPLE, Pace, QuietHours
from agents.monitor.deliver.telegram import TELEGRAM_URL, Telegram, TelegramSettings
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.units import HOUR
from zuno_tui.settings.check import SettingsError, check_as, refuse_plain
from zuno_tui.settings.load import VARIABLES, Settings, environment_value
from zuno_tui.settings.schema import HOURS, PaceTable, TelegramTable, WebhookTable

T = TypeVar("T", bound=PaceTable)


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
    return ChannelSettings(
        _telegram(_with_environment("telegram", settings.telegram, environment)),
        _webhook(_with_environment("webhook", settings.webhook, environment)),
    )


def _with_environment(name: str, table: T, environment: Mapping[str, str]) -> T:
    """The table with what the environment says in place of it, held to the same types."""
    places = (place.partition(".") for place in VARIABLES if place.startswith(f"{name}."))
    found = {key: environment_value(environment, f"{name}.{key}") for _, _, key in places}
    said = {key: value for key, value in found.items() if value}
    return check_as(type(table), {**to_builtins(table), **said}, name)


def _telegram(table: TelegramTable) -> TelegramSettings | None:
    if table.token is None and table.chat is None:
        return None
    if table.token is None or table.chat is None:
        missing = "token" if table.token is None else "chat"
        raise SettingsError(
            f"Telegram needs a token and a chat, and the {missing} is missing. "
            f"Set [telegram] {missing}, or ZUNO_TELEGRAM_{missing.upper()}.",
            f"telegram.{missing}",
        )
    url = (table.url or TELEGRAM_URL).strip()
    refuse_plain(url, "telegram.url", "the bot's token")
    return TelegramSettings(
        token=table.token.strip(),
        chat=str(table.chat).strip(),
        also=tuple(str(chat).strip() for chat in table.answer_to),
        url=url,
        pace=_pace(table, FOR_PEOPLE),
    )


def _webhook(table: WebhookTable) -> WebhookSettings | None:
    if table.url is not None:
        return WebhookSettings(table.url.strip(), table.secret, _pace(table, EVERYTHING))
    if table.secret is None:
        return None
    raise SettingsError("The webhook has a secret but no url. Set [webhook] url.", "webhook.url")


def _pace(table: PaceTable, default: Pace) -> Pace:
    """What is set departs from the default."""
    severity, passes = table.least_severity, table.critical_in_quiet_hours
    cooldown, remind, most = table.cooldown_minutes, table.remind_hours, table.most_a_day
    return replace(
        default,
        least_severity=default.least_severity if severity is None else Severity(severity),
        quiet_hours=_quiet_hours(table),
        critical_passes=default.critical_passes if passes is None else passes,
        cooldown_seconds=default.cooldown_seconds if cooldown is None else cooldown * 60,
        most_a_day=default.most_a_day if most is None else most,
        remind_seconds=default.remind_seconds if remind is None else remind * HOUR,
    )


def _quiet_hours(table: PaceTable) -> QuietHours | None:
    read = HOURS.search(table.quiet_hours or "")
    if read is None or table.time_zone is None:
        return None
    start, end = (time(int(read[at]), int(read[at + 1])) for at in (1, 3))
    return QuietHours(start, end, table.time_zone)
