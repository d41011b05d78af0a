"""All wallets on all networks as the portfolio screen draws them: already in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from chain.base.units import HOUR

if TYPE_CHECKING:
    from zuno_tui.present.views import Tone

_MOST_POINTS = 240


class ResultLine(NamedTuple):
    """How something stood against holding, through time."""

    times: tuple[float, ...]
    values: tuple[float, ...]


class EarnedRow(Struct, frozen=True):
    """A position, a wallet on a network, or all of it."""

    key: str
    name: str
    worth: str
    today: str = "…"
    """Fees earned, collected or not; so are the next three."""
    week: str = "…"
    month: str = "…"
    entry: str = "…"
    result: str = "…"
    """Against holding what was put in."""
    tone: Tone = "plain"
    note: str = ""
    """What could not be told of it, and why."""
    line: ResultLine | None = None
    idle: bool = False
    """What lies in a wallet: it earns nothing, and has no result."""


def idle_row(key: str, name: str, worth: str) -> EarnedRow:
    """Tokens beside the positions."""
    return EarnedRow(key, name, worth, today="", week="", month="", entry="", result="", idle=True)


class PortfolioView(Struct, frozen=True):
    total: EarnedRow
    rows: tuple[EarnedRow, ...] = ()
    """Each wallet on each network, followed by what it holds beside positions and by these.

    Of a single wallet the row of all is the wallet's.
    """
    heading: str = ""
    place: str = ""
    """Which wallet on which network, or how many of both."""
    reading: str = ""
    """What is still being read; empty when all is there."""


def summed_lines(lines: Sequence[tuple[ResultLine, float]]) -> ResultLine | None:
    """Results of several through time; each comes with when it was opened.

    Before that it counts as nothing. The sum begins where all that was open by then is known.
    """
    told = [(line, opened) for line, opened in lines if line.times]
    if not told:
        return None
    begins = [line.times[0] for line, opened in told if opened < line.times[0] - HOUR]
    begin = max(begins) if begins else min(line.times[0] for line, _ in told)
    times = sorted({time for line, _ in told for time in line.times if time >= begin})
    times = _thinned(times)
    values = [0.0] * len(times)
    for line, opened in told:
        at = -1
        for place, time in enumerate(times):
            while at + 1 < len(line.times) and line.times[at + 1] <= time:
                at += 1
            if at >= 0:
                values[place] += line.values[at]
            elif opened <= time:
                values[place] += line.values[0]
    return ResultLine(tuple(times), tuple(values))


def _thinned(times: Sequence[float]) -> list[float]:
    if len(times) <= _MOST_POINTS:
        return list(times)
    last = len(times) - 1
    return [times[place * last // (_MOST_POINTS - 1)] for place in range(_MOST_POINTS)]
