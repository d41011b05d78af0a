"""What came of every policy: dollars per $10,000 and week, with an interval by block bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from agents.backtest.advice_arrays import ACTIONS
from agents.backtest.hours import DAY_HOURS, WEEK_HOURS, Floats, Indices, PoolBars
from agents.backtest.policies import PolicyName, walk_all
from agents.backtest.walking import BacktestTerms, PolicyRun, make_track

if TYPE_CHECKING:
    from agents.backtest.deciders import Advisor
    from agents.numbers.advice import AdvisedAction

TOLD_PER = 10_000.0
"""Results are told for so many dollars."""
BLOCK_HOURS = WEEK_HOURS
DRAWS = 1000
SEED = 0
_INTERVAL = (2.5, 97.5)
_FEWEST_WINDOWS = 2


class BacktestError(ValueError):
    """Bars of which no window can be made."""


class DollarInterval(NamedTuple):
    """A mean and its 95 % interval, which one window alone does not have."""

    mean: float
    low: float | None
    high: float | None


class PolicyReport(Struct, frozen=True):
    hedged: DollarInterval
    """Fees − LVR − costs."""
    unhedged: DollarInterval
    """Against holding the tokens each window started with."""
    actions_per_week: float
    in_range: float
    """Share of the bars."""
    costs_per_week: float
    shares: Mapping[AdvisedAction, float]
    """Of all decisions."""
    cumulative: tuple[float, ...]
    """Hedged, window after window."""


class BacktestReport(Struct, frozen=True):
    windows: int
    bars: int
    broken_windows: int
    """Given up at a gap."""
    warm_up_windows: float
    """What the seven days before the first window would have been."""
    policies: Mapping[PolicyName, PolicyReport]
    differences: Mapping[str, DollarInterval]
    """The advice's hedged result less that of each other policy, over the same windows."""


def backtest(
    bars: PoolBars, terms: BacktestTerms, advisor: Advisor, *, ablate: bool = False
) -> BacktestReport:
    track = make_track(bars, terms)
    if not len(track.starts):
        raise BacktestError(
            f"The bars reach over {track.hours.total / DAY_HOURS:.3g} days; without a gap it takes "
            f"{(WEEK_HOURS + terms.window_hours) / DAY_HOURS:.3g} for one window: 7 to warm up and "
            f"{terms.window_hours / DAY_HOURS:.3g}. Give more bars, or a shorter --window."
        )
    runs = walk_all(track, terms, advisor, ablate=ablate)
    per_week = TOLD_PER / terms.capital * WEEK_HOURS / terms.window_hours
    drawn = drawn_windows(len(track.starts), terms.window_hours)
    ours = runs[PolicyName.ADVICE]
    return BacktestReport(
        windows=len(track.starts),
        bars=track.bars,
        broken_windows=track.broken_windows,
        warm_up_windows=WEEK_HOURS / terms.window_hours,
        policies={name: _report(run, per_week, drawn, terms) for name, run in runs.items()},
        differences={
            f"{PolicyName.ADVICE}-{name}": interval((ours.hedged - run.hedged) * per_week, drawn)
            for name, run in runs.items()
            if run is not ours
        },
    )


def drawn_windows(windows: int, window_hours: int) -> Indices:
    """A row a draw: blocks of seven days of windows, going round at the end."""
    length = max(1, round(BLOCK_HOURS / window_hours))
    blocks = -(-windows // length)
    starts = np.random.default_rng(SEED).integers(0, windows, (DRAWS, blocks))
    drawn = (starts[:, :, None] + np.arange(length)) % windows
    return drawn.reshape(DRAWS, -1)[:, :windows]


def interval(values: Floats, drawn: Indices) -> DollarInterval:
    if len(values) < _FEWEST_WINDOWS:
        return DollarInterval(float(values.mean()), None, None)
    low, high = np.percentile(values[drawn].mean(axis=1), _INTERVAL)
    return DollarInterval(float(values.mean()), float(low), float(high))


def _report(run: PolicyRun, per_week: float, drawn: Indices, terms: BacktestTerms) -> PolicyReport:
    shares = {
        action: float((run.actions == number).mean()) for number, action in enumerate(ACTIONS)
    }
    acted = float((run.actions != 0).sum(axis=1).mean())
    return PolicyReport(
        hedged=interval(run.hedged * per_week, drawn),
        unhedged=interval(run.unhedged * per_week, drawn),
        actions_per_week=acted * WEEK_HOURS / terms.window_hours,
        in_range=float(run.in_range.mean()),
        costs_per_week=float(run.costs.mean() * per_week),
        shares=shares,
        cumulative=tuple(
            float(total) for total in np.cumsum(run.hedged) * TOLD_PER / terms.capital
        ),
    )
