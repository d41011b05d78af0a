"""A backtest as a PNG: every policy added up window by window, and the advice against each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agents.backtest.deciders import PolicyName
from zuno_tui.charts.installed import ChartError

if TYPE_CHECKING:
    from agents.backtest.report import BacktestReport


def write_backtest(report: BacktestReport, path: Path) -> None:
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    ways, against = figure.subplots(1, 2)
    for name, policy in report.policies.items():
        ours = name is PolicyName.ADVICE
        ways.plot(
            range(report.windows + 1),
            (0.0, *policy.cumulative),
            label=name.replace("_", " "),
            linewidth=3 if ours else 1.5,
            zorder=3 if ours else 2,
        )
    ways.axhline(0, color="0.6", linewidth=0.8)
    ways.set(xlabel="windows", ylabel=r"fees − LVR − costs of \$10,000, added up, \$")
    ways.legend()
    for place, found in enumerate(report.differences.values()):
        if found.low is not None and found.high is not None:
            against.plot((found.low, found.high), (place, place), color="C0")
        against.plot(found.mean, place, marker="o", color="C0")
    against.axvline(0, color="0.6", linewidth=0.8)
    against.set(
        xlabel=r"advice less this policy, hedged, \$ per \$10,000 and week, 95 %",
        yticks=range(len(report.differences)),
        yticklabels=[name.partition("-")[2].replace("_", " ") for name in report.differences],
    )
    against.invert_yaxis()
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise ChartError(f"{path} cannot be written: {error.strerror or error}.") from error
