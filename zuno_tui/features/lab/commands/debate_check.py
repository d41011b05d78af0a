"""`zuno debate-check`: what a model adds, on situations that were recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb, alone
from zuno_tui.intents.arguments import read_file_name
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer

_SITUATIONS = 5
_TIMES = 2
_MOST = 1_000
_ARMS = ("rules", "one", "vote", "self", "debate", "noise")
_DAYS = 7
_MOST_DAYS = 60
_TOKENS = 200_000
_MOST_TOKENS = 100_000_000


def _whole_number(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not 0 < int(text) <= most:
            raise ValueError(f"{text!r} is not a whole number from 1 to {most:,}")
        return int(text)

    return read


def _read_arms(text: str) -> tuple[str, ...]:
    named = tuple(dict.fromkeys(text.split(",")))
    strange = [name for name in named if name not in _ARMS]
    if strange or "rules" not in named:
        raise ValueError(f"{text!r} is not rules and some of {', '.join(_ARMS[1:])}")
    return named


def _read_tokens(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isascii() or not digits.isdigit() or not 0 < int(digits) <= _MOST_TOKENS:
        raise ValueError(f"{text!r} is not a whole number from 1 to {_MOST_TOKENS:,}")
    return int(digits)


def _read_usd(text: str) -> Decimal:
    found = Decimal(text) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) else Decimal(0)
    if not found:
        raise ValueError(f"{text!r} is not an amount of dollars, like 2.50")
    return found


class CheckDebates(Intent, frozen=True):
    command: ClassVar = ("debate-check",)
    arguments: ClassVar = (
        Argument("record", "a record's file or request id alone", metavar="RECORD"),
        Argument(
            "-n",
            "so many of the latest records",
            metavar="N",
            field="situations",
            read=_whole_number(_MOST),
        ),
        Argument(
            "--times",
            "how often the model argues about each",
            metavar="N",
            read=_whole_number(_MOST),
        ),
        Argument("--records", "instead of the home's records", metavar="DIR", read=read_file_name),
        Argument(
            "--arms",
            f"compare ways to decide on what followed, some of {','.join(_ARMS)}",
            metavar="ARM,ARM",
            read=_read_arms,
        ),
        Argument(
            "--days",
            "with --arms: judge by the swaps of so many days",
            metavar="N",
            read=_whole_number(_MOST_DAYS),
        ),
        Argument(
            "--tokens",
            "with --arms: use so many at most in the whole run",
            metavar="N",
            read=_read_tokens,
        ),
        Argument(
            "--usd", "with --arms: spend so many dollars at most", metavar="USD", read=_read_usd
        ),
    )

    record: str | None = None
    situations: int = _SITUATIONS
    times: int = _TIMES
    records: Path | None = None
    arms: tuple[str, ...] | None = None
    days: int = _DAYS
    tokens: int = _TOKENS
    usd: Decimal | None = None


async def _answer(session: Session, intent: CheckDebates) -> CommandAnswer:
    from zuno_tui.features.lab.debate_check import DebateCheckOptions, checked_debates

    options = DebateCheckOptions(intent.record, intent.situations, intent.times, intent.records)
    if intent.arms is None:
        return await checked_debates(session, options)
    from agents.scorecard.arms import Arm
    from zuno_tui.features.lab.debate_arms import ArmsOptions, compared_arms

    most = None if intent.usd is None else int(intent.usd * 10**9)
    named = tuple(map(Arm, intent.arms))
    arms = ArmsOptions(named, intent.times, intent.days, intent.tokens, most)
    return await compared_arms(session, options, arms)


COMMAND = Command(
    does="compare models with the rules on recorded situations",
    group=Group.ADVICE,
    intent=CheckDebates,
    answer=_answer,
    verbs=(
        Verb(
            "debate check",
            alone(CheckDebates(), "all", "model"),
            spoken=("debate-check", "check debates"),
        ),
    ),
)
