"""The baseline: Textual's own widgets in the same four panes, with nothing behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable, Footer, Input, RichLog, Static

if TYPE_CHECKING:
    from textual.app import ComposeResult

MARKER = "Positions"


class BareApp(App[None]):
    CSS = "DataTable, RichLog, Static { height: 1fr; border: round gray; }"

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical():
                yield DataTable[str](id="positions")
                yield DataTable[str](id="alerts")
            with Vertical():
                yield Static("No plan yet.", id="plan")
                yield RichLog(id="debate")
        yield Input(placeholder="type what you want")
        yield Footer()

    def on_mount(self) -> None:
        for table, title in zip(self.query(DataTable), (MARKER, "Alerts"), strict=True):
            table.add_columns("ID", "PAIR", "STATE", "VALUE")
            table.border_title = title


if __name__ == "__main__":
    BareApp().run(mouse=False)
