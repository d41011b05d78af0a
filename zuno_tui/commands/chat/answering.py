"""`zuno telegram`: look for questions, answer them from facts, and send reports that wait."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.monitor.chat.bot import LOOK_SECONDS, ChatBot, ChatStep
from agents.monitor.deliver.bot_connection import BotConnection
from agents.monitor.deliver.channel import DELIVERY_LIMITS, fingerprint
from chain.base.home import write_atomically
from chain.base.locks import locked_if_free
from chain.base.strict_json import InvalidJsonError, loads
from chain.base.units import DAY
from zuno_tui.app.session import Session, say
from zuno_tui.app.trade_report import report_channel, send_waiting
from zuno_tui.commands.chat.answers import chat_answer
from zuno_tui.present.exit_codes import DONE, NETWORK, REFUSED
from zuno_tui.present.output import json_text, print_json_line
from zuno_tui.settings import SettingsError
from zuno_tui.settings.channels import channel_settings

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from pathlib import Path

    from agents.monitor.deliver.telegram import TelegramSettings
    from zuno_tui.present.output import Json

_COUNTS_SECONDS = 6 * DAY
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
        kept: dict[str, Json] = {"bot": self.of, "offset": offset, "at": int(self.clock())}
        write_atomically(self.path, json_text(kept).encode())


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    telegram = channel_settings(session.settings, os.environ).telegram
    if telegram is None:
        raise SettingsError(
            "No Telegram bot is set. Ask @BotFather for one, then set token and chat under "
            f"[telegram] in {session.home.settings}."
        )
    session.home.prepare()
    with locked_if_free(session.home.root / "telegram.lock") as free:
        if not free:
            say("Another zuno answers in these chats already: one is enough.")
            return REFUSED
        return asyncio.run(_answer(session, telegram, once=arguments.once))


async def _answer(session: Session, telegram: TelegramSettings, *, once: bool) -> int:
    stop = asyncio.Event()
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    connection = BotConnection(telegram.token, telegram.url, DELIVERY_LIMITS)
    bot = ChatBot(
        connection,
        telegram.chats,
        lambda text: chat_answer(session, text),
        KeptOffset(session.home.root / "telegram.json", fingerprint(telegram.token), time.time),
        clock=time.time,
    )
    say(f"Answering in {len(telegram.chats)} chats, from facts alone. Nothing here trades.")
    try:
        step = await _look(session, bot, 0 if once else LOOK_SECONDS, stop)
        while not once and not stop.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(step.wait_seconds):
                    await stop.wait()
            if not stop.is_set():
                step = await _look(session, bot, LOOK_SECONDS, stop)
    finally:
        await connection.close()
    if not once:
        return DONE
    return REFUSED if step.refused else NETWORK if step.trouble else DONE


async def _look(session: Session, bot: ChatBot, seconds: int, stop: asyncio.Event) -> ChatStep:
    """One look; what waits to be sent goes first, and an end is not kept waiting for a question."""
    reports = report_channel(session)
    if reports is not None and (trouble := await send_waiting(session.home, reports)):
        say(trouble)
    looking = asyncio.create_task(bot.look(seconds=seconds))
    ending = asyncio.create_task(stop.wait())
    await asyncio.wait((looking, ending), return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    if not looking.done():
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        return ChatStep()
    step = looking.result()
    _tell(session, step)
    return step


def _tell(session: Session, step: ChatStep) -> None:
    if session.as_json:
        print_json_line(
            {
                "answered": step.answered,
                "strangers": step.strangers,
                "tooOld": step.too_old,
                "trouble": step.trouble or None,
            }
        )
    if step.trouble:
        say(f"Telegram: {step.trouble} Trying again in {step.wait_seconds:.0f} s.")
    if step.strangers:
        say(f"{step.strangers} messages from chats that are not set got no answer.")
