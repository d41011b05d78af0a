"""`zuno backtest`: the rule walked forward over a pool's past, beside what it must beat."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.arguments import PROFILE, read_file_name
from zuno_tui.intents.intent import Argument, Intent, OneOf

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.features.lab.backtest import BacktestOptions
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer

_DEFAULT_DAYS = 30
_HOURS = {"h": 1, "d": 24, "w": 168}


def read_hours(text: str) -> int:
    """Hours of a time like 4h, 7d or 2w."""
    match = re.fullmatch(r"([1-9]\d{0,4})([hdw])", text)
    if match is None:
        raise ValueError(f"{text!r} is not a time in whole hours, days or weeks, like 4h, 7d or 2w")
    return int(match[1]) * _HOURS[match[2]]


def write_hours(hours: int) -> str:
    return f"{hours // 24}d" if hours % 24 == 0 else f"{hours}h"


def read_positive(text: str) -> float:
    number = read_not_negative(text)
    if number == 0:
        raise ValueError(f"{text!r} is not above zero")
    return number


def read_not_negative(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError(f"{text!r} is not a number of zero or more")
    return number


def read_basis_points(text: str) -> float:
    points = read_not_negative(text)
    if points >= 10_000:
        raise ValueError(f"{text!r} basis points are all there is: 10,000 are one whole")
    return points


def read_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1_000_000:
        raise ValueError(f"{text!r} is not a whole number above zero")
    return int(text)


class RunBacktest(Intent, frozen=True):
    command: ClassVar = ("backtest",)
    arguments: ClassVar = (
        OneOf(
            (
                Argument("pool", "a pool's id, or how it begins", metavar="POOL"),
                Argument(
                    "--bars",
                    "a CSV with time, price, low, high, fees_usd and liquidity_usd; .gz too",
                    metavar="FILE",
                    read=read_file_name,
                ),
            ),
            required=True,
        ),
        Argument("--days", "how far back a pool's swaps are read", metavar="N", read=read_count),
        Argument("--fee-pips", "the pool's fee; 500 is 0.05%", metavar="N", read=read_count),
        Argument("--tick-spacing", metavar="N", read=read_count),
        Argument("--capital", "in dollars", metavar="USD", read=read_positive),
        Argument(
            "--gas-usd",
            "of one action, all its transactions",
            metavar="USD",
            read=read_not_negative,
        ),
        Argument(
            "--slippage-bp",
            "of what is swapped, beside the fee",
            metavar="BP",
            read=read_basis_points,
        ),
        Argument(
            "--every",
            "how often the rule is asked",
            metavar="4h",
            read=read_hours,
            write=write_hours,
        ),
        Argument(
            "--window",
            "each window starts afresh",
            metavar="28d",
            read=read_hours,
            write=write_hours,
        ),
        PROFILE,
        Argument(
            "--token1-usd",
            "what token1 is worth; 1 where it is the dollar",
            metavar="USD",
            read=read_positive,
        ),
        Argument("--ablate", "also without Critic, and without dead band", switch=True),
        Argument("--png", "draw the results into this file", metavar="FILE", read=read_file_name),
    )

    pool: str | None = None
    bars: Path | None = None
    days: int = _DEFAULT_DAYS
    fee_pips: int | None = None
    tick_spacing: int | None = None
    capital: float = 10_000.0
    gas_usd: float = 0.05
    slippage_bp: float = 5.0
    every: int = 4
    window: int = 672
    profile: str | None = None
    token1_usd: float | None = None
    ablate: bool = False
    png: Path | None = None


def _run(arguments: Namespace) -> int:
    """A file is read without the settings, alike wherever it lies; a pool needs its network."""
    if arguments.bars is None:
        from zuno_tui.commands.catalog.run_in_session import run_in_session

        return run_in_session(COMMAND, arguments)
    from zuno_tui.features.lab.backtest import backtest_of_file
    from zuno_tui.present.answer import print_answer

    answer = backtest_of_file(arguments.bars, _options(arguments))
    return print_answer(answer, as_json=bool(arguments.json))


async def _answer(session: Session, intent: RunBacktest) -> CommandAnswer:
    import asyncio

    from zuno_tui.features.lab.backtest import backtest_of_file, backtest_of_pool

    if intent.bars is not None:
        return await asyncio.to_thread(backtest_of_file, intent.bars, _options(intent))
    return await backtest_of_pool(session, intent.pool or "", intent.days, _options(intent))


def _options(asked: Namespace | RunBacktest) -> BacktestOptions:
    from zuno_tui.features.lab.backtest import BacktestOptions

    return BacktestOptions(
        **{name: getattr(asked, name) for name in BacktestOptions.__struct_fields__}
    )


def _read(said: Remaining) -> RunBacktest:
    if not said:
        said.refuse("which pool, or which file of bars.", "backtest POOL")
    word = said.text.removesuffix("…")
    if re.fullmatch(r"0x[0-9a-fA-F]+", word):
        return RunBacktest(pool=word.lower())
    return RunBacktest(bars=read_file_name(word))


COMMAND = Command(
    does="test the advice on a pool's past",
    group=Group.ADVICE,
    reaches_network=False,
    intent=RunBacktest,
    run=_run,
    answer=_answer,
    verbs=(Verb("backtest", _read, "backtest POOL"),),
)
