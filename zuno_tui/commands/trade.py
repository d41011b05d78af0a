"""`zuno trade SYMBOL`: the trade desk argues about a coin; status, report, memory and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal

from zuno_tui.commands.command import Argument, Command, Group, Intent, Verb
from zuno_tui.commands.possible import always

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining

ModeName = Literal["swing", "position"]
ASKED = ("status", "report", "memory", "why")
"""What may be asked of the desk instead of naming a coin."""
MODE = Argument("--mode", "for how long", choices=("swing", "position"), default="swing")
EMERGENCY = Argument("--emergency", "news of the last hour alone", switch=True, default=False)
_COIN = re.compile(r"[A-Za-z0-9]{2,12}", re.ASCII)
EMERGENCIES = dict.fromkeys(("emergency", "urgent", "urgently"), True)
_MODES: dict[str, ModeName] = {"swing": "swing", "position": "position"}


def read_subject(text: str) -> str:
    if text.lower() in ASKED:
        return text.lower()
    if _COIN.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no coin, like ETH, nor one of {', '.join(ASKED)}")
    return text.upper()


class Trade(Intent, frozen=True):
    command: ClassVar = ("trade",)
    arguments: ClassVar = (
        Argument(
            "subject",
            f"a coin, like ETH; or {', '.join(ASKED)}",
            metavar="SYMBOL",
            read=read_subject,
        ),
        MODE,
        EMERGENCY,
    )

    subject: str
    mode: ModeName = "swing"
    emergency: bool = False


async def _answer(session: Session, intent: Trade) -> CommandAnswer:
    from zuno_tui.app import trade

    match intent.subject:
        case "status":
            return await trade.status(session)
        case "report":
            return trade.report(session)
        case "memory":
            return await trade.memory(session)
        case "why":
            return trade.why(session)
        case coin:
            return await trade.argued(session, coin, intent.mode, emergency=intent.emergency)


def _read(said: Remaining) -> Trade:
    mode, emergency = said.one_of(_MODES), said.one_of(EMERGENCIES)
    subject = said.matching(_COIN)
    if subject is None:
        said.refuse("which coin.", "trade ETH")
    said.end("about", "on", "the", "mode")
    return Trade(read_subject(subject), mode or "swing", emergency=bool(emergency))


def _reading(subject: str) -> Callable[[Remaining], Trade]:
    def read(said: Remaining) -> Trade:
        said.end("me", "us", "so", "far", "now", "doing")
        return Trade(subject)

    return read


COMMAND = Command(
    name="trade",
    does="let the trade desk argue about a coin, or ask how its trades stand",
    group=Group.PLAN,
    intent=Trade,
    answer=_answer,
    verbs=(
        Verb(
            "trade",
            _read,
            "trade SYMBOL|status|report|memory|why",
            spoken=("should i trade",),
        ),
        Verb(
            "trades",
            _reading("status"),
            does="what the trade desk holds, and what waits",
            spoken=("my trades", "show my trades", "how are my trades", "open trades"),
        ),
        Verb(
            "lessons",
            _reading("memory"),
            does="what ended trades have taught",
            spoken=("what did my trades teach", "what have my trades taught"),
        ),
    ),
    suggest=always("trade ETH", Trade("status")),
)
