"""How long a price stays inside a range: first exit of a driftless walk, in closed form.

With d and u the log distances to the edges, W = d + u and σ the volatility, the walk is still
inside after t with probability

    S(t) = (4/π) Σ over odd n of sin(nπd/W)/n · exp(−n²π²σ²t/2W²)
         = 1 − Σ over k ≥ 0 of (−1)^k [erfc((kW + d)/σ√2t) + erfc((kW + u)/σ√2t)],

the first quick for late times, the second for early ones. Drift is left out: it moves the mean
exit of a ±7 % range by under one percent. Distances are ticks, volatilities ticks per √day.

Tomorrow's σ is not known, only estimated. With `scatter` the deviation v of ln(real/estimated σ),
every chance is the mean of S over lognormal σ, S̄(t) = Σ w_k S(t; σ·e^(v·z_k)), by Gauss–Hermite
nodes; at a scatter of zero σ is taken as known. S̄ depends on σ²t/W² and d/W alone, as S does.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import cache, lru_cache
from math import erfc, exp, log, pi, sin, sqrt
from typing import NamedTuple

from agents.numbers.edges import Edges

SIGMA_SCATTER = 0.42
"""v, the deviation of ln(real/estimated σ) over the next 24 h, robustly: interquartile range/1.349.

`zuno calibrate` fits .419 on the hours of ETH/USDT from August 2017 to December 2020; on the years
after them, which had no part in it, the chances that follow come true.
"""


class ReliabilityBin(NamedTuple):
    """Windows whose chance was said to lie within a tenth."""

    windows: int
    said: float
    """Their mean chance to stay."""
    stayed: float
    """The share of them that did."""


class SigmaWindows(StrEnum):
    """What an estimate was made of."""

    BOTH = "24 h and 7 d"
    DAY = "24 h alone"
    WEEK = "7 d alone"


class SigmaEstimate(NamedTuple):
    daily_sigma: float
    windows: SigmaWindows


def estimate_sigma(sigma_24h: float | None, sigma_7d: float | None) -> SigmaEstimate | None:
    """σ² = ½(σ²₂₄ₕ + σ²₇d), or the window that is known; None where neither is.

    One quiet day after a wild week says little about tomorrow, and neither does the other way.
    """
    if sigma_24h is None:
        return None if sigma_7d is None else SigmaEstimate(sigma_7d, SigmaWindows.WEEK)
    if sigma_7d is None:
        return SigmaEstimate(sigma_24h, SigmaWindows.DAY)
    blended = sqrt((sigma_24h * sigma_24h + sigma_7d * sigma_7d) / 2)
    return SigmaEstimate(blended, SigmaWindows.BOTH)


def week_sigma(
    sigma_24h: float | None, sigma_7d: float | None, sigma_30d: float | None
) -> float | None:
    """σ² = ¼σ²₂₄ₕ + .35σ²₇d + .4σ²₃₀d, for the chance of seven days alone.

    One quiet week is no promise for the next: without the month no such chance is given.
    """
    if sigma_24h is None or sigma_7d is None or sigma_30d is None:
        return None
    windows = (sigma_24h, sigma_7d, sigma_30d)
    return sqrt(sum(part * each * each for part, each in zip(WEEK_PARTS, windows, strict=True)))


WEEK_PARTS = (0.25, 0.35, 0.4)
"""Of the day, the week and the month in the variance of the next seven days; not fitted."""
HOURS_PER_DAY = 24.0
BUFFER_PROBABILITY = 0.95
"""A buffer is the time a range survives with this probability, shown as "model 95%"."""

_SERIES_MEET = 0.1
"""Both series hold to the last bits around this σ²t/W²."""
_ODD = (1, 3, 5, 7, 9)
_IMAGES = ((0, 1.0), (1, -1.0), (2, 1.0))
"""Reflections of the start beyond the edges, with their signs."""

_NODES = (
    (-3.7504397177257425, 0.000548268855972217),
    (-2.366759410734541, 0.03075712396758652),
    (-1.1544053947399682, 0.2401231786050127),
    (0.0, 0.45714285714285724),
    (1.1544053947399682, 0.2401231786050127),
    (2.366759410734541, 0.03075712396758652),
    (3.7504397177257425, 0.000548268855972217),
)
"""Seven points of the standard normal with their weights, by Gauss and Hermite."""

_MOST_SCATTER = 2.0

_INTERVALS = 128
_NEWTON_STEPS = 60
_LONGEST_STEP = 0.5
_CLOSE_STEP = 1e-8
"""Newton squares the error: after a step as short as this no further one changes the result."""


class StressBuffers(NamedTuple):
    """Buffer hours at 1×, 2× and 3× the volatility."""

    at_1x: float
    at_2x: float
    at_3x: float


class RangeExit(NamedTuple):
    """How long a price stays inside a range under the model; all zero when it is outside."""

    buffers: StressBuffers
    median_hours: float
    mean_hours: float
    survival_24h: float
    survival_7d: float | None
    """None until volatility is known over 30 days."""


# Whoever proposes a range, whoever checks it and whoever asks what it survives want the same.
@lru_cache(maxsize=4096)
def range_exit(
    edges: Edges,
    daily_ticks: float,
    week_ticks: float | None = None,
    scatter: float = SIGMA_SCATTER,
) -> RangeExit:
    """Everything that is asked about a range's life; `week_ticks` is σ for the next seven days."""
    week = None
    if week_ticks:
        week = survival(edges, week_ticks, 7 * HOURS_PER_DAY, scatter)
    return RangeExit(
        buffers=stress_buffers(edges, daily_ticks, scatter),
        median_hours=median_hours(edges, daily_ticks, scatter),
        mean_hours=mean_hours(edges, daily_ticks, scatter),
        survival_24h=survival(edges, daily_ticks, HOURS_PER_DAY, scatter),
        survival_7d=week,
    )


def survival(
    edges: Edges, daily_ticks: float, hours: float, scatter: float = SIGMA_SCATTER
) -> float:
    """The chance that the price has not left the range by then."""
    _check(daily_ticks)
    if not edges.inside:
        return 0.0
    scaled = daily_ticks * daily_ticks * hours / HOURS_PER_DAY / (edges.width * edges.width)
    return min(1.0, max(0.0, mixed_survival(min(edges) / edges.width, scaled, scatter)))


def mean_hours(edges: Edges, daily_ticks: float, scatter: float = SIGMA_SCATTER) -> float:
    """E[τ] = d·u/σ²; twice the time most people imagine, hence never shown as a buffer."""
    _check(daily_ticks)
    if not edges.inside:
        return 0.0
    known = HOURS_PER_DAY * edges.below * edges.above / (daily_ticks * daily_ticks)
    return known * sum(weight / factor for weight, factor in _variances(scatter))


def median_hours(edges: Edges, daily_ticks: float, scatter: float = SIGMA_SCATTER) -> float:
    """By this time half of all walks have left."""
    _check(daily_ticks)
    return _quantile_hours(0.5, edges, daily_ticks, scatter)


def buffer_hours(
    edges: Edges, daily_ticks: float, stress: float = 1.0, scatter: float = SIGMA_SCATTER
) -> float:
    """The time survived with 95 % probability when volatility is `stress` times as high."""
    _check(daily_ticks)
    # Every exit time scales by 1/k²; dividing keeps that exact, multiplying σ would round.
    return _quantile_hours(1 - BUFFER_PROBABILITY, edges, daily_ticks, scatter) / (stress * stress)


def stress_buffers(
    edges: Edges, daily_ticks: float, scatter: float = SIGMA_SCATTER
) -> StressBuffers:
    """Buffer hours at 1×, 2× and 3× the volatility."""
    base = buffer_hours(edges, daily_ticks, scatter=scatter)
    return StressBuffers(base, base / 4, base / 9)


def stress_buffers_of(
    ranges: Iterable[tuple[float, float, float]], scatter: float = SIGMA_SCATTER
) -> list[StressBuffers]:
    """The buffers of many ranges, each given as below, above and daily ticks; made for speed."""
    cubics = _quantile_cubics(1 - BUFFER_PROBABILITY, scatter)
    scale = 2.0 * _INTERVALS
    make = StressBuffers._make
    none = StressBuffers(0.0, 0.0, 0.0)
    found: list[StressBuffers] = []
    append = found.append
    for below, above, daily_ticks in ranges:
        if not daily_ticks > 0.0:
            _check(daily_ticks)
        near = below if below < above else above
        if near <= 0.0:
            append(none)
            continue
        place = scale * near / (below + above)
        interval = int(place)
        c0, c1, c2, c3 = cubics[interval]
        f = place - interval
        reach = near / daily_ticks
        base = HOURS_PER_DAY * reach * reach * (c0 + f * (c1 + f * (c2 + f * c3)))
        append(make((base, base / 4, base / 9)))
    return found


def half_width_for_buffer(
    hours: float, daily_ticks: float, offset_ticks: float = 0.0, scatter: float = SIGMA_SCATTER
) -> float:
    """The least half-width, in ticks, that has this buffer when centred so far off the price."""
    _check(daily_ticks)
    distance = abs(offset_ticks)
    wanted = hours / HOURS_PER_DAY * daily_ticks * daily_ticks
    centred = 0.5 * sqrt(wanted / _quantile(1 - BUFFER_PROBABILITY, 0.5, scatter))
    if not distance:
        return centred
    # Of all places in a range the middle survives longest, so the centred width is too little;
    # with the nearer edge where the centred one has it, the farther edge can only add.
    low, high = max(centred - distance, 0.0), centred
    while high - low > 1e-9 * high:
        near = (low + high) / 2
        width = 2 * (near + distance)
        reached = width * width * _quantile(1 - BUFFER_PROBABILITY, near / width, scatter)
        low, high = (near, high) if reached < wanted else (low, near)
    return high + distance


def mixed_survival(fraction: float, scaled: float, scatter: float) -> float:
    """S̄ at σ²t/W² = scaled, starting at this fraction of the width."""
    return sum(
        weight * _survival(fraction, scaled * factor) for weight, factor in _variances(scatter)
    )


@cache
def _variances(scatter: float) -> tuple[tuple[float, float], ...]:
    """Weights, and what σ² is multiplied by: e^(2·v·z_k)."""
    if not 0 <= scatter <= _MOST_SCATTER:
        raise ValueError(f"A scatter of ln σ of {scatter} is outside 0 to {_MOST_SCATTER:g}.")
    if not scatter:
        return ((1.0, 1.0),)
    return tuple((weight, exp(2 * scatter * node)) for node, weight in _NODES)


class EntryChance(NamedTuple):
    """How the price comes into a range that it is outside of."""

    day: float
    week: float
    """Chances within 24 h and within seven days."""
    median_hours: float
    """Until when it has come in half the time."""


def entry_chance(edges: Edges, daily_ticks: float) -> EntryChance:
    """By first passage of a driftless walk from outside a range to its nearer edge."""
    distance = max(-edges.below, -edges.above, 0.0)

    def chance(hours: float) -> float:
        return erfc(distance / (daily_ticks * sqrt(2 * hours / HOURS_PER_DAY)))

    median = HOURS_PER_DAY * (distance / (_MEDIAN_PASSAGE * daily_ticks)) ** 2
    return EntryChance(chance(HOURS_PER_DAY), chance(7 * HOURS_PER_DAY), median)


_MEDIAN_PASSAGE = 0.6745
"""Deviations that a normal variable exceeds, either way, half the time."""


def _check(daily_ticks: float) -> None:
    if not daily_ticks > 0:
        raise ValueError(
            f"A volatility of {daily_ticks} ticks a day says nothing about a range's life: "
            "take the next step of the volatility ladder."
        )


def _quantile_hours(probability: float, edges: Edges, daily_ticks: float, scatter: float) -> float:
    if not edges.inside:
        return 0.0
    fraction = min(edges) / edges.width
    reach = edges.width / daily_ticks
    return HOURS_PER_DAY * reach * reach * _quantile(probability, fraction, scatter)


def _quantile(probability: float, fraction: float, scatter: float) -> float:
    """g(x): this quantile of τ is (W²/σ²)·g(d/W)."""
    place = 2.0 * _INTERVALS * fraction
    interval = int(place)
    c0, c1, c2, c3 = _quantile_cubics(probability, scatter)[interval]
    f = place - interval
    return fraction * fraction * (c0 + f * (c1 + f * (c2 + f * c3)))


@cache
def _quantile_cubics(
    probability: float, scatter: float
) -> tuple[tuple[float, float, float, float], ...]:
    """g(x)/x² for x from 0 to ½, cubic between the knots.

    Towards an edge g(x) becomes a multiple of x², so the quotient is smooth down to 0 and flat
    there; the knot before 0 repeats the first one.
    """
    step = 0.5 / _INTERVALS
    knots = [1.0, 1.0]
    for index in range(1, _INTERVALS + 3):
        square = (index * step) ** 2
        # The last two knots point close to the next: seven nodes make every evaluation dear.
        guess = knots[-1] * knots[-1] / knots[-2] * square
        knots.append(_time_of(probability, index * step, guess, scatter) / square)
    knots = knots[2:]
    values = [knots[0], knots[0], *knots]
    return tuple(_cubic(*values[start : start + 4]) for start in range(_INTERVALS + 1))


def _cubic(
    before: float, left: float, right: float, after: float
) -> tuple[float, float, float, float]:
    """Coefficients of the cubic through four even knots, over the middle interval."""
    return (
        left,
        right - left / 2 - before / 3 - after / 6,
        (before + right) / 2 - left,
        (after - before) / 6 + (left - right) / 2,
    )


def _time_of(probability: float, fraction: float, guess: float, scatter: float) -> float:
    """The scaled time by which a walk from this fraction has left with this probability."""
    logarithm = log(guess)
    for _ in range(_NEWTON_STEPS):
        time = exp(logarithm)
        excess = mixed_survival(fraction, time, scatter) - (1 - probability)
        density = sum(
            weight * factor * _exit_density(fraction, time * factor)
            for weight, factor in _variances(scatter)
        )
        step = excess / (density * time)
        logarithm += min(_LONGEST_STEP, max(-_LONGEST_STEP, step))
        if abs(step) < _CLOSE_STEP:
            break
    return exp(logarithm)


def _survival(fraction: float, scaled: float) -> float:
    """S at σ²t/W² = scaled, starting at this fraction of the width."""
    if scaled <= 0:
        return 1.0
    if scaled < _SERIES_MEET:
        rate = 1 / sqrt(2 * scaled)
        left = sum(
            sign * (erfc((image + fraction) * rate) + erfc((image + 1 - fraction) * rate))
            for image, sign in _IMAGES
        )
        return 1 - left
    decay = pi * pi * scaled / 2
    return 4 / pi * sum(sin(n * pi * fraction) / n * exp(-n * n * decay) for n in _ODD)


def _exit_density(fraction: float, scaled: float) -> float:
    """−dS/ds, by the same two series."""
    if scaled < _SERIES_MEET:
        flow = sum(
            sign * distance * exp(-distance * distance / (2 * scaled))
            for image, sign in _IMAGES
            for distance in (image + fraction, image + 1 - fraction)
        )
        return flow / sqrt(2 * pi * scaled**3)
    decay = pi * pi * scaled / 2
    return 2 * pi * sum(n * sin(n * pi * fraction) * exp(-n * n * decay) for n in _ODD)
