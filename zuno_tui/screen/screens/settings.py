"""What is set and where it comes from; the look of the screen is changed and kept from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical

from zuno_tui.commands.theme import Prefer
from zuno_tui.desk.events import SettingsReady
from zuno_tui.screen.keys import PREFERRING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.lines import KeyLine
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.screen.screens.sub_screen import SubScreen
from zuno_tui.screen.themes import COLOURLESS, THEME_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.shown.views import SettingRow

_COLUMNS = (
    TableColumn("SETTING", 0, 20),
    TableColumn("IS", 1, 80, grows=True),
    TableColumn("FROM", 2, 14),
)
# A terminal is asked to draw without colours when the app starts, or not at all.
_THEMES = tuple(name for name in THEME_NAMES if name != COLOURLESS)


class SettingsScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*PREFERRING]
    ABOUT = "settings"

    def __init__(self, link: DeskLink, rows: Sequence[SettingRow], path: str) -> None:
        super().__init__(link)
        self._settings = tuple(rows)
        self._path = path

    def compose(self) -> ComposeResult:
        with Vertical(id="settings", classes="visit") as page:
            page.border_title = literal("Settings")
            page.border_subtitle = literal(f"change them in {self._path}")
            yield RowTable(_COLUMNS, id="setting-rows")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._fill()
        self.query_one(RowTable).focus()

    def hear(self, event: Event) -> bool:
        match event:
            case SettingsReady(rows):
                self._settings = rows
                self._fill()
                return True
            case _:
                return False

    def action_theme(self) -> None:
        """The next theme, drawn at once and kept for the next time."""
        now = self.app.theme
        place = _THEMES.index(now) if now in _THEMES else -1
        self.app.theme = _THEMES[(place + 1) % len(_THEMES)]
        self.link.ask(Prefer("theme", self.app.theme))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "theme":
            return self.app.theme != COLOURLESS
        return super().check_action(action, parameters)

    def _fill(self) -> None:
        self.query_one(RowTable).fill([_row(one) for one in self._settings])


def _row(one: SettingRow) -> Row:
    tone = "dim" if one.origin == "default" else "plain"
    return Row(one.name, (Cell(one.name, "strong"), Cell(one.value, tone), Cell(one.origin, "dim")))
