"""How many bars a second are walked: held without a word, and with the rule asked every 4 hours."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from agents.backtest.deciders import advisor_of, by_advice
from agents.backtest.hours import PoolBars, read_bars
from agents.backtest.report import backtest
from agents.backtest.walking import BacktestTerms, make_track, moment_at, snap_edges, walk
from agents.numbers.rules import RiskProfile
from benchmarks.bar_files import BarRow, write_bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agents.backtest.walking import Track

ROUNDS = 5
HOUR = 3600.0
HOLDING_ASKED, RULE_ASKED, READ_ASKED = 5e6, 1e6, 1e6


def run() -> Iterator[str]:
    for name, step, years in (("minutes", 60.0, 2), ("hours", HOUR, 10)):
        yield from _compared(name, make_track(_bars(step, years), BacktestTerms()))
    yield from _read_and_walked(_bars(60.0, 1))


def _read_and_walked(bars: PoolBars) -> Iterator[str]:
    """A year of minutes from a file, as `zuno backtest --bars` reads and walks it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "minutes.csv"
        write_bars(path, (BarRow(*row) for row in np.column_stack(bars).tolist()))
        advisor = advisor_of(RiskProfile.BALANCED)
        seconds = _seconds(lambda: backtest(read_bars(path), BacktestTerms(), advisor))
    count = len(bars.times)
    yield _line(f"{count:,} minutes of a file, all policies", count / seconds, READ_ASKED)


def _compared(name: str, track: Track) -> Iterator[str]:
    terms, advisor = BacktestTerms(), advisor_of(RiskProfile.BALANCED)
    opening = moment_at(track, 0, 0)
    own = snap_edges(opening.log_price, advisor.base_sigmas * opening.sigma, terms.tick_spacing)
    decide = by_advice(terms, advisor)
    bars = f"{track.bars:,} {name} in {len(track.starts)} windows"
    held = _seconds(lambda: walk(track, terms, own))
    yield _line(f"{bars}, held", track.bars / held, HOLDING_ASKED)
    ruled = _seconds(lambda: walk(track, terms, own, decide))
    yield _line(f"{bars}, with the rule", track.bars / ruled, RULE_ASKED)


def _bars(step: float, years: int) -> PoolBars:
    """A walk of 4 % a day, with fees that pay for it now and then."""
    random = np.random.default_rng(7)
    count = int(years * 365 * 86_400 / step)
    moves = random.normal(0, 0.04 * (step / 86_400) ** 0.5, count)
    price = 2000 * np.exp(np.cumsum(moves))
    before = np.concatenate((price[:1], price[:-1]))
    fees = 1e6 * 0.04**2 / 8 * step / 86_400 * np.exp(random.normal(0, 1, count))
    return PoolBars(
        step * np.arange(1, count + 1, dtype=np.float64),
        price,
        np.minimum(before, price),
        np.maximum(before, price),
        fees,
        np.full(count, 1e6),
    )


def _line(name: str, speed: float, asked: float) -> str:
    return f"{name:<52} {speed / 1e6:6.1f} M bars/s   asked: {asked / 1e6:g} M"


def _seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best
