"""`zuno hedge-check`: what hedging by target and band would have done on a file of hours."""

from collections.abc import Iterator, Sequence
from math import exp
from pathlib import Path
from statistics import fmean, pstdev

from msgspec import Struct, to_builtins

from agents.calibration.calibrate import HourlyBars, read_hourly_bars
from agents.trade.hedge_replay import LOOK_HOURS, hedge_outlook, replay_hedge
from agents.trade.opinions import RangeExposure
from zuno_tui.features.trade.intents import BAND
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.terminal import columns, table
from zuno_tui.present.words import dollar_gain

_WEEK = 7 * 24
_WORTH = 10_000.0
_FEE = 0.0005
"""Of what is traded, as a taker."""
_POLICIES: tuple[tuple[float, float | None], ...] = (
    (0.0, None),
    (0.25, None),
    (0.5, None),
    (1.0, None),
    (1.0, 0.5),
    (1.0, 0.2),
    (1.0, 0.05),
)
_BEFORE = 240
"""Hours, as many as the desk reads."""
_SAID_OF = ("not hedged", "hedged", f"re-hedged at {BAND:.0%}")
_SAID = columns(
    *("POLICY", "WEEKS>", "SAID MEAN>", "MEAN>", "SAID SWING>", "DEVIATION>", "BEYOND TWICE>")
)
_COLUMNS = columns(
    *("TARGET", "BAND", "DEVIATION>", "LESS>", "WORST 5%>"),
    *("WORST WEEK>", "MEAN>", "COST>", "ADJUSTED>"),
)


class HedgePolicy(Struct, frozen=True, rename="camel"):
    """A week of $10,000 in a range, without the pool's fees and without funding, in dollars."""

    target: float
    band: float | None
    deviation: float
    worst_five_percent: float
    worst: float
    mean: float
    cost: float
    adjustments: float


class HedgeForecast(Struct, frozen=True, rename="camel"):
    """What was said before each week from the hours before it, and what the week came to."""

    policy: str
    weeks: int
    said_mean: float
    mean: float
    said_swing: float
    deviation: float
    beyond_twice: float
    """The share of weeks further from the mean that was said than twice the swing."""


def hedge_checked(hours: Path, width: float) -> CommandAnswer:
    bars = read_hourly_bars(hours)
    weeks = tuple(_weeks(bars))
    if len(weeks) < 2:
        return CommandAnswer(
            lines=(f"{hours} holds less than two whole weeks without a gap.",), document=[], code=1
        )
    scored = [_scored(weeks, width, target, band) for target, band in _POLICIES]
    unhedged, forecasts = scored[0].deviation, _forecasts(bars, width)
    rows = [
        (
            f"{policy.target:.0%}" if policy.target else "none",
            "left alone" if policy.band is None else f"{policy.band:.0%}",
            f"${policy.deviation:,.0f}",
            f"{1 - policy.deviation / unhedged:.0%}" if unhedged else "–",
            dollar_gain(policy.worst_five_percent),
            dollar_gain(policy.worst),
            dollar_gain(policy.mean),
            f"${policy.cost:,.2f}",
            f"{policy.adjustments:.1f}",
        )
        for policy in scored
    ]
    return CommandAnswer(
        lines=(
            f"{len(weeks)} weeks, each ${_WORTH:,.0f} in a range of ±{width:.0%}",
            *table(_COLUMNS, rows),
            "",
            f"What a hedge's page says before each week, from the {_BEFORE // 24} days before it",
            *table(_SAID, [_said_row(forecast) for forecast in forecasts]),
        ),
        document={"policies": to_builtins(scored), "forecasts": to_builtins(forecasts)},
        remarks=(
            f"A look every {LOOK_HOURS} h, {_FEE:.2%} a trade. The pool's fees and the venue's "
            "funding are left out.",
        ),
    )


def _said_row(forecast: HedgeForecast) -> tuple[str, ...]:
    return (
        forecast.policy,
        f"{forecast.weeks}",
        dollar_gain(round(forecast.said_mean)).removesuffix(".00"),
        dollar_gain(round(forecast.mean)).removesuffix(".00"),
        f"±${forecast.said_swing:,.0f}",
        f"±${forecast.deviation:,.0f}",
        f"{forecast.beyond_twice:.1%}",
    )


def _forecasts(bars: HourlyBars, width: float) -> tuple[HedgeForecast, ...]:
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in _SAID_OF}
    for past, prices in _weeks_with_past(bars):
        exposure = _exposure(prices[0], width)
        said = hedge_outlook(exposure, past, prices[0], target=1.0, band=BAND, fee=_FEE)
        if said is None:
            continue
        once = replay_hedge(exposure, prices, 1.0, None, _FEE)
        often = replay_hedge(exposure, prices, 1.0, BAND, _FEE)
        weeks = (
            (once.position, said.unhedged_mean_usd, said.unhedged_usd),
            (once.result, said.once_mean_usd, said.once_usd),
            (often.result, said.adjusted_mean_usd, said.adjusted_usd),
        )
        for name, week in zip(_SAID_OF, weeks, strict=True):
            found[name].append(week)
    return tuple(
        HedgeForecast(
            name,
            len(weeks),
            fmean(mean for _, mean, _ in weeks),
            fmean(result for result, _, _ in weeks),
            fmean(swing for *_, swing in weeks),
            pstdev([result for result, _, _ in weeks]),
            fmean(abs(result - mean) > 2 * swing for result, mean, swing in weeks),
        )
        for name, weeks in found.items()
        if weeks
    )


def _weeks_with_past(bars: HourlyBars) -> Iterator[tuple[list[float], list[float]]]:
    """The closes before each whole week, and its prices at each look."""
    at = 0
    while at + _WEEK < len(bars):
        if bars.hours_after[at] < _WEEK:
            at += int(bars.hours_after[at]) + 1
            continue
        if bars.hours_before[at] >= _BEFORE:
            past = [exp(bars.close[place]) for place in range(at - _BEFORE, at + 1)]
            yield past, [exp(bars.close[place]) for place in range(at, at + _WEEK + 1, LOOK_HOURS)]
        at += _WEEK


def _weeks(bars: HourlyBars) -> Iterator[list[float]]:
    """Prices at each look, of weeks that follow one another and have no gap."""
    at = 0
    while at + _WEEK < len(bars):
        if bars.hours_after[at] >= _WEEK:
            yield [exp(bars.close[place]) for place in range(at, at + _WEEK + 1, LOOK_HOURS)]
            at += _WEEK
        else:
            at += int(bars.hours_after[at]) + 1


def _scored(
    weeks: Sequence[Sequence[float]], width: float, target: float, band: float | None
) -> HedgePolicy:
    courses = [
        replay_hedge(_exposure(prices[0], width), prices, target, band, _FEE) for prices in weeks
    ]
    results = sorted(course.result for course in courses)
    return HedgePolicy(
        target,
        band,
        pstdev(results),
        results[len(results) // 20],
        results[0],
        fmean(results),
        fmean([course.cost for course in courses]),
        fmean([course.adjustments for course in courses]),
    )


def _exposure(price: float, width: float) -> RangeExposure:
    whole = RangeExposure(1.0, price * (1 - width), price * (1 + width))
    return RangeExposure(_WORTH / whole.worth(price), whole.lower, whole.upper)
