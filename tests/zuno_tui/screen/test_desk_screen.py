"""What the desk's keys ask for, where the focus goes, and what each size of terminal shows."""

from functools import partial

import pytest
from msgspec.structs import replace
from textual.geometry import Size
from textual.widget import Widget

from chain.base.units import DAY
from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import (
    ALERTS,
    APPLIED,
    BUSY,
    GLANCE,
    MORNING,
    NOW,
    PLAN,
    POSITIONS,
    STATUS,
    ScriptedLink,
    desk_app,
    play,
    position,
    text_of,
)
from zuno_tui.desk.events import (
    AlertRaised,
    AlertsChanged,
    HelpAsked,
    HintChanged,
    PageReady,
    PlanChanged,
    PositionsChanged,
    QuitAsked,
    Said,
    StatusChanged,
    ViewAsked,
)
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Acknowledge,
    Cancel,
    DiffPlan,
    Inspect,
    MuteAlert,
    Recommend,
    Refresh,
    SetMarketClock,
    Show,
    SimulatePlan,
)
from zuno_tui.present.views import PositionRow
from zuno_tui.screen.panes.alerts import AlertsPane
from zuno_tui.screen.panes.plan import PlanPane
from zuno_tui.screen.panes.positions import PositionsPane
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.panes.selected import selected_lines
from zuno_tui.screen.screens.desk import DeskScreen
from zuno_tui.screen.screens.help import HelpScreen
from zuno_tui.screen.screens.page import PageScreen

ASKED: tuple[tuple[tuple[str, ...], Intent], ...] = (
    (("1", "enter"), Inspect(v4_position(7))),
    (("1", "j", "enter"), Inspect(v4_position(9))),
    (("1", "g", "down", "r"), Recommend(v4_position(9))),
    (("1", "G", "r"), Recommend(v4_position(26))),
    (("1", "g", "r"), Recommend(v4_position(7))),
    (("2", "space"), Acknowledge("1")),
    (("2", "j", "m"), MuteAlert("2", 3600)),
    (("2", "k", "M"), MuteAlert("1", 86_400)),
    (("4", "d"), DiffPlan(PLAN.plan_id, "A")),
    (("4", "right", "t"), SimulatePlan(PLAN.plan_id, "B")),
    (("b",), Show("outbox")),
    (("e",), Show("records")),
    (("p",), SetMarketClock("pause")),
    (("full_stop",), SetMarketClock("step")),
    (("plus",), SetMarketClock("faster")),
    (("minus",), SetMarketClock("slower")),
    (("ctrl+r",), Refresh()),
)
OFFERED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("1", "a"), "approve"),
    (("1", "c"), "collect 7"),
    (("2", "enter"), "recommend 9"),
    (("4", "enter"), "approve A"),
    (("4", "right", "right", "right", "enter"), "approve close"),
)


async def test_each_key_asks_for_one_thing_and_says_its_twin() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        for keys, asked in ASKED:
            link.intents.clear()
            await pilot.press(*keys)

            assert link.intents == [asked]
            assert asked.twin in text_of(pilot, "#said")


async def test_what_leads_to_money_is_only_put_in_the_prompt() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        prompt = pilot.app.screen.query_one(PromptPane)
        for keys, phrase in OFFERED:
            await pilot.press(*keys)
            assert (prompt.value, prompt.has_focus) == (phrase, True)
            await pilot.press("escape")

        assert link.intents == []
        assert link.confirmed == []


async def test_hold_has_nothing_to_approve() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("4", "left", "enter")
        await pilot.pause()

        assert pilot.app.screen.query_one(PromptPane).value == ""


async def test_keys_without_an_object_do_nothing() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, StatusChanged(replace(STATUS, market=None)))
        await pilot.press("r", "c", "a", "p", "full_stop", "plus", "minus", "ctrl+x", "enter")
        await pilot.press("2", "space", "m", "enter", "4", "enter", "d")
        await pilot.pause()

        assert link.intents == []
        assert pilot.app.screen.query_one(PromptPane).value == ""


async def test_work_under_way_can_be_cancelled_and_a_resting_market_resumed() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, StatusChanged(replace(BUSY, market_paused=True)))
        assert "^x cancel" in text_of(pilot, "#keys")
        await pilot.press("ctrl+x", "p")
        await pilot.pause()

        assert link.intents == [Cancel(), SetMarketClock("resume")]


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_focus_turns_through_all_panes_whether_in_sight_or_not(size: tuple[int, int]) -> None:
    async with desk_app().run_test(size=size) as pilot:
        seen = []
        for _ in range(5):
            assert pilot.app.focused is not None
            seen.append(pilot.app.focused.id)
            assert pilot.app.focused.region.height > 5
            await pilot.press("tab")
        assert seen == ["positions", "alerts", "debate", "plan", "positions"]
        await pilot.press("shift+tab", "3")
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "debate"


async def test_the_prompt_is_one_key_away_and_one_key_back() -> None:
    async with desk_app().run_test() as pilot:
        for key in ("colon", "slash", "i"):
            await pilot.press("4", key)
            assert isinstance(pilot.app.focused, PromptPane)
            await pilot.press("escape")
            assert pilot.app.focused is not None
            assert pilot.app.focused.id == "plan"


async def test_a_zoomed_pane_has_the_screen_to_itself() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        plan, alerts = (pilot.app.screen.query_one(name) for name in ("#plan", "#alerts"))
        narrow = plan.region.width
        await pilot.press("4", "z")
        await pilot.pause()
        assert plan.region.width == 120
        assert not alerts.is_on_screen

        await pilot.press("z")
        await pilot.pause()
        assert plan.region.width == narrow


async def test_resizing_keeps_the_focus_and_every_line_in_place() -> None:
    async with desk_app().run_test(size=(200, 50)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("4")
        for width, height in ((80, 24), (60, 15), (120, 36), (80, 50)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            plan = pilot.app.screen.query_one("#plan")
            assert plan.has_focus
            assert plan.is_on_screen
            assert pilot.app.screen.query_one("#keys").region.bottom == height
            assert pilot.app.screen.query_one("#status").region.bottom == height - 1


async def test_a_view_that_is_asked_for_comes_to_the_front() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, ViewAsked("debate"))

        assert pilot.app.screen.query_one("#debate").has_focus


async def test_the_tabs_of_a_narrow_terminal_tell_what_waits_out_of_sight() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING)
        assert "2 Alerts  5 open" in text_of(pilot, "#tabs")
        assert "4 Plan  ready" in text_of(pilot, "#tabs")

        await play(pilot, PlanChanged(APPLIED))
        assert "4 Plan  done" in text_of(pilot, "#tabs")


async def test_status_tells_whether_new_blocks_are_announced() -> None:
    told = []
    async with desk_app().run_test(size=(200, 50)) as pilot:
        for state in ("none", "live", "lost"):
            await play(pilot, StatusChanged(replace(BUSY, subscription=state)))
            told.append(text_of(pilot, "#status"))

    assert len(set(told)) == 3
    assert "polling" in told[2]


async def test_status_tells_the_work_the_trouble_the_market_and_the_mesh() -> None:
    meshed = replace(BUSY, mesh="axl: scout, critic", mesh_at=NOW - 4)
    async with desk_app().run_test(size=(200, 50)) as pilot:
        await play(pilot, StatusChanged(replace(meshed, trouble="the RPC is slow")))
        told = text_of(pilot, "#status")

        for words in (
            "the RPC is slow",
            "recommend 7: critic is judging, round 1",
            "devnet",
            "0xf39F…2266",
            "block 31,204,113 just now",
            "rules alone",
            "axl: scout, critic just now",
            "market ×60, calm",
        ):
            assert words in told


async def test_what_was_said_stays_literal_with_its_twin() -> None:
    async with desk_app().run_test() as pilot:
        await play(pilot, Said("[/] [bold]no[/bold] \x1b[31mred", "bad", "zuno positions"))

        assert text_of(pilot, "#said") == "✗ [/] [bold]no[/bold] [31mred   $ zuno positions"


async def test_help_belongs_to_what_has_the_focus() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("2", "question_mark")
        await pilot.pause()
        assert isinstance(pilot.app.screen, HelpScreen)
        told = text_of(pilot, "#help-left")
        assert "What the monitor found" in told
        assert "alerts.acknowledge" in told
        assert "debate.fold" not in told

        await pilot.press("escape")
        await play(pilot, HelpAsked("recommend"))
        assert "Ask the agents what to do" in text_of(pilot, "#help-left")


async def test_keys_can_be_given_to_others_by_their_ids() -> None:
    link = ScriptedLink()
    app = desk_app(link, keymap={"desk.recommend": "R", "move.down": "ctrl+n"})
    async with app.run_test(size=(140, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("r", "j", "ctrl+n", "R")
        await pilot.pause()

        assert link.intents == [Recommend(v4_position(9))]
        assert "R recommend" in text_of(pilot, "#keys")


async def test_leaving_is_asked_once_and_told_by_the_desk_at_once() -> None:
    async with desk_app().run_test() as pilot:
        await pilot.press("q", "escape")
        assert isinstance(pilot.app.screen, DeskScreen)
        await pilot.press("q", "enter")
        await pilot.pause()
        assert not pilot.app.is_running

    async with desk_app().run_test() as pilot:
        await play(pilot, QuitAsked())
        assert not pilot.app.is_running


async def test_only_a_critical_alert_rings_and_only_if_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    critical, warning, *_ = ALERTS.rows
    for bell, rung in ((True, 1), (False, 0)):
        app = desk_app(bell=bell)
        async with app.run_test() as pilot:
            written: list[str] = []
            assert app._driver is not None
            monkeypatch.setattr(app._driver, "write", written.append)
            monkeypatch.setattr(app, "bell", partial(written.append, "\x07"))
            hostile = replace(critical, message="out\x1b]52;c;ZXZpbA==\x07 of range")
            await play(pilot, AlertRaised(warning), AlertRaised(hostile))

            told = [text for text in written if text.startswith("\x1b]9;")]
            assert len(told) == rung
            assert all(text == "\x1b]9;zuno: #9 out]52;c;ZXZpbA== of range\x1b\\" for text in told)
            assert written.count("\x07") == rung


async def test_copying_reaches_the_terminal_by_osc_52(monkeypatch: pytest.MonkeyPatch) -> None:
    app = desk_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        copied: list[str] = []
        monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
        await pilot.press("y", "2", "y", "4", "y", "3", "y")
        await pilot.pause()

        assert copied[0] == "#7 WETH/USDC 0.05% $18,204.51"
        assert copied[1].startswith("#9 ETH/USDC is out of range")
        assert copied[2] == PLAN.plan_id
        assert copied[3].startswith("scout: The pool has been trending up")


async def test_ages_grow_in_coarse_steps_without_anything_being_told() -> None:
    app, clock = desk_app(), [NOW]
    app._clock = lambda: clock[0]
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, PositionsChanged(POSITIONS), AlertsChanged(ALERTS))
        positions = app.screen.query_one("#positions")
        assert "just now" in str(positions.border_title)
        clock[0] += 180
        assert isinstance(app.screen, DeskScreen)
        app.screen.show_ages()

        assert "3 min ago" in str(positions.border_title)


async def test_the_position_a_plan_has_made_is_pointed_at_once() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, PlanChanged(APPLIED))
        made = replace(POSITIONS, rows=(*POSITIONS.rows[1:], position(41)))
        await play(pilot, PositionsChanged(made))
        pane = pilot.app.screen.query_one(PositionsPane)
        assert pane.key == "41"

        await pilot.press("1", "g")
        await play(pilot, PositionsChanged(replace(made, block=31_204_119)))
        assert pane.key == "9"


async def test_an_alert_that_is_over_takes_the_cursor_along_only_for_its_reader() -> None:
    over = replace(ALERTS, rows=(*ALERTS.rows[1:], replace(ALERTS.rows[0], state="resolved")))
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, AlertsChanged(ALERTS), AlertsChanged(over))
        pane = pilot.app.screen.query_one(AlertsPane)
        assert pane.key == "2"

        await pilot.press("2")
        await play(pilot, AlertsChanged(ALERTS))
        assert pane.key == "2"


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 55)])
async def test_what_has_not_changed_is_not_drawn_again(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desk that is left alone sends nothing over the line."""
    async with desk_app().run_test(size=size) as pilot:
        await play(pilot, *MORNING)
        read_again = (StatusChanged, PositionsChanged, AlertsChanged, HintChanged)
        again = [event for event in MORNING if isinstance(event, read_again)]
        for _ in range(2):  # rows are shared out by what there is to show
            await play(pilot, *again)
        drawn: list[str] = []
        for pane in pilot.app.screen.query(".pane"):

            def refresh(*_: object, pane: Widget = pane, **__: object) -> Widget:
                drawn.append(str(pane.id))
                return pane

            monkeypatch.setattr(pane, "refresh", refresh)
        await play(pilot, *again)
        assert drawn == []


def test_the_chosen_positions_week_stands_for_its_gauge_where_there_is_room() -> None:
    row = POSITIONS.rows[0]
    assert row.chart is not None
    week = replace(row.chart, times=(0.0, 7.0 * DAY), prices=(1_800.0, 1_812.0))

    def drawn(row: PositionRow, height: int) -> str:
        return "\n".join(line.plain for line in selected_lines(row, Size(90, height)))

    assert "PRICE  7 d " in drawn(replace(row, week=week), 24)
    assert "PRICE  1 d " in drawn(row, 24)
    low = drawn(row, 8)
    assert "PRICE" not in low
    assert f"{row.low} ├" in low


async def test_the_positions_have_the_rows_that_nothing_below_needs() -> None:
    rows = tuple(position(number) for number in range(1, 15))
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, PositionsChanged(replace(POSITIONS, rows=rows)))
        plan = replace(
            PLAN, ref=v4_position(1), recommendation="Widen #1. Costs $4.10.", decided="By critic."
        )
        for told in (), (PlanChanged(plan), HintChanged("next")):
            await play(pilot, *told)
            await pilot.pause()
            table = pilot.app.screen.query_one(PositionsPane)
            assert table.rows_below == 0
        assert "Close" in text_of(pilot, "#card"), "the last option is in sight"
        many = tuple(position(number) for number in range(1, 60))
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=many)))
        await pilot.pause()
        assert table.rows_below > 0
        assert pilot.app.screen.query_one(PlanPane).max_scroll_y == 0


async def test_next_and_last_are_said_in_one_line_where_it_fits() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING, HintChanged("press a"), Said("Done", "good", "zuno collect 7"))
        assert text_of(pilot, "#said") == "→ press a   ✓ Done   $ zuno collect 7"
        await play(pilot, Said("Done " * 10, "good", "zuno collect 7"))
        assert "zuno collect" not in text_of(pilot, "#said")
        await play(pilot, Said("Refused " * 9, "bad", "zuno collect 7"))
        assert text_of(pilot, "#said").splitlines()[0] == "→ press a"


async def test_a_narrow_header_says_what_gained() -> None:
    glance = replace(GLANCE, beside="positions $90,000", day="+$3,042 in 24 h ($117 fees)")
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, PositionsChanged(replace(POSITIONS, glance=glance)))
        assert "positions +$3,042 in 24 h  to collect" in text_of(pilot, "#glance")


async def test_a_colon_on_a_page_leads_to_the_prompt_with_what_follows() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, PageReady("zuno outbox", ("Nothing waits.",)))
        await pilot.pause()
        assert isinstance(pilot.app.screen, PageScreen)
        await pilot.press("colon", *"alert")
        assert isinstance(pilot.app.screen, DeskScreen)
        assert pilot.app.screen.query_one(PromptPane).value == "alert"


async def test_an_ended_debate_gives_way_with_its_plan() -> None:
    assert APPLIED.result is not None
    gone = replace(APPLIED, ref=v4_position(99), result=replace(APPLIED.result, new_ref=None))
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, PlanChanged(gone))
        await pilot.press("1", "down")
        await pilot.pause()
        assert pilot.app.screen.query_one("#selected").display
        assert not pilot.app.screen.has_class("-debate-first")
