"""What is set and where it comes from; enter changes a row, and the file is checked before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList

from zuno_tui.desk.events import Event, Said, SettingsReady
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intents import ChangeSetting, UseWallet
from zuno_tui.present.views import SettingRow
from zuno_tui.screen.keys import PICKING, PREFERRING, SAVING
from zuno_tui.screen.panes.fields import UrlMask
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.grouped_table import GroupedTable, heading_rows
from zuno_tui.screen.panes.marked_list import MarkedList
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.screen.panes.text import KeyLine, MessageLine
from zuno_tui.screen.screens.sub_screen import SubScreen
from zuno_tui.screen.themes import COLOURLESS, THEME_NAMES, choose_theme

if TYPE_CHECKING:
    from textual.app import ComposeResult


_COLUMNS = (
    TableColumn("SETTING", 0, 24),
    TableColumn("IS", 1, 80, grows=True),
    TableColumn("FROM", 2, 40),
    TableColumn("WHAT IT IS", 3, 72, last=True),
)
# A terminal is asked to draw without colours when the app starts, or not at all.
_THEMES = tuple(name for name in THEME_NAMES if name != COLOURLESS)
_WALLET, _THEME = "wallet", "screen.theme"
_FIRST_GROUP = "network"
_HEADINGS = {_FIRST_GROUP: "NETWORK AND WALLET"}
_DEFAULT = "the default, with no line in the file"


class _ValueField(Input):
    BINDINGS: ClassVar[list[BindingType]] = [*SAVING]


class _ValueList(MarkedList):
    TAKES_TYPING = True
    BINDINGS: ClassVar[list[BindingType]] = [*PICKING]


class SettingsScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*PREFERRING]
    ABOUT = "settings"

    def __init__(self, link: DeskLink, rows: Sequence[SettingRow], path: str) -> None:
        super().__init__(link)
        self._settings = {row.name: row for row in rows}
        self._path = path
        self._changing: SettingRow | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="settings", classes="visit") as page:
            page.border_title = literal("Settings")
            page.border_subtitle = literal(f"kept in {self._path}")
            yield GroupedTable(_COLUMNS, id="setting-rows")
            choices = _ValueList([], id="setting-choices")
            choices.display = False
            yield choices
            field = _ValueField(id="setting-value", select_on_focus=False)
            # A blinking cursor would send bytes for as long as nobody types.
            field.cursor_blink = False
            field.display = False
            yield field
            yield MessageLine(id="setting-said")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._fill()
        self.query_one(GroupedTable).focus()

    def on_resize(self) -> None:
        super().on_resize()
        self._fill()

    def hear(self, event: Event) -> bool:
        match event:
            case SettingsReady(rows):
                self._settings = {row.name: row for row in rows}
                self._fill()
                return True
            case Said() as said:
                self._say(said)
                return False
            case _:
                return False

    def action_choose(self) -> None:
        self.query_one(GroupedTable).action_choose()

    def on_row_table_pointed(self, event: RowTable.Pointed) -> None:
        row = self._settings.get(event.key or "")
        if row is not None and self._changing is None:
            self._say(Said(_about(row)))

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        row = self._changing = self._settings[event.key]
        if row.choices:
            self._offer(row)
        else:
            self._ask_for(row)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._changing is not None:
            self._save(self._changing, (*self._changing.choices, "")[event.option_index])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._changing is not None:
            self._save(self._changing, event.value.strip())

    def _save(self, row: SettingRow, typed: str) -> None:
        """What was picked or typed, to be checked and kept."""
        self._leave_field()
        if row.name != _WALLET:
            if row.name == _THEME:
                choose_theme(self.app, typed)
            self.link.ask(ChangeSetting(row.name, typed))
        elif typed:
            self.link.ask(UseWallet(typed))

    def action_close(self) -> None:
        """From a value that is being typed back to the rows, and from there to the desk."""
        if self._changing is None:
            super().action_close()
        else:
            self._leave_field()
            self._say(Said("Nothing was changed."))

    def action_theme(self) -> None:
        """The next theme, drawn at once and kept for the next time."""
        now = self.app.theme
        place = _THEMES.index(now) if now in _THEMES else -1
        theme = _THEMES[(place + 1) % len(_THEMES)]
        self.app.theme = theme
        self.link.ask(ChangeSetting(_THEME, theme))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "theme":
                return self.app.theme != COLOURLESS and self._changing is None
            case "choose":
                return self._changing is None
            case _:
                return super().check_action(action, parameters)

    def _offer(self, row: SettingRow) -> None:
        """The values there are, the cursor on the one that holds."""
        choices = self.query_one(MarkedList)
        choices.offer([*map(literal, row.choices), literal(_DEFAULT, "$quiet")])
        known = row.choice in row.choices
        choices.highlighted = row.choices.index(row.choice) if known else len(row.choices)
        choices.display = True
        choices.focus()
        self._say(Said(_about(row)))

    def _ask_for(self, row: SettingRow) -> None:
        field = self.query_one(Input)
        field.password = row.typed == "unseen"
        field.highlighter = UrlMask() if row.typed == "masked" else None
        field.placeholder = row.expects
        field.value = ""
        field.display = True
        field.focus()
        empty = "" if row.name == _WALLET else " Enter on an empty line removes it from the file."
        self._say(Said(f"{row.name}: {row.expects}.{empty}{_overruled(row)}"))

    def _leave_field(self) -> None:
        field = self.query_one(Input)
        field.value = ""
        field.display = self.query_one(MarkedList).display = False
        self._changing = None
        self.query_one(GroupedTable).focus()

    def _say(self, said: Said) -> None:
        self.query_one(MessageLine).say(said)

    def _fill(self) -> None:
        groups = [(name, [*rows]) for name, rows in groupby(self._settings.values(), key=_group_of)]
        table = self.query_one(GroupedTable)
        apart = len(self._settings) + 2 * len(groups) <= table.size.height
        table.fill([*_grouped_rows(groups, apart=apart)])


def _about(row: SettingRow) -> str:
    later = " A change takes effect when zuno is opened again." if row.later else ""
    return f"{row.name} is {row.value}: {row.means}.{later}{_overruled(row)}"


def _overruled(row: SettingRow) -> str:
    if not row.is_overruled:
        return ""
    return f" {row.origin} overrides the settings file."


def _group_of(row: SettingRow) -> str:
    table, _, name = row.name.partition(".")
    return table if name and table not in ("rpc", "send") else _FIRST_GROUP


def _grouped_rows(
    groups: Iterable[tuple[str, Sequence[SettingRow]]], *, apart: bool
) -> Iterable[Row]:
    for place, (name, rows) in enumerate(groups):
        title = _HEADINGS.get(name, name.upper())
        yield from heading_rows(title, len(_COLUMNS), apart=apart and place > 0)
        yield from map(_row, rows)


def _row(setting: SettingRow) -> Row:
    usual = setting.origin == "default"
    return Row(
        setting.name,
        (
            Cell(
                f" {setting.name.removeprefix(_group_of(setting) + '.')}",
                "plain" if usual else "strong",
            ),
            Cell(setting.value, "dim" if usual else "plain"),
            Cell(setting.origin, "warn" if setting.is_overruled else "dim"),
            Cell(setting.means, "dim"),
        ),
    )
