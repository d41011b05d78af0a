"""The words in a pane's border: what it shows, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.content import Content

from chain.clean_text import DROP

if TYPE_CHECKING:
    from textual.widget import Widget

SEPARATOR = " · "


def literal(text: str, style: str = "") -> Content:
    """Text from anywhere as itself: never markup, never a control byte."""
    return Content.styled(text.translate(DROP), style) if style else Content(text.translate(DROP))


def joined(*parts: str | Content) -> Content:
    """The parts that say something, with a dot between them."""
    told = [part if isinstance(part, Content) else literal(part) for part in parts if part]
    return Content(SEPARATOR).join(told)


def pane_title(name: str, *facts: str) -> Content:
    """A pane's name, then quietly what is worth knowing of all that it shows."""
    told = [literal(fact, "$quiet not bold") for fact in facts if fact]
    return Content(SEPARATOR).join([literal(name), *told])


def frame(widget: Widget, title: Content, subtitle: Content | None = None) -> None:
    """Set the border's words; the same words are not drawn twice."""
    if widget.border_title != title.markup:
        widget.border_title = title
    below = subtitle or Content("")
    if widget.border_subtitle != below.markup:
        widget.border_subtitle = below


@runtime_checkable
class Copied(Protocol):
    """A pane that has something to give to the clipboard."""

    @property
    def copied(self) -> str: ...
