"""Lines that present draws, as the terminal shows them."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from zuno_tui.present.charts import Line
from zuno_tui.present.receipt_lines import LABEL, text_rows
from zuno_tui.screen.panes.text import draw_lines

__all__ = ["LABEL", "contents", "countdown", "wrap_content"]


def contents(lines: Iterable[Line]) -> list[Content]:
    return [draw_lines((line,)) for line in lines]


def countdown(seconds: float) -> str:
    """`9:41 left`; a minute more is never claimed."""
    whole = max(0, int(seconds))
    return f"{whole // 60}:{whole % 60:02} left"


def wrap_content(
    text: str, width: int, bullet: str, style: str = "", *, head: str = "$quiet"
) -> Iterator[Content]:
    """A sentence wrapped under itself, in a style of the screen."""
    for place, row in enumerate(text_rows(text, max(10, width - len(bullet)))):
        front = bullet if place == 0 else " " * len(bullet)
        yield Content.assemble((front, head), (row, style))
