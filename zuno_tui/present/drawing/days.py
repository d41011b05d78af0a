"""What each day brought and cost: fees, LVR and what is left, as bars with their figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zuno_tui.present.drawing.pieces import Line, StyledText

if TYPE_CHECKING:
    from zuno_tui.present.views import Tone

_FULL, _HALF = "━", "╸"
_FIGURE = 9
_SHORTEST = 4
_CENT = 0.01


def day_bars(days: Sequence[tuple[str, float, float]], width: int) -> list[Line]:
    """A line a day: its name, a bar and a figure for fees, the same for LVR, and the net."""
    label = max(len(day) for day, _, _ in days)
    room = max(_SHORTEST, (width - label - 3 * (_FIGURE + 1) - 4) // 2)
    most = max((max(fees, lvr) for _, fees, lvr in days), default=0.0) or 1.0
    head = (
        " " * (label + 2)
        + f"{'FEES':<{room}} {'':>{_FIGURE}}  {'LVR':<{room}} {'':>{_FIGURE}}"
        + f"{'NET':>{_FIGURE + 1}}"
    )
    lines: list[Line] = [(StyledText(head, "dim"),)]
    for day, fees, lvr in days:
        net = fees - lvr
        tone: Tone = "good" if net >= 0 else "bad"
        lines.append(
            (
                StyledText(f"{day:<{label}}  ", "dim"),
                StyledText(_bar(fees / most, room), "good"),
                StyledText(f" {_amount(fees):>{_FIGURE}}  "),
                StyledText(_bar(lvr / most, room), "warn"),
                StyledText(f" {_amount(lvr):>{_FIGURE}}"),
                StyledText(f"{_signed(net):>{_FIGURE + 1}}", tone),
            )
        )
    return lines


def _bar(part: float, room: int) -> str:
    """As thin as a line: bars of one day do not touch those of the next."""
    full, rest = divmod(max(0, min(room * 2, round(part * room * 2))), 2)
    return (_FULL * full + _HALF * rest).ljust(room)


def _amount(value: float) -> str:
    """Two decimals, as money has; what they would call nothing is said to be less."""
    return f"{value:,.2f}" if value == 0 or value >= _CENT else "<0.01"


def _signed(value: float) -> str:
    return f"−{_amount(-value)}" if value < 0 else f"+{_amount(value)}"
