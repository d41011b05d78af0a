"""Pages, help, logs and bars of the screen, and the last gate before the terminal."""

import logging
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.color import Color
from textual.containers import ScrollableContainer
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static

from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.protocols.reference import v4_position
from tests.samples import some_of
from tests.zuno_tui.screen.looks import lines_of
from tests.zuno_tui.screen.scenes import MORNING, POSITIONS, ScriptedLink, desk_app, play, until
from tests.zuno_tui.screen.screen_scenes import ORDER_FORM
from zuno_tui.app.session import Session
from zuno_tui.desk.events import PageReady, PositionsChanged
from zuno_tui.desk.pages import page_of
from zuno_tui.features.orders.intents import (
    OrderAsked,
    OrderClose,
    OrderCollect,
    OrderCompound,
    OrderForm,
    OrderMove,
)
from zuno_tui.features.orders.screen import OrderFormScreen
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import ExplainPlan
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.transcript import wrap_text
from zuno_tui.screen.app.app import AsciiOnly, ControlGuard, SpacedScrollBar
from zuno_tui.screen.app.running import close_log, open_log
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.panes.row_table import RowTable
from zuno_tui.screen.panes.text import PlainText
from zuno_tui.screen.screens.active_keys import ActiveKey
from zuno_tui.screen.screens.help import in_columns, pane_sections
from zuno_tui.screen.screens.page import PageScreen
from zuno_tui.settings import Settings

LINES = tuple(f"line {number}" for number in range(200))


async def _open(pilot: Pilot[None], *lines: str) -> PageScreen:
    await play(pilot, PageReady("zuno doctor", lines))
    screen = pilot.app.screen
    assert isinstance(screen, PageScreen)
    return screen


async def test_keys_move_through_it_and_escape_closes_it() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        screen = await _open(pilot, *LINES)
        page = screen.query_one(ScrollableContainer)
        await pilot.press("j", "j")
        assert page.scroll_y == 2
        await pilot.press("G")
        assert page.scroll_y == page.max_scroll_y > 100
        await pilot.press("g", "space")
        assert 10 < page.scroll_y < 30
        await pilot.press("escape")
        await pilot.pause()

        assert not isinstance(pilot.app.screen, PageScreen)


async def test_words_of_a_command_fit_the_page_they_are_broken_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    home, network = Home(tmp_path, tmp_path / "cache"), network_named("devnet")
    session = Session(home, Settings(), network, as_json=False)

    async def answering(_: Session, __: Intent) -> CommandAnswer:
        words = wrap_text("ask for a wider stop " * 20, indent=2)
        return CommandAnswer(lines=(words,), document={})

    ready = await page_of(answering, session, ExplainPlan(), 0.0)
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, ready)
        page = pilot.app.screen.query_one(ScrollableContainer)

        assert page.max_scroll_x == 0
        assert max(map(len, ready.lines)) > page.size.width - len(" stop ")


async def test_a_line_that_arrives_at_once_behind_a_colon_is_in_the_prompt() -> None:
    async with desk_app().run_test() as pilot:
        await _open(pilot, *LINES)
        for key in (":", *"close 28"):
            pilot.app.post_message(Key("colon" if key == ":" else key, key))
        prompt = pilot.app.screen_stack[0].query_one(PromptPane)
        await until(pilot, lambda: prompt.value == "close 28")

        assert prompt.value == "close 28"


async def test_the_same_page_again_takes_its_place() -> None:
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, "before")
        await play(pilot, PageReady("zuno doctor", ("after",)))

        assert pilot.app.screen is screen
        assert str(screen.query_one("#page-lines", Static).content) == "after"


async def test_what_was_printed_is_neither_markup_nor_control() -> None:
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, "[@click=app.quit]x[/] [/]", "\x1b[2J\x9b31m\u202eevil", "")
        await pilot.press("y")
        drawn = str(screen.query_one("#page-lines", Static).content)

        assert drawn == "[@click=app.quit]x[/] [/]\n[2J31mevil\n"
        assert pilot.app.clipboard == drawn


async def test_a_command_that_printed_nothing_says_so() -> None:
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot)

        assert str(screen.query_one("#page-lines", Static).content) == "No output."


KEYS = (
    ActiveKey("g", "", "To the first line", "move.first"),
    ActiveKey("enter", "open", "Everything about this position", "positions.inspect"),
)


@pytest.mark.parametrize("width", [40, 60, 88])
def test_no_line_leaves_its_column(width: int) -> None:
    about, keys, words, *phrases = pane_sections("positions", KEYS, width)

    assert max(line.cell_length for line in (*about, *keys, *words)) <= width
    assert [line.plain.split()[0] for line in keys[1:]][:1] == ["enter"], "the pane's own first"
    assert ("positions.inspect" in keys[1].plain) is (width >= 80)
    for section in (keys, words, *phrases):
        begins = [line.plain for line in section[1:] if not line.plain.startswith(" ")]
        assert len(begins) <= len(section) - 1
        assert all(line[0] != " " for line in begins)
    [pair] = [place for place, line in enumerate(words) if line.plain.startswith("PAIR")]
    [after] = [place for place, line in enumerate(words) if line.plain.startswith("VER")]
    column = words[pair].plain.index("its two tokens")
    between = [line.plain for line in words[pair + 1 : after]]
    assert (len(between) > 0) is (width < 88)
    assert all(line[:column].isspace() and line[column] != " " for line in between)
    assert keys[1].plain.index("Everything") == column


def test_two_columns_are_about_as_high() -> None:
    sections = [*pane_sections("positions", KEYS, 88)]
    left, right = in_columns(sections)

    assert [*left, *right] == sections
    heights = [sum(len(section) + 1 for section in column) for column in (left, right)]
    longest = max(len(section) + 1 for section in sections)
    assert abs(heights[0] - heights[1]) <= longest


KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
URL = "https://base.example/v2/AbCdEf"


def _written(path: Path, *words: str, error: Exception | None = None) -> str:
    handler = open_log(path)
    for line in words:
        logging.getLogger("zuno.desk").error(line, exc_info=error)
    close_log(handler)
    return path.read_text("utf-8")


def _failing() -> Exception:
    secret = KEY
    try:
        try:
            raise ConnectionError(f"cannot reach {URL}")
        except ConnectionError as cause:
            raise ValueError(f"secret {secret}\x1b[2J") from cause
    except ValueError as error:
        return error


def test_frames_and_kinds_without_words(tmp_path: Path) -> None:
    text = _written(tmp_path / "log", "it failed", error=_failing())

    assert "ConnectionError" in text
    assert "led to" in text
    assert "ValueError" in text
    assert "_failing" in text
    assert KEY not in text
    assert "base.example" not in text
    assert "\x1b" not in text


def test_what_is_said_by_mistake_is_hidden(tmp_path: Path) -> None:
    text = _written(tmp_path / "log", f"reading {URL} with {KEY}\x07 done")

    assert "reading (a URL) with (hidden) done" in text


def test_the_file_is_its_owners_and_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "log"
    _written(path, *("x" * 1_000 for _ in range(400)))

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size < 200_000
    assert {each.name for each in tmp_path.iterdir()} == {"log", "log.1"}
    assert (tmp_path / "log.1").stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_written_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()

    assert open_log(tmp_path / "log") is None
    close_log(None)


class _One(App[None]):
    CSS = "PlainText { height: auto; }"

    def compose(self) -> ComposeResult:
        yield PlainText("one")


async def test_words_that_follow_a_layout_at_once_are_all_shown() -> None:
    async with _One().run_test() as pilot:
        text = pilot.app.query_one(PlainText)
        await pilot.pause()

        text.update("two\nlines")
        # As when another pane changes before this one was idle.
        pilot.app.screen._clear_arrangement_cache()
        pilot.app.screen._refresh_layout()
        text.update("now\nthere\nare\nfive\nlines")
        await pilot.pause()

        assert text.size.height == 5


async def test_words_in_brackets_are_words() -> None:
    async with _One().run_test() as pilot:
        text = pilot.app.query_one(PlainText)

        text.update("[red]USDC[/red]")
        await pilot.pause()

        assert str(text.visual) == "[red]USDC[/red]"


@pytest.mark.parametrize("width", [1, 2, 3])
def test_only_the_last_cell_is_drawn(width: int) -> None:
    bar = SpacedScrollBar(virtual_size=40, window_size=10, style="red on blue")
    console = Console(width=width, height=8)
    lines = console.render_lines(bar, console.options.update(height=8), pad=False)

    assert [sum(cell.cell_length for cell in line) for line in lines] == [width] * 8
    for line in lines:
        *space, last = line
        assert [cell.text for cell in space] == ([" " * (width - 1)] if width > 1 else [])
        assert all(cell.style and not cell.style.reverse for cell in space)
        assert last.cell_length == 1
    assert SpacedScrollBar.THUMB in {line[-1].text for line in lines}
    assert all(not (line[-1].style and line[-1].style.reverse) for line in lines)


async def test_every_bar_is_drawn_so() -> None:
    async with desk_app().run_test() as pilot:
        table = pilot.app.screen.query(RowTable).first()
        assert table.vertical_scrollbar.renderer is SpacedScrollBar


async def test_a_key_at_the_row_opens_it() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("O")
        assert link.intents == [OrderForm(POSITIONS.rows[0].ref)]
        await play(pilot, ORDER_FORM)
        assert isinstance(pilot.app.screen, OrderFormScreen)
        await pilot.press("escape")
        assert len(pilot.app.screen_stack) == 1


@pytest.mark.parametrize(
    ("keys", "asked"),
    some_of(
        [
            (("enter", *"2,800", "enter"), OrderClose(v4_position(28), ("below", "2,800"))),
            (
                ("j", "enter", *"3400", "tab", *"14d", "enter"),
                OrderClose(v4_position(28), ("above", "3400", "until", "14d")),
            ),
            (
                ("j", "j", "enter", *"2h", "enter"),
                OrderClose(v4_position(28), ("out-of-range", "2h")),
            ),
            (
                ("j", "j", "j", "enter", *"5%", "enter"),
                OrderClose(v4_position(28), ("loss-over", "5%")),
            ),
            (
                ("k", "k", "k", "k", "enter", *"$50", "enter"),
                OrderCollect(v4_position(28), ("every", "7d", "times", "4", "over", "$50")),
            ),
            (
                ("k", "k", "k", "enter", *"$50", "enter"),
                OrderCompound(v4_position(28), ("every", "7d", "times", "4", "over", "$50")),
            ),
            (
                ("k", "k", "enter", *"3400", "enter"),
                OrderMove(v4_position(28), ("up", "to", "3400")),
            ),
            (("k", "enter", *"2700", "enter"), OrderMove(v4_position(28), ("down", "to", "2700"))),
            (("enter", "enter"), None),
            (("enter", *"soon", "enter"), None),
            (("enter", *"2800", "tab", *"1y", "enter"), None),
        ],
        5,
        seed=44,
    ),
)
async def test_what_is_filled_in_is_what_is_asked_for(
    keys: tuple[str, ...], asked: OrderAsked | None
) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING, ORDER_FORM)
        await pilot.press(*keys)
        await pilot.pause()
        assert link.intents == ([] if asked is None else [asked])
        assert isinstance(pilot.app.screen, OrderFormScreen) is (asked is None)


async def test_an_account_that_understands_no_orders_is_told_so_first() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING, replace(ORDER_FORM, delegated=False))
        assert any("type delegate at the desk" in line for line in lines_of(pilot))
        await pilot.press("enter", *"2800", "enter")
        assert link.intents == []


BLACK = Color(0, 0, 0)
HOSTILE = "a\x1b]52;c;eA==\x07b\x9b2Jc\u202ed\u200be\x7ff\x00"


def test_what_steers_a_terminal_is_dropped_and_the_rest_is_left_alone() -> None:
    segments = [Segment(HOSTILE), Segment("● über 東京 …"), Segment("plain")]

    drawn = [segment.text for segment in ControlGuard().apply(segments, BLACK)]

    assert drawn == ["a]52;c;eA==b2Jcdef", "● über 東京 …", "plain"]


def test_ascii_keeps_every_width() -> None:
    text = "├──●─┤ █░ ▲ ✗ ★ · − × … › ○ 2 → 1 “東京” é"

    (segment,) = AsciiOnly().apply([Segment(text)], BLACK)

    assert segment.text == '[--o-] #. ^ x * - - x ~ > . 2-> 1 "????" ?'
    assert segment.cell_length == Segment(text).cell_length


async def test_a_widget_that_cleans_nothing_is_cleaned_at_the_gate() -> None:
    async with desk_app().run_test() as pilot:
        await pilot.app.screen.mount(Static(HOSTILE, markup=False, id="raw"))
        await pilot.pause()
        raw = pilot.app.screen.query_one("#raw")
        assert "\x1b" in str(raw.render())
        (strip,) = raw.render_lines(raw.size.region)

        assert strip.text.strip() == "a]52;c;eA==b2Jcdef"


async def test_the_whole_desk_in_ascii() -> None:
    async with desk_app(ascii_only=True).run_test(size=(120, 36)) as pilot:
        rows = (replace(POSITIONS.rows[0], pair="東京/ü"), *POSITIONS.rows[1:])
        await play(pilot, *MORNING, PositionsChanged(replace(POSITIONS, rows=rows)))
        svg = pilot.app.export_screenshot()

        assert [letter for letter in svg if ord(letter) > 0x7E and letter != "\xa0"] == []
