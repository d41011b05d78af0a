"""Every screen at three sizes, in every theme the same words, and words that can be read.

The main screens at 120×36 are the snapshots' affair: theirs are kept at the other two sizes.
"""

from collections.abc import AsyncIterator, Sequence
from random import Random

import pytest
import pytest_asyncio
from textual.pilot import Pilot

from tests.zuno_tui.screen.looks import (
    ENOUGH_CONTRAST,
    SIZES,
    assert_looks,
    front_of,
    lines_of,
    pairs_of,
)
from tests.zuno_tui.screen.one_app import OneApp
from tests.zuno_tui.screen.scenes import MORNING, desk_app, play
from tests.zuno_tui.screen.screen_scenes import PAGES, SCENES, SNAPSHOTS
from tests.zuno_tui.screen.trade_scenes import APPROVAL as ORDERS
from tests.zuno_tui.screen.trade_scenes import BEGUN, FAILED, HEARD, HEDGING, HOLDING
from tests.zuno_tui.screen.visit_scenes import RECORDS, REPLAYED
from zuno_tui.desk.events import ConfirmationAsked, DebateChanged, RecordsReady
from zuno_tui.features.trade.events import TradeChanged, TradeOpened
from zuno_tui.screen.panes.debate import FLUSH_SECONDS
from zuno_tui.screen.themes import COLOURLESS, THEME_NAMES

pytestmark = pytest.mark.asyncio(loop_scope="module")

OF_EVERY_COMMAND = ("help",)
"""Screens that list all commands: what they must hold is tested with them."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pilot() -> AsyncIterator[Pilot[None]]:
    """Of one app for all of this module: each test begins it again."""
    async with OneApp().run_test(size=SIZES[-1]) as pilot:
        yield pilot


async def _settled(pilot: Pilot[None]) -> None:
    """Widths, then words, then heights."""
    for _ in range(3):
        await pilot.pause(FLUSH_SECONDS)


@pytest.mark.parametrize("themes", [1, pytest.param(len(THEME_NAMES), marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", SCENES)
async def test_how_it_looks(name: str, pilot: Pilot[None], themes: int) -> None:
    events, keys = SCENES[name]
    small, middle, large = SIZES
    await OneApp.begin_again(pilot, large, with_desk=name not in PAGES)
    await play(pilot, *events)
    await pilot.press(*keys)
    for width, height in (large, small, middle):
        await pilot.resize_terminal(width, height)
        has_snapshot = (width, height) == middle and name in SNAPSHOTS.values()
        if name in OF_EVERY_COMMAND or has_snapshot:
            await _settled(pilot)
        else:
            await assert_looks(f"{name} {width}x{height}", pilot)
        assert max(map(len, lines_of(pilot))) <= width
    await _assert_readable(pilot, Random(name).sample(THEME_NAMES, themes))


async def _assert_readable(pilot: Pilot[None], themes: Sequence[str]) -> None:
    front = _frames_alike(front_of(pilot))
    for theme in themes:
        pilot.app.theme = theme
        await pilot.pause()
        assert _frames_alike(front_of(pilot)) == front, f"{theme} changes more than colours"
        faint = {
            words: round(pair.contrast, 2)
            for pair, words in pairs_of(pilot).items()
            if pair.contrast < ENOUGH_CONTRAST
        }
        assert faint == {}, theme


def _frames_alike(lines: list[str]) -> list[str]:
    """Where no colour does, a heavy frame tells what has the focus, and scroll bars are thin."""
    light = str.maketrans("━┃┏┓┗┛┊", "─│╭╮╰╯▐")
    return [line.translate(light) for line in lines]


async def test_how_a_replay_looks(pilot: Pilot[None]) -> None:
    await OneApp.begin_again(pilot, SIZES[-1], with_desk=False)
    await play(pilot, RecordsReady(RECORDS))
    await pilot.press("enter")
    await play(pilot, DebateChanged(REPLAYED))
    await pilot.press("end")
    for width, height in reversed(SIZES):
        await pilot.resize_terminal(width, height)
        await assert_looks(f"replay {width}x{height}", pilot)


async def test_how_runs_of_the_trade_desk_look(pilot: Pilot[None]) -> None:
    await OneApp.begin_again(pilot, SIZES[1], with_desk=False)
    await play(pilot, TradeOpened(BEGUN), TradeChanged(HEARD))
    await assert_looks("trade under way 120x36", pilot)
    await pilot.resize_terminal(*SIZES[0])
    for name, view in (("holds", HOLDING), ("failed", FAILED)):
        await play(pilot, TradeChanged(view))
        await assert_looks(f"trade that {name} 80x24", pilot)
    await play(pilot, ConfirmationAsked(ORDERS))
    await assert_looks("trade confirmation 80x24", pilot)


async def test_plain_characters_alone() -> None:
    async with desk_app(ascii_only=True).run_test(size=SIZES[1]) as pilot:
        await play(pilot, *MORNING)
        lines = await assert_looks("plain characters 120x36", pilot)
        await play(pilot, TradeOpened(HEDGING))
        lines += await assert_looks("trade in plain characters 120x36", pilot)
        await pilot.resize_terminal(*SIZES[0])
        await play(pilot, TradeChanged(FAILED))
        lines += await assert_looks("trade in plain characters that failed 80x24", pilot)
        await play(pilot, ConfirmationAsked(ORDERS))
        lines += await assert_looks("trade in plain characters confirmation 80x24", pilot)
        assert [line for line in lines if not line.isascii()] == []


async def test_no_colour_takes_away_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of the desk and the trade are those that their snapshots show in colour."""
    monkeypatch.setenv("NO_COLOR", "1")
    app = desk_app()
    assert app.theme == COLOURLESS
    async with app.run_test(size=SIZES[1]) as pilot:
        await play(pilot, *MORNING)
        await assert_looks("morning 120x36", pilot, heavy_is_light=True)
        assert pairs_of(pilot) == {}, "no colour of ours is left"
        await play(pilot, TradeOpened(HEDGING))
        await assert_looks("trade that acts 120x36", pilot, heavy_is_light=True)
        assert pairs_of(pilot) == {}
        await pilot.resize_terminal(*SIZES[0])
        await play(pilot, TradeChanged(FAILED))
        await assert_looks("trade that failed 80x24", pilot, heavy_is_light=True)
        await play(pilot, ConfirmationAsked(ORDERS))
        await assert_looks("trade confirmation 80x24", pilot)
        assert pairs_of(pilot) == {}
