"""A backtest in words, tables and a small picture, and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agents.numbers.advice import AdvisedAction
from zuno_tui.present.output import Json, OutputColumn, table

if TYPE_CHECKING:
    from agents.backtest.report import BacktestReport, DollarInterval, PolicyReport
    from agents.backtest.walking import BacktestTerms

_COLUMNS = (
    OutputColumn("POLICY"),
    OutputColumn("HEDGED", "right"),
    OutputColumn("95 %", "right"),
    OutputColumn("UNHEDGED", "right"),
    OutputColumn("95 %", "right"),
    OutputColumn("ACTIONS", "right"),
    OutputColumn("COSTS", "right"),
    OutputColumn("IN RANGE", "right"),
    OutputColumn("HOLD", "right"),
    OutputColumn("MOVE", "right"),
    OutputColumn("EXIT", "right"),
)
_DIFFERENCES = (
    OutputColumn("ADVICE AGAINST"),
    OutputColumn("HEDGED", "right"),
    OutputColumn("95 %", "right"),
)
_STEPS = "▁▂▃▄▅▆▇█"
_MOST_STEPS = 48


def backtest_lines(report: BacktestReport) -> list[str]:
    rows = [(_spoken(name), *_cells(policy)) for name, policy in report.policies.items()]
    against = [
        (_spoken(name.partition("-")[2]), _signed(found.mean), _interval(found))
        for name, found in report.differences.items()
    ]
    return [
        "dollars per $10,000 and week",
        *table(_COLUMNS, rows),
        "",
        *table(_DIFFERENCES, against),
        "",
        "hedged, added up window by window",
        *_pictures(report),
    ]


def backtest_remarks(report: BacktestReport, terms: BacktestTerms) -> Iterator[str]:
    yield (
        "Hedged is fees − LVR − costs; unhedged is against holding the tokens each window began "
        f"with. The rule was asked every {terms.every_hours} h, its first 7 days "
        f"({counted_windows(report.warm_up_windows)}) only warm up."
    )
    if report.broken_windows:
        yield f"Given up at a gap between bars: {counted_windows(report.broken_windows)}."
    if any(found.low is None for found in report.differences.values()):
        yield "One window has no interval."


def counted_windows(count: float) -> str:
    return "1 window" if count == 1 else f"{count:.3g} windows"


def backtest_document(report: BacktestReport) -> Json:
    return {
        "windows": report.windows,
        "bars": report.bars,
        "broken_windows": report.broken_windows,
        "warm_up_windows": _rounded(report.warm_up_windows),
        "policies": {
            name.value: {
                "hedged": _interval_document(policy.hedged),
                "unhedged": _interval_document(policy.unhedged),
                "actions_per_week": _rounded(policy.actions_per_week),
                "in_range": _rounded(policy.in_range),
                "costs_per_week": _rounded(policy.costs_per_week),
                "shares": {
                    action.value: _rounded(policy.shares[action]) for action in AdvisedAction
                },
            }
            for name, policy in report.policies.items()
        },
        "differences": {
            name: _interval_document(found) for name, found in report.differences.items()
        },
    }


def _cells(policy: PolicyReport) -> tuple[str, ...]:
    return (
        _signed(policy.hedged.mean),
        _interval(policy.hedged),
        _signed(policy.unhedged.mean),
        _interval(policy.unhedged),
        f"{policy.actions_per_week:.2f}",
        f"{policy.costs_per_week:.2f}",
        f"{policy.in_range:.0%}",
        *(f"{policy.shares[action]:.1%}" for action in AdvisedAction),
    )


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _signed(dollars: float) -> str:
    # Adding zero takes the sign from a zero that was rounded from below.
    return f"{round(dollars, 1) + 0.0:+.1f}"


def _interval(found: DollarInterval) -> str:
    if found.low is None or found.high is None:
        return "unknown"
    return f"{_signed(found.low)} … {_signed(found.high)}"


def _interval_document(found: DollarInterval) -> Json:
    return {"mean": _rounded(found.mean), "low": _rounded(found.low), "high": _rounded(found.high)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _pictures(report: BacktestReport) -> Iterator[str]:
    """A line a policy, all on one scale from the least to the most any of them ever had."""
    ways = {name: (0.0, *policy.cumulative) for name, policy in report.policies.items()}
    least = min(min(way) for way in ways.values())
    most = max(max(way) for way in ways.values())
    widest = max(len(name) for name in ways)
    for name, way in ways.items():
        drawn = "".join(_step(value, least, most) for value in _thinned(way))
        yield f"{_spoken(name):<{widest}}  {drawn}  {way[-1]:+,.0f}"


def _thinned(way: Sequence[float]) -> Sequence[float]:
    if len(way) <= _MOST_STEPS:
        return way
    last = len(way) - 1
    return [way[round(place * last / (_MOST_STEPS - 1))] for place in range(_MOST_STEPS)]


def _step(value: float, least: float, most: float) -> str:
    if most <= least:
        return _STEPS[0]
    return _STEPS[min(len(_STEPS) - 1, int((value - least) / (most - least) * len(_STEPS)))]
