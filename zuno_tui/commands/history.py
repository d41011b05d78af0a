"""`zuno history`: everything that moved, at the prices of its time, for people and tax programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent, read_ref, write_ref

if TYPE_CHECKING:
    from chain.protocols.reference import PositionRef
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.present.history import CsvFormat

_FORMATS: tuple[CsvFormat, ...] = ("csv", "koinly", "cointracking")


class ShowHistory(Intent, frozen=True):
    command: ClassVar = ("history",)
    arguments: ClassVar = (
        Argument(
            "ref",
            "a position, with those before and after it",
            metavar="ID",
            read=read_ref,
            write=write_ref,
        ),
        Argument("--wallet", "an address, an ENS name or a wallet's name", metavar="WALLET"),
        Argument("--csv", "for a spreadsheet", switch=True),
        Argument("--format", "which program's columns the CSV has", choices=_FORMATS, field="form"),
        Argument("--from", "the first UTC day, like 2026-01-31", metavar="DAY", field="since"),
        Argument("--to", "the last UTC day", metavar="DAY", field="until"),
    )

    ref: PositionRef | None = None
    wallet: str | None = None
    csv: bool = False
    form: CsvFormat | None = None
    since: str | None = None
    until: str | None = None


async def _answer(session: Session, intent: ShowHistory) -> CommandAnswer:
    from zuno_tui.app.history import history_filter, told_history

    named = () if intent.wallet is None else (intent.wallet,)
    form = intent.form or ("csv" if intent.csv else None)
    told = history_filter(intent.ref, intent.since, intent.until)
    return await told_history(session, named, form, told)


def _read(said: Remaining) -> ShowHistory:
    csv = bool(said.one_of({"csv": True}))
    ref = said.position() if said else None
    said.end("all", "my", "whole", "life", "of", "position")
    return ShowHistory(ref, csv=csv)


COMMAND = Command(
    does="profit of each position, and every change since",
    group=Group.POSITIONS,
    intent=ShowHistory,
    answer=_answer,
    tells_old_block=True,
    verbs=(
        Verb(
            "history",
            _read,
            "history [ID]",
            spoken=("show history", "my history", "show my history", "profit", "pnl", "my profit"),
            names="positions",
        ),
    ),
)
