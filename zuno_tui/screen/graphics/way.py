"""Which way a terminal can show a picture, by what it says of itself and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

PictureWay = Literal["kitty", "sixel", "blocks"]
PictureChoice = Literal["auto", "kitty", "sixel", "blocks"]
_KITTY = ("xterm-kitty", "xterm-ghostty")
_SIXEL = ("foot", "mlterm", "yaft", "contour")


def picture_way(choice: PictureChoice, environment: Mapping[str, str]) -> PictureWay:
    """What was chosen; else what the terminal is known for. One that does not say gets blocks."""
    if choice != "auto":
        return choice
    terminal = environment.get("TERM", "")
    if environment.get("TMUX") or terminal.startswith(("screen", "tmux")):
        return "blocks"  # passed on only where it was configured to be
    if "KITTY_WINDOW_ID" in environment or terminal.startswith(_KITTY):
        return "kitty"
    if terminal.startswith(_SIXEL) or environment.get("TERM_PROGRAM") == "WezTerm":
        return "sixel"
    return "blocks"
