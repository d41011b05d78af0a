"""A list whose chosen line has a mark before it, so that no colour need tell it."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeAlias

from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList
from textual.widgets.option_list import Option

OfferedRows: TypeAlias = "Sequence[Content | None]"
"""None for a line that parts what is above it from what is below."""
_HERE, _NOT_HERE = Content("› "), Content("  ")


class MarkedList(OptionList):
    """Typing the beginning of a line points at it, where `TAKES_TYPING`."""

    TAKES_TYPING: ClassVar[bool] = False
    _pointed_at: int | None = None
    _typed = ""

    def __init__(self, rows: OfferedRows, *, id: str) -> None:  # noqa: A002
        # Before the list itself, which points at its first line while it is being made.
        self._rows = [row for row in rows if row is not None]
        super().__init__(*_options(rows), id=id)

    def offer(self, rows: OfferedRows) -> None:
        """Other lines, the first of them pointed at."""
        self._rows, self._pointed_at = [row for row in rows if row is not None], None
        self._typed = ""
        self.set_options(_options(rows))
        self.highlighted = 0

    def on_key(self, event: Key) -> None:
        if not (self.TAKES_TYPING and event.is_printable and event.character):
            return
        for typed in (self._typed + event.character, event.character):
            for place, row in enumerate(self._rows):
                if row.plain.lower().startswith(typed.lower()):
                    self.highlighted, self._typed = place, typed
                    event.stop()
                    return

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        for place, mark in ((self._pointed_at, _NOT_HERE), (highlighted, _HERE)):
            if place is not None:
                self.replace_option_prompt_at_index(place, mark + self._rows[place])
        self._pointed_at = highlighted


def _options(rows: OfferedRows) -> Iterator[Option | None]:
    for row in rows:
        yield None if row is None else Option(_NOT_HERE + row)
