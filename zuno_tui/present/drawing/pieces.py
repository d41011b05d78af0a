"""What a drawing is made of: lines of pieces, each with the tone it is drawn in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from zuno_tui.present.words import percent

if TYPE_CHECKING:
    from zuno_tui.present.views import Tone

    DrawnTone = Tone | Literal["shade", "good shade"]
    """Shades fill an area; words are never drawn in them."""

WIDTH = 14
_OUTSIDE = 2
"""Cells left on each side for a price that has gone beyond the edge."""


def range_gauge(progress: float, width: int = WIDTH, *, ascii_only: bool = False) -> str:
    """`├───●─────┤` with the price at `progress`, 0 the lower edge and 1 the upper one."""
    line, left, right, mark = ("-", "[", "]", "o") if ascii_only else ("─", "├", "┤", "●")
    inner = width - 2 * _OUTSIDE
    cells = [" "] * _OUTSIDE + [left, *line * (inner - 2), right] + [" "] * _OUTSIDE
    cells[_place(progress, inner)] = mark
    return "".join(cells)


def _place(progress: float, inner: int) -> int:
    if progress < 0:
        return 0
    if progress >= 1:
        return inner + 2 * _OUTSIDE - 1
    # The edges themselves stay drawn: a price just inside stands beside them, not on them.
    return _OUTSIDE + 1 + min(inner - 3, int(progress * (inner - 2)))


def wide_gauge(progress: float, low: str, high: str, width: int) -> str:
    """`2,893 ├──────●─────┤ 3,301` over all of a line, the price beyond an edge outside it."""
    inner = max(5, width - len(low) - len(high) - 2 - 2 * _OUTSIDE)
    cells = [" "] * _OUTSIDE + ["├", *"─" * (inner - 2), "┤"] + [" "] * _OUTSIDE
    if progress < 0:
        cells[0] = "●"
    elif progress >= 1:
        cells[-1] = "●"
    else:
        cells[_OUTSIDE + 1 + min(inner - 3, int(progress * (inner - 2)))] = "●"
    return f"{low} {''.join(cells)} {high}"


# No full block: lines above each other must not run together.
_STEPS = "▁▂▃▄▅▆▇"


def sparkline(values: Sequence[float], cells: int) -> str:
    """The newest values as steps between their least and their most; nothing of fewer than two."""
    if len(values) < 2:
        return ""
    shown = _thinned(values, cells)
    low, spread = min(shown), (max(shown) - min(shown)) or 1.0
    last = len(_STEPS) - 1
    return "".join(_STEPS[round((value - low) / spread * last)] for value in shown)


def _thinned(values: Sequence[float], cells: int) -> Sequence[float]:
    if len(values) <= cells:
        return values
    return [values[round(place * (len(values) - 1) / (cells - 1))] for place in range(cells)]


_EIGHTHS = ("", *"▏▎▍▌▋▊▉")


def survival_bar(part: float | None, cells: int) -> str:
    """`██████░░ 84%`: the chance to stay in range; a dash where there is no range."""
    return "–" if part is None else f"{bar(part, cells)} {percent(part):>5}"


def bar(part: float, cells: int) -> str:
    """Rounded down, as 97% must not look like certainty, but full where the figure beside it is."""
    full, eighths = divmod(int(part * cells * 8), 8)
    if float(f"{100 * part:.3g}") >= 100:
        full, eighths = cells, 0
    return f"{'█' * full}{_EIGHTHS[eighths]}".ljust(cells, "·")


class StyledText(NamedTuple):
    text: str
    tone: DrawnTone = "plain"


Line = tuple[StyledText, ...]


def plain(line: Iterable[StyledText]) -> str:
    return "".join(piece.text for piece in line)


def merged(pieces: Iterable[StyledText]) -> Line:
    """Neighbours of one tone joined, so that a line of cells costs a few pieces."""
    joined: list[StyledText] = []
    for piece in pieces:
        if joined and joined[-1].tone == piece.tone:
            joined[-1] = StyledText(joined[-1].text + piece.text, piece.tone)
        elif piece.text:
            joined.append(piece)
    return tuple(joined)


def figure(value: float) -> str:
    """A price or an amount in five digits, as short as it can be said: `3,094.9`, `0.00012`."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15 or size < 1e-9:
        return f"{value:.3g}"
    whole = len(str(int(size))) if size >= 1 else 0
    if whole:
        return f"{value:,.{max(0, 5 - whole)}f}"
    text = f"{value:.12f}".rstrip("0")
    lead = len(text) - len(text.lstrip("-0."))
    return text[: lead + 4]


def signed_figure(value: float) -> str:
    """A gain or a loss in whole numbers where it is large: `+1,204`, `−3.2`."""
    if value == 0:
        return "0"
    size = f"{abs(value):,.0f}" if abs(value) >= 100 else f"{abs(value):.3g}"
    return f"{'−' if value < 0 else '+'}{size}"
