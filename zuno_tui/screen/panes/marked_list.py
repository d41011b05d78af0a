"""A list whose chosen line has a mark before it, so that no colour need tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE, _NOT_HERE = Content("› "), Content("  ")


class MarkedList(OptionList):
    _pointed_at: int | None = None

    def __init__(self, rows: Sequence[Content], *, id: str) -> None:  # noqa: A002
        # Before the list itself, which points at its first line while it is being made.
        self._rows = rows
        super().__init__(*(Option(_NOT_HERE + row) for row in rows), id=id)

    def offer(self, rows: Sequence[Content]) -> None:
        """Other lines, the first of them pointed at."""
        self._rows, self._pointed_at = rows, None
        self.set_options(Option(_NOT_HERE + row) for row in rows)
        self.highlighted = 0

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        for place, mark in ((self._pointed_at, _NOT_HERE), (highlighted, _HERE)):
            if place is not None:
                self.replace_option_prompt_at_index(place, mark + self._rows[place])
        self._pointed_at = highlighted
