"""The screens one goes to from the desk, what their keys ask for, and pages that come late."""

import asyncio
import random
import time
from typing import Any

import pytest
from msgspec.structs import replace
from textual.app import App
from textual.events import Event as TextualEvent
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Input

from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, v3_position, v4_position
from tests.zuno_tui.screen.looks import lines_of
from tests.zuno_tui.screen.portfolio_scene import PORTFOLIO
from tests.zuno_tui.screen.range_scene import RANGE
from tests.zuno_tui.screen.scenes import MORNING, STATUS, ScriptedLink, desk_app, play, text_of
from tests.zuno_tui.screen.visit_scenes import DETAIL, POOLS, RECORDS, REPLAYED, SENT, SETTINGS
from zuno_tui.desk.events import (
    DebateChanged,
    DetailReady,
    Event,
    OutboxReady,
    PageReady,
    PoolsReady,
    PortfolioChanged,
    RecordsReady,
    SettingsReady,
    StatusChanged,
)
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Cancel,
    ChangeSetting,
    ChooseRange,
    Inspect,
    MovePosition,
    Recommend,
    Replay,
    ShowPortfolio,
    UseWallet,
)
from zuno_tui.present.portfolio import EarnedRow
from zuno_tui.present.position import KeyFigure
from zuno_tui.present.views import JobView
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.panes.grouped_table import GroupedTable, heading_rows
from zuno_tui.screen.panes.marked_list import MarkedList
from zuno_tui.screen.panes.positions import PositionsPane
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.panes.row_table import Cell, Row, RowTable, TableColumn
from zuno_tui.screen.screens.desk import DeskScreen
from zuno_tui.screen.screens.page import PageScreen
from zuno_tui.screen.screens.position import PositionScreen
from zuno_tui.screen.screens.range import RangeScreen
from zuno_tui.screen.screens.records import ReplayScreen

EVENTS: dict[str, Event] = {
    "position": DetailReady(DETAIL),
    "pools": PoolsReady(POOLS),
    "records": RecordsReady(RECORDS),
    "outbox": OutboxReady(SENT),
    "settings": SettingsReady(SETTINGS, "~/.zuno/settings.toml"),
}


@pytest.mark.parametrize(
    ("ref", "phrase"), [(v4_position(7), "collect 7"), (v3_position(7), "collect 3:7")], ids=str
)
async def test_a_position_leads_to_a_debate_or_to_the_prompt(ref: PositionRef, phrase: str) -> None:
    link, told = ScriptedLink(), DetailReady(replace(DETAIL, ref=ref))
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, told)
        await pilot.press("r")
        assert link.intents == [Recommend(ref)]
        await play(pilot, told)
        await pilot.press("c")
        assert pilot.app.screen.query_one(PromptPane).value == phrase
        assert link.intents == [Recommend(ref)]


async def test_a_position_told_again_is_drawn_anew_and_opens_no_second_screen() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["position"], EVENTS["position"])
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("escape")
        assert len(pilot.app.screen_stack) == 1


async def test_the_facts_of_a_position_are_copied_with_whole_addresses() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["position"])
        await pilot.press("y")
        assert pilot.app.clipboard.splitlines()[1] == f"pool: 0x{'78' * 32}"


async def test_typing_narrows_the_pools_and_enter_goes_on_from_one() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["pools"])
        await pilot.press(*"0.3")
        await pilot.press("enter")
        assert pilot.app.screen.query_one(PromptPane).value == "create 1 WETH/USDC 0.3%"


async def test_the_edges_of_a_range_are_moved_and_enter_asks_for_the_plan() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, RANGE)
        screen = pilot.app.screen
        assert isinstance(screen, RangeScreen)
        await pilot.press("enter")
        assert link.intents == [], "the range that is held is no plan"
        held = screen.preview
        await pilot.press("left")
        lower = screen.preview
        assert (lower.edges[0] < held.edges[0], lower.high) == (True, held.high)
        assert [one.own for one in lower.figures] != [one.own for one in held.figures]
        await pilot.press("tab", "right")
        assert screen.preview.low == lower.low
        assert screen.preview.edges[1] > lower.edges[1]
        await play(pilot, RANGE)
        assert screen.preview.low == lower.low, "read again, it stays where it was moved to"
        await pilot.press("u", "enter")
        assert link.intents[0] == ChooseRange("7")
        assert isinstance(link.intents[1], MovePosition)
        assert link.intents[1].ref == v4_position(7)
        assert len(pilot.app.screen_stack) == 1


async def test_the_portfolio_opens_once_and_leads_to_a_position() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await pilot.press("P")
        assert link.intents == [ShowPortfolio()]
        await play(pilot, PortfolioChanged(PORTFOLIO))
        assert len(pilot.app.screen_stack) == 1, "what is read later brings nobody back"
        await play(pilot, PortfolioChanged(PORTFOLIO, opens=True), PortfolioChanged(PORTFOLIO))
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("j", "enter", "j", "enter", "j", "enter", "u")
        assert link.intents[1:] == [Inspect(v4_position(7)), ShowPortfolio()]
        of_v3 = replace(PORTFOLIO.rows[2], key="8453/0x52/3:4")
        await play(pilot, PortfolioChanged(replace(PORTFOLIO, rows=(of_v3,))))
        await pilot.press("G", "enter")
        assert link.intents[-1] == Inspect(v3_position(4))


async def test_a_chosen_range_goes_to_the_prompt_as_words() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, RANGE)
        await pilot.press("plus", "e")
        assert pilot.app.screen.query_one(PromptPane).value.startswith("move 7 ")


async def test_a_pool_leads_to_the_form_of_a_range_in_it() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["pools"])
        await pilot.press("ctrl+o")
        assert pilot.app.screen.query_one(PromptPane).value == "range 1 WETH/USDC 0.05%"


async def test_the_arrows_move_through_the_pools_while_one_types() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["pools"])
        await pilot.press("down", "down", "enter")
        assert pilot.app.screen.query_one(PromptPane).value == "create 1 WETH/HKD"


async def test_a_record_is_stepped_through_turn_by_turn() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["records"])
        await pilot.press("enter")
        assert link.intents == [Replay("req_5b1f0c77a1d2e394")]
        await play(pilot, DebateChanged(REPLAYED))
        screen = pilot.app.screen
        assert isinstance(screen, ReplayScreen)
        assert _turns_in_sight(screen) == 1
        await pilot.press("right", "space")
        assert _turns_in_sight(screen) == 3
        await pilot.press("left")
        assert _turns_in_sight(screen) == 2
        await pilot.press("end")
        assert _turns_in_sight(screen) == len(REPLAYED.turns)


def _turns_in_sight(screen: ReplayScreen) -> int:
    return sum(bool(block.display) for block in screen.query(".turn"))


async def test_only_what_can_be_done_with_a_sent_plan_is_offered() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["outbox"])
        await pilot.press("f", "x")
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("d")
        assert (
            pilot.app.screen.query_one(PromptPane).value == "outbox resolve plan_77aa00c1e4b25f61"
        )


async def test_another_theme_is_drawn_at_once_and_kept() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["settings"])
        await pilot.press("t")
        assert pilot.app.theme == "zuno-light"
        assert link.intents == [ChangeSetting("screen.theme", "zuno-light")]


async def test_a_setting_is_changed_from_its_row() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["settings"])
        screen = pilot.app.screen
        field, choices = screen.query_one("#setting-value", Input), screen.query_one(MarkedList)
        await pilot.press("enter")
        assert choices.highlighted == 1, "on what is set now"
        await pilot.press("escape")
        assert not choices.display
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("enter", "up")
        assert "enter save" in text_of(pilot, "#keys")
        await pilot.press("enter")
        assert link.intents == [ChangeSetting("network", "arbitrum")]
        link.intents.clear()
        screen.query_one(RowTable).point_at("limits.daily_usd")
        await pilot.press("enter")
        assert (field.display, choices.display) == (True, False)
        assert "enter save" in text_of(pilot, "#keys")
        await pilot.press(*"500", "enter")
        await pilot.press("end", "enter")
        for key in ("up", "enter"):
            pilot.app.post_message(Key(key, None))
        await pilot.pause()
        assert pilot.app.theme == "zuno-high-contrast"
        await pilot.press("enter", "end", "enter")
        assert link.intents == [
            ChangeSetting("limits.daily_usd", "500"),
            ChangeSetting("screen.theme", "zuno-high-contrast"),
            ChangeSetting("screen.theme", ""),
        ]


async def test_the_cursor_passes_headings_by() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        table = GroupedTable((TableColumn("NAME", 0, 20),), id="grouped")
        table.styles.height = 5
        await pilot.app.screen.mount(table, before=0)
        groups = [(name, [Row(f"{name}{each}", (Cell(name),)) for each in "12"]) for name in "ab"]
        rows = [[*heading_rows(name, 1, apart=name == "b"), *group] for name, group in groups]
        table.fill([row for group in rows for row in group])
        table.focus()
        stood = [table.key]
        for key in ("down", "down", "down", "down", "up", "up", "home", "end", "home"):
            await pilot.press(key)
            stood.append(table.key)
        assert stood == ["a1", "a2", "b1", "b2", "b2", "b1", "a2", "a1", "b2", "a1"]
        assert table.scroll_offset.y == 0, "the first heading is in sight again"


async def test_what_may_be_a_key_is_not_drawn_while_it_is_typed() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["settings"])
        screen = pilot.app.screen
        field, rows = screen.query_one("#setting-value", Input), screen.query_one(RowTable)
        for name in ("rpc.base", "telegram.token"):
            rows.point_at(name)
            await pilot.press("enter")
            field.value = "https://node.example/v2/8e1fCANARY77b0?key=CANARY"
            await pilot.pause()
            drawn = "\n".join(lines_of(pilot))
            assert "CANARY" not in drawn
            assert ("node.example/v2/••••" in drawn) is (name == "rpc.base")
            await pilot.press("escape")


async def test_another_wallet_is_used_from_its_row() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, EVENTS["settings"])
        await pilot.press("down", "enter", "enter")
        assert link.intents == [], "nothing typed changes no wallet"
        await pilot.press("enter", *"cold", "enter")
        assert link.intents == [UseWallet("cold")]


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_ether_stands_in_the_heads_and_no_figure_is_cut(width: int) -> None:
    def in_ether(row: EarnedRow) -> EarnedRow:
        names = ("worth", "today", "week", "month", "entry", "result")
        return replace(row, **{name: "0.0002873" for name in names if getattr(row, name)}, note="")

    rows = tuple(in_ether(row) for row in PORTFOLIO.rows)
    view = replace(PORTFOLIO, total=in_ether(PORTFOLIO.total), rows=rows, unit=WorthUnit.ETH)
    async with desk_app(ScriptedLink()).run_test(size=(width, 36)) as pilot:
        await play(pilot, PortfolioChanged(view, opens=True))
        lines = lines_of(pilot)
        (head,) = [line for line in lines if "WORTH+FEES ETH" in line]
        assert "VS HOLD−GAS ETH" in head
        assert any("FEES ETH" in line for line in lines if line not in head)
        told = [line for line in lines if "0.0002873" in line]
        assert len(told) == 1 + len(rows)
        assert not any("0.0002873 ETH" in line or "0.00028…" in line for line in told)
        await play(pilot, PortfolioChanged(PORTFOLIO))
        assert not any("WORTH+FEES ETH" in line for line in lines_of(pilot)), "dollars again"


async def test_a_profit_in_dollars_beside_ether_says_why() -> None:
    profit = (KeyFigure("put in", "$100.00"), KeyFigure("profit", "+$4.00", "good"))
    dollars = replace(DETAIL, profit=profit)
    in_ether = tuple(each._replace(words=each.words.replace("$", "Ξ ")) for each in DETAIL.figures)
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        for view, told in ((dollars, False), (replace(dollars, figures=in_ether), True)):
            await play(pilot, DetailReady(view))
            drawn = " ".join(lines_of(pilot))
            assert "+$4.00" in drawn
            assert ("Dollars: the profit counts" in drawn) is told


PAGE = PageReady("zuno history", ("a line",))
KEYS = ("down", "r", "v", "colon", "escape", "enter", "1", "G", "space", "ctrl+o")


async def test_it_opens_where_nothing_was_typed_since() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter")
        await pilot.pause()
        await play(pilot, PAGE)

        assert isinstance(pilot.app.screen, PageScreen)


async def test_it_is_offered_where_something_was_typed_and_opens_by_its_key() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter")
        await pilot.pause()
        await pilot.press("down")
        await play(pilot, PAGE)

        assert isinstance(pilot.app.screen, DeskScreen)
        assert "zuno history is ready: ctrl+o opens it." in text_of(pilot, "#said")
        await pilot.press("ctrl+o")
        assert isinstance(pilot.app.screen, PageScreen)


async def test_what_is_in_the_prompt_is_not_interrupted() -> None:
    app = desk_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *"doc")
        app._note_asked()  # asked before the first letter came through
        await play(pilot, PAGE)
        await pilot.press("t")

        assert pilot.app.screen.query_one(PromptPane).value == "doct"


@pytest.mark.parametrize("asks_meanwhile", [(), ("colon", *"records", "enter")])
async def test_what_is_read_later_of_a_closed_page_brings_it_not_back(
    asks_meanwhile: tuple[str, ...],
) -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter")
        await pilot.pause()
        await play(pilot, DetailReady(DETAIL))
        assert isinstance(pilot.app.screen, PositionScreen)
        await pilot.press("escape", *asks_meanwhile)
        await pilot.pause()
        await play(pilot, DetailReady(DETAIL, opens=False))

        assert isinstance(pilot.app.screen, DeskScreen)
        assert "is ready" not in text_of(pilot, "#said")


async def test_a_page_that_waits_opens_with_all_that_was_read_of_it() -> None:
    more = replace(DETAIL, title="the whole of it")
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "enter", "down")
        await play(pilot, DetailReady(DETAIL), DetailReady(more, opens=False))
        await pilot.press("ctrl+o")

        page = pilot.app.screen.query_one("#detail")
        assert str(page.border_title) == "the whole of it"


@pytest.mark.parametrize("first", [(), ("colon",)])
async def test_escape_ends_the_reading_of_a_page(first: tuple[str, ...]) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        job = JobView("inspect", "Reading position #28", opens_page=True)
        debate = JobView("debate", "Arguing")
        await play(pilot, StatusChanged(replace(STATUS, jobs=(job, debate))))
        await pilot.press(*first, "escape")

        assert link.intents == [Cancel("inspect")]


async def test_what_was_typed_and_sent_gives_the_focus_back() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *"inspect 7", "enter")
        await pilot.pause()

        assert link.intents == [Inspect(v4_position(7))]
        assert isinstance(pilot.app.focused, PositionsPane)


class _SlowLink(ScriptedLink):
    """Answers whatever is asked with a page, some milliseconds later."""

    app: ZunoApp
    chance: random.Random

    def ask(self, intent: Intent) -> None:
        super().ask(intent)
        page = PageReady(f"page {len(self.intents)}", ("a line",))
        asyncio.get_running_loop().call_later(self.chance.random() / 20, self.app.hear, page)


@pytest.mark.parametrize(
    ("seed", "keys"), [(1, 100), *(pytest.param(n, 200, marks=pytest.mark.soak) for n in (1, 2, 3))]
)
async def test_keys_at_random_moments_reach_no_page_they_were_not_typed_at(
    seed: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, link = random.Random(seed), _SlowLink()
    painted: dict[Screen[Any], float] = {}
    reached: list[tuple[float, Screen[Any]]] = []
    display, dispatch = App._display, App.on_event

    def note_paint(app: App[None], screen: Screen[Any], renderable: Any) -> None:
        display(app, screen, renderable)
        painted.setdefault(screen, time.monotonic())

    async def note_key(app: App[None], event: TextualEvent) -> None:
        if isinstance(event, Key):
            reached.append((event.time, app.screen))
        await dispatch(app, event)

    monkeypatch.setattr(App, "_display", note_paint)
    monkeypatch.setattr(App, "on_event", note_key)
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        link.app, link.chance = pilot.app, chance  # type: ignore[assignment]
        await play(pilot, *MORNING)
        for _ in range(keys):
            pilot.app.post_message(Key(chance.choice(KEYS), None))
            await asyncio.sleep(chance.choice((0, 0.002, 0.01, 0.02, 0.05, 0.1)))
        await pilot.pause(0.1)

    pages = {screen for screen in painted if isinstance(screen, PageScreen)}
    assert len(pages) > 3
    early = [at for at, screen in reached if screen in pages and at < painted[screen]]
    assert not early
