"""The trade desk: runs about a coin, hedges of positions, and orders on a venue."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.features.trade import chat, trade, unhedging, venue  # noqa: F401
else:
    from zuno_tui.late import late_modules

    __getattr__ = late_modules(__name__)
