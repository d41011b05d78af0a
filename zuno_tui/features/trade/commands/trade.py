"""`zuno trade SYMBOL`: the trade desk argues about a coin; status, report, memory and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, always
from zuno_tui.features.trade.intents import COIN, EVERY, ModeName, Trade, read_every, read_subject

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer

_WATCH = {"watch": True}
_TIME = re.compile(r"[0-9]{1,4}(?:m|min|h)", re.ASCII)
_ANYWAY = dict.fromkeys(("anyway", "regardless"), True)
EMERGENCIES = dict.fromkeys(("emergency", "urgent", "urgently"), True)
_MODES: dict[str, ModeName] = {"swing": "swing", "position": "position"}


async def _answer(session: Session, intent: Trade) -> CommandAnswer:
    from zuno_tui.features.trade import trade, watch

    refuse_more_coins(intent)
    match intent.subject:
        case "status":
            return await trade.status(session)
        case "report":
            return trade.report(session)
        case "memory":
            return await trade.memory(session)
        case "why":
            return trade.why(session)
        case "watch":
            return watch.take_order(session, intent)
        case coin:
            return await trade.argue_coin(session, coin, intent)


def refuse_more_coins(intent: Trade) -> None:
    if intent.coins and intent.subject != "watch":
        from zuno_tui.settings import SettingsError

        raise SettingsError(f"One coin at a time: zuno trade {intent.subject}")


def _run(arguments: Namespace) -> int:
    """A watch goes on until it is ended; everything else answers."""
    if arguments.subject == "watch":
        from zuno_tui.features.trade import watch

        return watch.run(arguments)
    from zuno_tui.commands.catalog.run_in_session import run_in_session

    return run_in_session(COMMAND, arguments)


def _read(said: Remaining) -> Trade:
    if said.one_of(_WATCH):
        return _read_watch(said)
    mode, emergency = said.one_of(_MODES), said.one_of(EMERGENCIES)
    anyway = bool(said.one_of(_ANYWAY))
    subject = said.take_matching(COIN)
    if subject is None:
        said.refuse("which coin.", "trade ETH")
    said.end("about", "on", "the", "mode")
    return Trade(read_subject(subject), mode or "swing", emergency=bool(emergency), anyway=anyway)


def _read_watch(said: Remaining) -> Trade:
    every = said.take_matching(_TIME)
    said.one_of({"every": True})
    coins = []
    while (coin := said.take_matching(COIN)) is not None:
        coins.append(coin.upper())
    said.end("and")
    seconds = EVERY if every is None else read_every(every)
    return Trade("watch", coins=tuple(coins), every=seconds)


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
    run=_run,
    verbs=(
        Verb(
            "trade",
            _read,
            "trade SYMBOL|watch|status|report|memory|why",
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
            does="what closed trades have taught",
            spoken=("what did my trades teach", "what have my trades taught"),
        ),
    ),
    suggest=always("trade ETH", Trade("status")),
)
