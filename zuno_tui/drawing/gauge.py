"""A range as a line, with the price on it: what a glance should tell before any figure is read."""

from __future__ import annotations

from zuno_tui.words import percent

WIDTH = 14
_OUTSIDE = 2
"""Cells left on each side for a price that has gone beyond the edge."""


def range_gauge(progress: float, *, ascii_only: bool = False) -> str:
    """`├───●─────┤` with the price at `progress`, 0 the lower edge and 1 the upper one."""
    line, left, right, mark = ("-", "[", "]", "o") if ascii_only else ("─", "├", "┤", "●")
    inner = WIDTH - 2 * _OUTSIDE
    cells = [" "] * _OUTSIDE + [left, *line * (inner - 2), right] + [" "] * _OUTSIDE
    cells[_place(progress, inner)] = mark
    return "".join(cells)


def _place(progress: float, inner: int) -> int:
    if progress < 0:
        return 0
    if progress >= 1:
        return WIDTH - 1
    # The edges themselves stay drawn: a price just inside stands beside them, not on them.
    return _OUTSIDE + 1 + min(inner - 3, int(progress * (inner - 2)))


def survival_bar(part: float | None, cells: int) -> str:
    """`██████░░ 84%`: the chance to stay in range; a dash where there is no range."""
    return "–" if part is None else f"{bar(part, cells)} {percent(part):>5}"


def bar(part: float, cells: int) -> str:
    """Rounded down: a chance of 97% must not look like certainty."""
    full = int(part * cells)
    return "█" * full + "░" * (cells - full)
