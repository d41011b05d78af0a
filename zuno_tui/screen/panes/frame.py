"""The words in a pane's border: what it shows, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.content import Content
from textual.geometry import Region

from chain.base.clean_text import DROP
from chain.base.units import age_text

if TYPE_CHECKING:
    from textual.widget import Widget

REDRAW_SECONDS = 15
_FRESH_SECONDS = 20
_MINUTE = 60


def coarse_age(seconds: float) -> str:
    """`just now`, `<1 min`, `1 min` … `5 min`, `10 min` … `2 h`, `3 d`."""
    if seconds < _FRESH_SECONDS:
        return "just now"
    if seconds < _MINUTE:
        return "<1 min"
    minutes = int(seconds) // _MINUTE
    if minutes > 5:
        minutes -= minutes % 5
    return "1 min" if minutes == 1 else age_text(minutes * _MINUTE)


def ago(seconds: float) -> str:
    age = coarse_age(seconds)
    return age if age == "just now" else f"{age} ago"


def heading(words: str, beside: str = "") -> Content:
    """What follows, and quietly beside it what to know when reading it."""
    title = literal(words, "bold $primary")
    return Content.assemble(title, literal(f"  {beside}", "$quiet")) if beside else title


SEPARATOR = " · "


def literal(text: str, style: str = "") -> Content:
    """Text from anywhere as itself: never markup, never a control byte."""
    return Content.styled(text.translate(DROP), style) if style else Content(text.translate(DROP))


def join_parts(*parts: str | Content) -> Content:
    """The parts that say something, with a dot between them."""
    told = [part if isinstance(part, Content) else literal(part) for part in parts if part]
    return Content(SEPARATOR).join(told)


def pane_title(name: str, *facts: str) -> Content:
    """A pane's name, then quietly what is worth knowing of all that it shows."""
    told = [literal(fact, "$quiet not bold") for fact in facts if fact]
    return Content(SEPARATOR).join([literal(name), *told])


def frame(widget: Widget, title: Content, subtitle: Content | None = None) -> None:
    """Set the border's words; the same words are not drawn twice."""
    below = subtitle or Content("")
    if widget.border_title != title.markup:
        _set_line(widget, "_border_title", title, 0)
    if widget.border_subtitle != below.markup:
        _set_line(widget, "_border_subtitle", below, widget.outer_size.height - 1)


def _set_line(widget: Widget, name: str, words: Content, y: int) -> None:
    """Past the property, which draws the whole pane anew: kilobytes, for an age that grew."""
    vars(widget)[name] = words
    left, top = widget.content_offset
    widget.refresh(Region(-left, y - top, widget.outer_size.width, 1))


@runtime_checkable
class Copied(Protocol):
    """A pane that has something to give to the clipboard."""

    @property
    def copy_text(self) -> str: ...
