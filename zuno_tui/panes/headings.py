"""A heading among the lines of a pane or a screen."""

from __future__ import annotations

from textual.content import Content

from zuno_tui.panes.frame import literal


def heading(words: str, beside: str = "") -> Content:
    """What follows, and quietly beside it what to know when reading it."""
    title = literal(words, "bold $primary")
    return Content.assemble(title, literal(f"  {beside}", "$quiet")) if beside else title
