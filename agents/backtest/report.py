"""What came of every policy, with an interval by block bootstrap; bars of a pool from its swaps."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from agents.backtest.advice_arrays import ACTIONS
from agents.backtest.deciders import Advisor, PolicyName, walk_all
from agents.backtest.hours import DAY_HOURS, FEWEST_BARS, WEEK_HOURS, Floats, Indices, PoolBars
from agents.backtest.walking import BacktestTerms, PolicyRun, make_track
from agents.numbers.advice import AdvisedAction
from chain.base.units import HOUR
from chain.history.hours import HourRow, PoolHours

TOLD_PER = 10_000.0
"""Results are told for so many dollars."""
BLOCK_HOURS = WEEK_HOURS
DRAWS = 1000
SEED = 0
_INTERVAL = (2.5, 97.5)
_FEWEST_WINDOWS = 2


class BacktestError(ValueError):
    """Bars of which no window can be made."""


class DollarInterval(Struct, frozen=True):
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


_ROOT_ONE = float(1 << 96)


class BarUnits(NamedTuple):
    """How a pool's integers become prices and dollars."""

    decimals0: int
    decimals1: int
    inverted: bool
    """Whether prices are told as token0 per token1, token0 being the money."""
    money_usd: float
    """What one whole token of the money is worth: token1, or token0 where inverted."""


class _Bar(NamedTuple):
    end: float
    price: float
    low: float
    high: float
    fees_usd: float
    liquidity_usd: float


def bars_of_hours(hours: PoolHours, units: BarUnits, since: int = 0) -> PoolBars:
    """An hour a bar, from the first with fees since then to the last that is over.

    Liquidity is what the hour's fees were paid to, fees ÷ what full-range worth was paid. In an
    hour without a swap price and liquidity stay, and no fees are paid.
    """
    rows = {row.hour: row for row in hours.rows}
    first = next((row.hour for row in hours.rows if row.hour >= since and row.fee_rate > 0), None)
    bars: list[_Bar] = []
    if first is not None:
        for hour in range(first, hours.last.timestamp - HOUR + 1, HOUR):
            bars.append(_bar(hour, rows.get(hour), bars[-1] if bars else None, units))
    if len(bars) < FEWEST_BARS:
        raise BacktestError(
            "The pool had no two hours of swaps in this time. Name a busier pool, or more --days."
        )
    return PoolBars(*np.array(bars, dtype=np.float64).T.copy())


def _bar(hour: int, row: HourRow | None, before: _Bar | None, units: BarUnits) -> _Bar:
    end = float(hour + HOUR)
    if row is None:
        assert before is not None  # the first hour has a row
        return _Bar(end, before.price, before.price, before.price, 0.0, before.liquidity_usd)
    close = _price(row.close, units)
    reached = [close, _price(row.low, units), _price(row.high, units)]
    if before is not None:
        reached.append(before.price)
    fees = _fees_usd(row, units)
    liquidity = fees / row.fee_rate if row.fee_rate > 0 else None
    if liquidity is None:
        assert before is not None  # the first hour paid fees
        liquidity = before.liquidity_usd
    return _Bar(end, close, min(reached), max(reached), fees, liquidity)


def _price(sqrt_price_x96: int, units: BarUnits) -> float:
    """Whole tokens of the money for one of the other."""
    plain = (sqrt_price_x96 / _ROOT_ONE) ** 2 * 10.0 ** (units.decimals0 - units.decimals1)
    return 1 / plain if units.inverted else plain


def _fees_usd(row: HourRow, units: BarUnits) -> float:
    price = _price(row.close, units)
    fees0, fees1 = row.fees0 / 10.0**units.decimals0, row.fees1 / 10.0**units.decimals1
    money = fees0 + fees1 * price if units.inverted else fees0 * price + fees1
    return money * units.money_usd
