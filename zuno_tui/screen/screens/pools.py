"""The pools a position could be opened in: type to filter, enter opens a position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from zuno_tui.desk.events import Event, PoolsReady
from zuno_tui.desk.link import DeskLink
from zuno_tui.present.pages.pools import ListedPool, pool_cells
from zuno_tui.screen.keys import NARROWING
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.screen.panes.text import KeyLine
from zuno_tui.screen.screens.sub_screen import SubScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult


_COLUMNS = (
    TableColumn("POOL", 0, 24),
    TableColumn("", 1, 2),
    TableColumn("FEE", 2, 13, right=True),
    TableColumn("PRICE", 7, 14, right=True),
    TableColumn("FEES/DAY", 3, 10, right=True),
    TableColumn("APR ±10%", 4, 10, right=True),
    TableColumn("ALL PRICES", 8, 10, right=True),
    TableColumn("PAYS 7 D", 5, 12, right=True),
    TableColumn("DEPTH ±2%", 6, 12, right=True),
    TableColumn("HOOK", 9, 40, grows=True),
)


class PoolsScreen(SubScreen):
    BINDINGS: ClassVar[list[BindingType]] = [*NARROWING]
    ABOUT = "pools"

    def __init__(self, link: DeskLink, rows: Sequence[ListedPool], narrowed: str) -> None:
        super().__init__(link)
        self._pools = tuple(rows)
        self._narrowed = narrowed

    def compose(self) -> ComposeResult:
        with Vertical(id="pools", classes="visit") as page:
            page.border_title = literal("Pools to provide liquidity in")
            example = "type to narrow the list, like weth usdc 0.05"
            yield Input(self._narrowed, placeholder=example, id="narrow")
            yield RowTable(_COLUMNS, id="pool-rows")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._fill(self._narrowed)
        self.query_one(Input).focus()

    def hear(self, event: Event) -> bool:
        match event:
            case PoolsReady(rows, _):
                self._pools = rows
                self._fill(self.query_one(Input).value)
                return True
            case _:
                return False

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        self.leave_with(self._chosen_phrase)

    def action_range(self) -> None:
        """The same words with the verb of the form: how much is still to be written."""
        if phrase := self._chosen_phrase:
            self.leave_with(phrase.replace("create ", "range ", 1))

    @property
    def _chosen_phrase(self) -> str:
        chosen = self.query_one(RowTable).key
        return next((pool.phrase for pool in self._pools if pool.pool_id == chosen), "")

    def action_move(self, step: int) -> None:
        table = self.query_one(RowTable)
        if step > 0:
            table.action_down()
        else:
            table.action_up()

    def _fill(self, typed: str) -> None:
        wanted = typed.lower().split()
        kept = [pool for pool in self._pools if all(word in _searched(pool) for word in wanted)]
        self.query_one(RowTable).fill(
            [_row(pool) for pool in kept],
            empty=("No pool has all of these words.",) if wanted else ("No pool was found.",),
        )
        self.query_one("#pools").border_subtitle = literal(
            f"{len(kept)} of {len(self._pools)} · enter: open a position"
        )


def _searched(pool: ListedPool) -> str:
    return f"{pool.pair} {pool.protocol} {pool.fee_words} {pool.hook_words} {pool.pool_id}".lower()


def _row(pool: ListedPool) -> Row:
    return Row(pool.pool_id, tuple(Cell(text, tone) for text, tone, _ in pool_cells(pool)))
