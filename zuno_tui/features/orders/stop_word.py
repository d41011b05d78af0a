"""`orders stop` out of the Telegram chat that alerts go to: it holds this machine back, no more."""

import asyncio
import re
import time

from agents.monitor.deliver.channel import DELIVERY_LIMITS, fingerprint
from agents.monitor.deliver.telegram import (
    LOOK_SECONDS,
    BotConnection,
    ChatBot,
    ChatQuestion,
    ChatReply,
    KeptOffset,
    TelegramSettings,
)
from chain.base.home import Home, locked_if_free
from chain.base.units import DAY
from chain.standing_orders.book import MachineRole, StandingOrders
from zuno_tui.app.session import SettingsSource
from zuno_tui.features.orders.carrier import OTHER_GOES_ON
from zuno_tui.settings import SettingsError, load_settings
from zuno_tui.settings.channels import channel_settings

_WORDS = re.compile(r"/?orders?(@\w+)?\s+stop\s*[.!]*", re.IGNORECASE)
_PAUSE = 5.0


def obey_stop(home: Home, words: str) -> str:
    """What was done, in a sentence; empty where these are other words."""
    if _WORDS.fullmatch(words.strip()) is None:
        return ""
    book = StandingOrders(home.orders)
    book.stop()
    standing = sum(kept.stands for kept in book.all())
    many = "1 order stands" if standing == 1 else f"{standing} orders stand"
    other = "" if book.role is MachineRole.ALONE else f" {OTHER_GOES_ON}"
    return (
        f"Stopped: this machine carries out no order until somebody types zuno orders go on it. "
        f"{many}, and what was signed stays valid on chain. Cancel it there: zuno order cancel all"
        f"{other}"
    )


async def listen(chosen: SettingsSource) -> None:
    """For as long as orders are carried out here; trouble with Telegram stops none of them."""
    while True:
        pause = _PAUSE
        if any(not kept.is_final for kept in StandingOrders(chosen.home.orders).all()):
            try:
                settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
                telegram = channel_settings(settings, chosen.environment).telegram
            except SettingsError:
                telegram = None  # the watch tells it
            if telegram is not None and not _is_answered(chosen.home):
                pause = max(pause, await hear(chosen.home, telegram, seconds=LOOK_SECONDS))
        await asyncio.sleep(pause)


async def hear(home: Home, telegram: TelegramSettings, *, seconds: int) -> float:
    """One look; how long to wait until the next one. Of other words nothing is answered."""

    async def answer(question: ChatQuestion) -> ChatReply | None:
        words = obey_stop(home, question.text)
        return ChatReply(words) if words else None

    connection = BotConnection(telegram.token, telegram.url, DELIVERY_LIMITS)
    bot = ChatBot(
        connection,
        frozenset((telegram.chat,)),
        answer,
        KeptOffset(home.telegram_offset, fingerprint(telegram.token), time.time),
        clock=time.time,
        # A stop that came while nobody listened still counts.
        oldest_seconds=DAY,
    )
    try:
        return (await bot.look(seconds=seconds)).wait_seconds
    finally:
        await connection.close()


def _is_answered(home: Home) -> bool:
    """Whether `zuno telegram` runs here, which obeys the same words."""
    with locked_if_free(home.telegram_lock) as free:
        return not free
