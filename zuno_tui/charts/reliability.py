"""A reliability curve as a PNG: what was said against what came true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from zuno_tui.charts.drawing import ChartError

if TYPE_CHECKING:
    from agents.calibration.calibrate import Calibration


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
    curve.set(xlabel="chance said to stay in range", ylabel="share that stayed", aspect="equal")
    curve.legend()
    judged = [each for each in calibration.buffers if each.left_early is not None]
    buffers.bar(
        [f"±{each.width_percent} %" for each in judged],
        [100 * (each.left_early or 0.0) for each in judged],
    )
    buffers.axhline(5, color="0.6", linestyle=":", label="promised")
    buffers.set(xlabel="range", ylabel="left before the buffer was over, %")
    buffers.legend()
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise ChartError(f"{path} cannot be written: {error.strerror or error}.") from error
