"""`zuno telegram`: the bot that answers questions in the chats that are set."""

from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.features import trade
from zuno_tui.intents.intent import Argument, Intent


class AnswerChats(Intent, frozen=True):
    command: ClassVar = ("telegram",)
    arguments: ClassVar = (Argument("--once", "answer what waits, and end", switch=True),)

    once: bool = False


COMMAND = Command(
    does="answer questions in your Telegram chats",
    notes=(
        "It answers /status, /report, /positions, /why, /help and plain questions, only in "
        "[telegram] chat and answer_to, and sends reports that wait. It starts no run, approves "
        "nothing and sends no order; orders stop, from [telegram] chat alone, holds this machine "
        "back. It runs beside zuno monitor, until told to end."
    ),
    group=Group.TRADING,
    intent=AnswerChats,
    run=lambda arguments: trade.chat.run(arguments),
)
