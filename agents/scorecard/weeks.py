"""Means over situations of several weeks: those of one week share one market."""

from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

FEWEST_WEEKS = 4
"""With fewer of them no interval is given."""
DRAWS = 1000
SEED = 0


class WeekInterval(Struct, frozen=True):
    mean: float
    low: float | None
    high: float | None
    """Of 95 %, by bootstrap over weeks."""


def by_week(values: Sequence[float | None], weeks: Sequence[int]) -> WeekInterval | None:
    """The mean and its interval, weeks drawn whole; None where nothing is known."""
    import numpy as np

    known = [(week, value) for week, value in zip(weeks, values, strict=True) if value is not None]
    if not known:
        return None
    mean = fmean(value for _, value in known)
    groups: dict[int, list[float]] = {}
    for week, value in known:
        groups.setdefault(week, []).append(value)
    if len(groups) < FEWEST_WEEKS:
        return WeekInterval(mean, None, None)
    sums = np.array([sum(several) for several in groups.values()])
    counts = np.array([len(several) for several in groups.values()])
    drawn = np.random.default_rng(SEED).integers(0, len(groups), (DRAWS, len(groups)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return WeekInterval(mean, float(low), float(high))
