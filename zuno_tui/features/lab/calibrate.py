"""`zuno calibrate`: a file of hours read, judged, and told as a table, a document and a picture."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agents.calibration.calibrate import (
    LONGEST_FOLLOWED,
    WIDTHS,
    BufferReliability,
    Calibration,
    HorizonReliability,
    HourlyBars,
    WidthReliability,
    calibrate,
    read_hourly_bars,
)
from agents.numbers.survival import ReliabilityBin
from chain.base.units import time_text
from zuno_tui.charts.drawing import require_chart_packages, write_png
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, table
from zuno_tui.present.terminal import columns
from zuno_tui.settings import SettingsError

ROWS = 11
COLUMNS = 41
_DIAGONAL = "·"
_BOTH = "#"


def reliability_curve(curves: Mapping[str, Sequence[ReliabilityBin]]) -> list[str]:
    """Each curve by its mark; points on the dotted line came true as often as was said."""
    cells = [[" "] * COLUMNS for _ in range(ROWS)]
    for column in range(COLUMNS):
        cells[_row(column / (COLUMNS - 1))][column] = _DIAGONAL
    for mark, bins in curves.items():
        for each in bins:
            column = round(each.said * (COLUMNS - 1))
            row = cells[_row(each.stayed)]
            row[column] = mark if row[column] in (" ", _DIAGONAL) else _BOTH
    labels = {0: "100%", ROWS // 2: " 50%", ROWS - 1: "  0%"}
    lines = [
        f"{labels.get(place, '    ')} │{''.join(row).rstrip()}" for place, row in enumerate(cells)
    ]
    axis = f"     └{'─' * COLUMNS}"
    return [*lines, axis, f"      0%{'50%':^{COLUMNS - 6}}100%"]


def _row(share: float) -> int:
    return round((1 - share) * (ROWS - 1))


def write_reliability(calibration: Calibration, path: Path) -> None:
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    curve, buffers = figure.subplots(1, 2)
    curve.plot((0, 1), (0, 1), color="0.6", linestyle=":", label="as said")
    for name, horizon, marker in (("24 h", calibration.day, "o"), ("7 d", calibration.week, "s")):
        if horizon is not None:
            said = [each.said for each in horizon.bins]
            stayed = [each.stayed for each in horizon.bins]
            curve.plot(said, stayed, marker=marker, label=f"{name}, ECE {horizon.ece:.3f}")
    curve.set(xlabel="stated chance to stay in range", ylabel="share that stayed", aspect="equal")
    curve.legend()
    judged = [each for each in calibration.buffers if each.left_early is not None]
    buffers.bar(
        [f"±{each.width_percent}%" for each in judged],
        [100 * (each.left_early or 0.0) for each in judged],
    )
    buffers.axhline(5, color="0.6", linestyle=":", label="promised")
    buffers.set(xlabel="range", ylabel="left before the buffer was over, %")
    buffers.legend()
    write_png(figure, path)


_COLUMNS = columns(
    *("range>", "24 h said>", "stayed>", "ECE>"),
    *("7 d said>", "stayed>", "ECE>", "left before its buffer>"),
)


def run_calibration(
    hours: Path, first: str | None, last: str | None, png: Path | None
) -> CommandAnswer:
    begin = -inf if first is None else _start(first)
    end = inf if last is None else _next_start(last)
    if begin >= end:
        raise SettingsError(f"--from {first} is not before the end of --to {last}.")
    if png is not None:
        require_chart_packages()
    bars = read_hourly_bars(hours)
    scored = calibrate(bars, begin, end)
    remarks = list(_remarks(scored, bars))
    if png is not None:
        write_reliability(scored, png)
        remarks.append(f"The picture is in {png}.")
    return CommandAnswer(
        lines=tuple(_lines(scored)), document=_document(scored, bars), remarks=tuple(remarks)
    )


def _start(period: str) -> float:
    """The first second of a year, month or day."""
    year, month, day = (*map(int, period.split("-")), 1, 1)[:3]
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError as error:
        raise SettingsError(f"{period} is not in the calendar.") from error


def _next_start(period: str) -> float:
    """The first second after a year, month or day."""
    _start(period)
    parts = [int(part) for part in period.split("-")]
    if len(parts) == 3:
        return _start(period) + 86_400
    year, month = parts if len(parts) == 2 else (parts[0], 12)
    year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return _start(f"{year:04}-{month:02}")


def _lines(scored: Calibration) -> list[str]:
    week = scored.week
    by_week = (None,) * len(WIDTHS) if week is None else week.widths
    rows = [
        [f"±{day.width_percent}%", *_width_cells(day), *_width_cells(of_week), _left_cell(buffer)]
        for day, of_week, buffer in zip(scored.day.widths, by_week, scored.buffers, strict=True)
    ]
    curves = {"o": scored.day.bins}
    if week is not None:
        curves["x"] = week.bins
    return [
        f"{scored.day.windows:,} windows from {_day(scored.begins)} to {_day(scored.ends)}, "
        f"v = {scored.scatter:g}",
        "",
        *table(_COLUMNS, rows),
        "",
        _summary("24 h", scored.day),
        "7 d: no window has 30 days before it and 7 after it without a gap"
        if week is None
        else _summary("7 d", week),
        "",
        "share that stayed, by the stated chance: o 24 h, x 7 d, # both, · as said",
        *reliability_curve(curves),
    ]


def _summary(name: str, horizon: HorizonReliability) -> str:
    return (
        f"{name}: pooled ECE {horizon.ece:.3f}, worst width {horizon.worst_width_ece:.3f}, "
        f"worst bias {horizon.worst_bias_points:.1f} points"
    )


def _width_cells(width: WidthReliability | None) -> tuple[str, str, str]:
    if width is None:
        return "–", "–", "–"
    return f"{100 * width.said:.1f}%", f"{100 * width.stayed:.1f}%", f"{width.ece:.3f}"


def _left_cell(buffer: BufferReliability) -> str:
    return "unknown" if buffer.left_early is None else f"{100 * buffer.left_early:.1f}%"


def _day(second: float) -> str:
    return time_text(int(second))[:10]


def _remarks(scored: Calibration, bars: HourlyBars) -> list[str]:
    said = ["A buffer promises that 5% leave early."]
    if scored.fitted_scatter is not None:
        said.append(f"By these windows alone v would be {scored.fitted_scatter:.3f}.")
    if bars.gaps:
        said.append(f"The file has {bars.gaps} gaps; no window reaches across one.")
    if bars.widened:
        said.append(
            f"{bars.widened} hours open or close beyond their high or low, which was moved there."
        )
    left_out = sum(buffer.not_followed for buffer in scored.buffers)
    if left_out:
        asked = left_out + sum(buffer.judged for buffer in scored.buffers)
        said.append(
            f"{left_out:,} of {asked:,} buffers were not judged: they are longer than "
            f"{LONGEST_FOLLOWED // 24} days or than the hours that follow without a gap."
        )
    return said


def _document(scored: Calibration, bars: HourlyBars) -> Json:
    return {
        "24h": _horizon_document(scored.day),
        "7d": None if scored.week is None else _horizon_document(scored.week),
        "buffer": {
            "left_early": {
                str(each.width_percent): _rounded(each.left_early) for each in scored.buffers
            },
            "judged": {str(each.width_percent): each.judged for each in scored.buffers},
            "not_followed": {str(each.width_percent): each.not_followed for each in scored.buffers},
        },
        "v": scored.scatter,
        "fitted_v": _rounded(scored.fitted_scatter),
        "windows": scored.day.windows,
        "from": time_text(int(scored.begins)),
        "to": time_text(int(scored.ends)),
        "hours": len(bars),
        "gaps": bars.gaps,
    }


def _horizon_document(horizon: HorizonReliability) -> Json:
    return {
        "ece": _rounded(horizon.ece),
        "worst_width_ece": _rounded(horizon.worst_width_ece),
        "worst_bias_points": _rounded(horizon.worst_bias_points),
        "windows": horizon.windows,
        "widths": {
            str(each.width_percent): {
                "ece": _rounded(each.ece),
                "bias_points": _rounded(each.bias_points),
                "said": _rounded(each.said),
                "stayed": _rounded(each.stayed),
            }
            for each in horizon.widths
        },
        "bins": [
            {"windows": each.windows, "said": _rounded(each.said), "stayed": _rounded(each.stayed)}
            for each in horizon.bins
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)
