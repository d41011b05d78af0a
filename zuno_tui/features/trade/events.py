"""What the trade desk tells the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.desk.events import Event

if TYPE_CHECKING:
    from zuno_tui.features.trade.run_parts import TradeRunView


class TradeOpened(Event, frozen=True):
    """A run of the trade desk that somebody wants to see: it began, or was asked for."""

    view: TradeRunView


class TradeChanged(Event, frozen=True):
    """The same run a step further, for whoever looks at it."""

    view: TradeRunView
