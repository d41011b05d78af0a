"""`zuno telegram`: the bot that answers questions in the chats that are set."""

from argparse import Namespace
from typing import ClassVar

from zuno_tui.catalog.command import Argument, Command, Group, Intent


class AnswerChats(Intent, frozen=True):
    command: ClassVar = ("telegram",)
    arguments: ClassVar = (Argument("--once", "answer what waits, and end", switch=True),)

    once: bool = False


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.trade.chat import run

    return run(arguments)


COMMAND = Command(
    does="answer questions in the Telegram chats that are set, from facts alone",
    notes=(
        "It answers /status, /report, /positions, /why, /help and plain questions, only in "
        "[telegram] chat and answer_to, and sends reports that wait. It starts no run, approves "
        "nothing and sends no order; orders stop, from [telegram] chat alone, holds this machine "
        "back. It runs beside zuno monitor, until told to end."
    ),
    group=Group.WATCH,
    intent=AnswerChats,
    run=_run,
)
