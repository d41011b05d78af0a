"""The screen of a trade run and the one that asks for the word: what keys do, and what does not."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.zuno_tui.screen.graphics.test_pictures import png
from tests.zuno_tui.screen.looks import lines_of
from tests.zuno_tui.screen.scenes import NOW, ScriptedLink, desk_app, play
from tests.zuno_tui.screen.trade_scenes import APPROVAL, BEGUN, HEARD, HEDGING, HOLDING
from zuno_tui.desk.events import ConfirmationAsked, ConfirmationEnded
from zuno_tui.features.trade.events import TradeChanged, TradeOpened
from zuno_tui.features.trade.intents import Trade
from zuno_tui.features.trade.screen import TradeScreen
from zuno_tui.intents.intents import Show
from zuno_tui.present.views import ChartView, Tone
from zuno_tui.screen.graphics.picture import FORGET, kitty_picture
from zuno_tui.screen.panes.fields import READING_SECONDS
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.screens.chart import ChartScreen, Picture
from zuno_tui.screen.screens.confirm import ConfirmScreen


async def test_a_run_opens_once_and_goes_on_behind_whoever_left_it() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, TradeOpened(BEGUN), TradeChanged(HEARD))
        assert isinstance(pilot.app.screen, TradeScreen)
        await pilot.press("escape")
        await play(pilot, TradeChanged(HEDGING))
        assert len(pilot.app.screen_stack) == 1, "nobody is torn away"


async def test_the_next_step_is_put_in_the_prompt_and_never_taken() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await pilot.press("f3")
        assert link.intents == [Show("trade")]
        await play(pilot, TradeOpened(HOLDING))
        await pilot.press("a", "w", "s")
        assert link.intents[1:] == [Trade("why"), Trade("status")]
        await play(pilot, TradeChanged(HEDGING))
        await pilot.press("a")
        assert pilot.app.screen.query_one(PromptPane).value == "approve"
        assert len(link.intents) == 3


async def test_only_the_whole_word_typed_after_reading_sends() -> None:
    link = ScriptedLink()
    times = iter([-READING_SECONDS])
    async with desk_app(link).run_test(size=(80, 24)) as pilot:
        screen = ConfirmScreen(
            link, APPROVAL, clock=lambda: NOW, key_clock=lambda: next(times, 1e12)
        )
        await pilot.app.push_screen(screen)
        await pilot.pause()
        await pilot.press(*"apply", "enter")
        assert link.confirmed == []
        await pilot.press(*"trade", "enter")
        assert link.confirmed == [(APPROVAL.hash, "trade")]
        await pilot.press(*"trade", "enter")
        assert len(link.confirmed) == 1
        await play(pilot, ConfirmationEnded(APPROVAL.hash, "sold 0.374 ETH"))
        await play(pilot, ConfirmationAsked(APPROVAL))
        assert sum(isinstance(one, ConfirmScreen) for one in pilot.app.screen_stack) == 1


async def test_the_word_typed_after_the_end_of_an_approval_sends_nothing() -> None:
    link = ScriptedLink()
    now = NOW
    times = iter([-READING_SECONDS])
    async with desk_app(link).run_test(size=(80, 24)) as pilot:
        screen = ConfirmScreen(
            link, APPROVAL, clock=lambda: now, key_clock=lambda: next(times, 1e12)
        )
        await pilot.app.push_screen(screen)
        await pilot.pause()
        now = APPROVAL.expires_at
        await pilot.press(*"trade", "enter")
        assert link.confirmed == []
        assert not screen.query_one("#confirm-fields").display


async def test_the_chart_is_drawn_in_blocks_where_the_terminal_knows_no_pictures(
    tmp_path: Path,
) -> None:
    pytest.importorskip("PIL", reason="pictures come with the extra `charts`")
    path = tmp_path / "req.png"
    path.write_bytes(png())
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, TradeOpened(HEDGING))
        await pilot.press("c")
        assert len(pilot.app.screen_stack) == 2, "nothing was drawn for it"
        await play(pilot, TradeChanged(replace(HEDGING, chart=str(path))))
        await pilot.press("c")
        await pilot.pause()
        assert len(pilot.app.screen_stack) == 3
        assert sum("▀" in line for line in lines_of(pilot)) > 15
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, TradeScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_without_pictures_the_chart_is_in_characters_with_prices_and_dates(
    size: tuple[int, int],
) -> None:
    hours = range(1_768_000_000, 1_768_000_000 + 168 * 3_600, 3_600)
    closes = tuple(3_000.0 + hour % 90_000 / 900 for hour in hours)
    marks: tuple[tuple[float, str, Tone], ...]
    marks = ((3_094.5, "entry", "plain"), (3_150.0, "stop", "bad"), (2_950.0, "profit", "good"))
    prices = ChartView(tuple(map(float, hours)), closes, 2_827.1, 3_350.9, marks=marks)
    async with desk_app().run_test(size=size) as pilot:
        await play(pilot, TradeOpened(replace(HEDGING, prices=prices)))
        await pilot.press("c")
        await pilot.pause()
        lines = lines_of(pilot)

        for words in (
            "3,094.5 entry",
            "3,150.0 stop",
            "2,950.0 profit",
            "2,827.1 range",
            "3,350.9 range",
        ):
            assert sum(words in line for line in lines) == 1, words
        (axis,) = [line for line in lines if "12 Jan" in line]
        assert {"10 Jan", "14 Jan"} <= {" ".join(pair) for pair in pairwise(axis.split())}
        assert max(map(len, lines)) <= size[0]
        assert any("IF ETH MOVES" in line for line in lines) == (size[1] > 45), "where room is"


async def test_a_terminal_that_knows_pictures_is_given_one_and_relieved_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        written: list[str] = []
        driver = pilot.app._driver
        assert driver is not None
        monkeypatch.setattr(driver, "write", written.append)
        await pilot.app.push_screen(ChartScreen(ScriptedLink(), "ETHUSDT", Picture(png(), "kitty")))
        await pilot.pause()
        assert any(kitty_picture(png(), 76, 21) in text for text in written)
        await pilot.press("escape")
        await pilot.pause()
        assert written.count(FORGET) == 1


@pytest.mark.parametrize(("size", "shown"), [((200, 55), True), ((120, 36), False)])
async def test_the_week_of_prices_is_drawn_where_the_page_leaves_room(
    size: tuple[int, int], *, shown: bool
) -> None:
    view = replace(HEDGING, prices=ChartView((0.0, 86_400.0 * 7), (3_000.0, 3_100.0), 2_800, 3_300))
    async with desk_app().run_test(size=size) as pilot:
        await play(pilot, TradeOpened(view))
        await pilot.pause()
        lines = lines_of(pilot)
        assert any("PRICE  the last 7 days" in line for line in lines) is shown
        assert any("3,300.0 range" in line for line in lines) is shown
        # Heard once more it is drawn once.
        await play(pilot, TradeChanged(view))
        await pilot.pause()
        assert sum("PRICE  the last 7 days" in line for line in lines_of(pilot)) == shown
        if shown:
            assert pilot.app.screen.query_one("#trade").max_scroll_y == 0, "never half of it"
