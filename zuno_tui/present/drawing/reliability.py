"""A reliability curve in plain characters: what was said to the right, what came true upwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.calibration.calibrate import ReliabilityBin

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
