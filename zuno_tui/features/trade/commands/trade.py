"""`zuno trade SYMBOL`: the trade desk argues about a coin; status, report, memory and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, always
from zuno_tui.features.trade.intents import COIN, ModeName, Trade, read_subject

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer

EMERGENCIES = dict.fromkeys(("emergency", "urgent", "urgently"), True)
_MODES: dict[str, ModeName] = {"swing": "swing", "position": "position"}


async def _answer(session: Session, intent: Trade) -> CommandAnswer:
    from zuno_tui.features.trade import trade

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
            return await trade.argue_coin(session, coin, intent.mode, emergency=intent.emergency)


def _read(said: Remaining) -> Trade:
    mode, emergency = said.one_of(_MODES), said.one_of(EMERGENCIES)
    subject = said.matching(COIN)
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
    does="ask the trade desk about a coin, or see its trades",
    group=Group.TRADING,
    intent=Trade,
    answer=_answer,
    verbs=(
        Verb("trade", _read, "trade SYMBOL|status|report|memory|why", spoken=("should i trade",)),
        Verb(
            "trades",
            _reading("status"),
            does="what the trade desk holds, and what waits",
            spoken=("my trades", "show my trades", "how are my trades", "open trades"),
        ),
        Verb(
            "lessons",
            _reading("memory"),
            does="what closed trades have taught",
            spoken=("what did my trades teach", "what have my trades taught"),
        ),
    ),
    suggest=always("trade ETH", Trade("status")),
)
