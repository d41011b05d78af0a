"""The one kind of text on the screen: never markup, and as high as its newest words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from textual.widgets import Static

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.visual import VisualType


class PlainText(Static):
    def __init__(
        self,
        content: VisualType = "",
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(content, markup=False, id=id, classes=classes)

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        # Textual counts changes to know whether the height it measured is still good, and does
        # not count a second one before it was idle: words that follow at once would be cut.
        if layout:
            self._layout_updates += 1
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
