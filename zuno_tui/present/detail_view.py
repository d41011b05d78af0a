"""What the screen of one position draws: frozen, cleaned, already in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from zuno_tui.present.views import ChartView, Standing, Tone


class KeyFigure(NamedTuple):
    """One of the few figures that are told apart from all others."""

    label: str
    words: str
    tone: Tone = "plain"


class RangeStanding(Struct, frozen=True):
    """Where the price stands in the range of a position."""

    state: Standing
    low: str
    high: str
    progress: float
    unit: str
    """Of the prices, as `USDC per WETH`."""


class DetailView(Struct, frozen=True):
    """One position with everything that is known of it."""

    token_id: int
    title: str
    facts: tuple[tuple[str, str], ...]
    """Label and words, in reading order."""
    price: ChartView | None
    liquidity: tuple[tuple[float, float], ...]
    """Price and the liquidity active there, around the current price."""
    fees_by_day: tuple[tuple[str, float, float], ...]
    """Day, fees, LVR, in the unit the desk counts in."""
    history: tuple[str, ...]
    hook: tuple[str, ...] = ()
    """What its hook may do; nothing where there is none."""
    days_sum: tuple[KeyFigure, ...] = ()
    """What the days come to, and what of the result against holding they do not tell."""
    figures: tuple[KeyFigure, ...] = ()
    """What one looks for first."""
    standing: RangeStanding | None = None
    copied: tuple[str, ...] = ()
    """All facts with whole addresses, for the clipboard, line by line."""
