"""The tables: the cursor stays with its row, columns fit, and hundreds of rows stay light."""

from itertools import pairwise
from time import process_time

import pytest
from msgspec.structs import replace
from textual.geometry import Region

from chain.protocols.reference import v3_position, v4_position
from tests.zuno_tui.screen.scenes import (
    ALERTS,
    MORNING,
    NOW,
    POSITIONS,
    ScriptedLink,
    desk_app,
    play,
    position,
    text_of,
)
from zuno_tui.desk.events import AlertsChanged, OutageChanged, PositionsChanged
from zuno_tui.intents.intents import Acknowledge, Inspect
from zuno_tui.present.alert_words import alert_words
from zuno_tui.present.outage import OutageView
from zuno_tui.present.views import PositionsView
from zuno_tui.screen.kept_view import KeptView
from zuno_tui.screen.panes.alerts import AlertsPane, alert_cells, gather_rows
from zuno_tui.screen.panes.positions import PositionsPane
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.panes.row_table import ColumnPlace, RowTable, TableLayout
from zuno_tui.screen.screens.portfolio import widen

MANY = PositionsView(rows=tuple(position(each) for each in range(1, 501)), read_at=NOW)


def lines_of(table: RowTable) -> list[str]:
    return [table.render_line(y).text for y in range(table.scrollable_content_region.height)]


async def test_the_cursor_stays_with_its_position_while_the_rows_change() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(PositionsPane)
        await play(pilot, PositionsChanged(POSITIONS))
        await pilot.press("j", "j")
        assert pane.key == "12"

        await play(pilot, PositionsChanged(replace(POSITIONS, rows=POSITIONS.rows[::-1])))
        assert pane.key == "12"
        moved = replace(POSITIONS.rows[2], value="$4,999.99")
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=(position(2), moved))))
        assert pane.key == "12"
        assert "$4,999.99" in "".join(lines_of(pane))

        await play(pilot, PositionsChanged(replace(POSITIONS, rows=(position(2),))))
        assert pane.selection == position(2)
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=())))
        assert not pane.rows
        assert "This wallet holds no position here." in "".join(lines_of(pane))


async def test_of_many_rows_those_in_sight_are_built() -> None:
    rows = tuple(replace(position(2), ref=v4_position(1000 + each)) for each in range(500))
    wide = replace(rows[-1], value="$1,234,567.00")
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=(*rows[:-1], wide))))
        pane = pilot.app.screen.query_one(PositionsPane)
        assert len(pane.rows) == len(rows)
        assert len(pane._drawn_rows) < 100
        before = len(pane._drawn_rows)
        again = tuple(replace(row, fees="$77.77") for row in (*rows[:-1], wide))
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=again)))
        assert len(pane._drawn_rows) == before
        assert "$77.77" in "".join(lines_of(pane))
        await pilot.press("end")
        await pilot.pause()
        assert pane.key == str(wide.ref)
        assert wide.value in "".join(lines_of(pane)), "its column is as wide as it needs by now"


async def test_columns_come_with_the_width_and_stay_under_their_titles() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        pane = pilot.app.screen.query_one(PositionsPane)
        titles: list[list[str]] = []
        for width in (50, 80, 100, 120, 160, 179, 180, 200):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            head, first, second, *_ = lines_of(pane)
            titles.append(head.split())
            assert head.index("STATE") == first.index("▲ near edge") == second.index("✗ out")
        assert titles[0] == ["ID▼", "PAIR", "STATE", "RANGE"]
        assert titles[1][4:] == ["VALUE", "COLLECT", "VS", "HOLD"]
        for narrower, wider in pairwise(titles):
            assert {*narrower} <= {*wider}, "no column goes while the terminal grows"
        day = ("APR", "24H", "VS", "HOLD", "NET", "24H", "PRICE", "24H")
        assert titles[-1][4:] == ["VALUE", "COLLECT", *day, "PRICE", "FROM", "–", "TO", "NOTES"]


async def test_rows_are_sorted_filtered_and_hidden() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        pane = pilot.app.screen.query_one(PositionsPane)

        def ids() -> list[str]:
            return [row.key for row in pane.rows]

        assert ids() == ["7", "9", "12", "15", "21", "26"]
        await pilot.press("o")
        assert ids() == ["9", "7", "12", "15", "21", "26"], "what needs somebody first"
        await pilot.press("o")
        assert ids() == ["15", "7", "9", "12", "26", "21"], "by value, the unknown last"
        await pilot.press("o", "o", "o")
        assert ids()[0] == "7", "by result, the best first"
        await pilot.press("h")
        assert "26" not in ids()
        await pilot.press("o", "h", "slash", *"weth", "space", *"out", "enter")
        kept = pane.keep("alerts")
        assert kept == KeptView("alerts", "by number", "weth out")
        assert ids() == ["9"]
        assert pilot.app.focused is pane
        await pilot.press("slash", "escape")
        assert len(ids()) == 6
        assert pilot.app.focused is pane
        head = lines_of(pane)[0]
        await pilot.click(pane, offset=(head.index("VALUE") + 3, 1))
        assert ids()[0] == "15"
        assert "VALUE▼" in lines_of(pane)[0], "a click on a head sorts, and a mark says so"
    async with desk_app(kept=kept).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        pane = pilot.app.screen.query_one(PositionsPane)
        assert [row.key for row in pane.rows] == ["9"], "as it was left"
        assert isinstance(pilot.app.focused, AlertsPane)


async def test_rows_and_keys_can_be_clicked() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        pane = pilot.app.screen.query_one(PositionsPane)
        await pilot.click(pane, offset=(10, 4))
        assert pane.key == "12"
        await pilot.click(pane, offset=(10, 4), times=2)
        await pilot.pause()
        assert link.intents == [Inspect(v4_position(12))]
        keys = text_of(pilot, "#keys")
        await pilot.click("#keys", offset=(keys.index("sort") + 2, 0))
        await pilot.pause()
        assert pane.rows[0].key == "9"


async def test_fees_are_one_row_that_acts_for_all_of_them() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        pane = pilot.app.screen.query_one(AlertsPane)
        lines = "\n".join(lines_of(pane))
        assert [row.key for row in pane.rows] == ["1", "2", "3", "fees"]
        assert "Worth collecting on 3, $43" in lines
        await pilot.press("2", "G", "space")
        assert link.intents == [Acknowledge("4"), Acknowledge("5"), Acknowledge("6")]
        await pilot.press("enter")
        assert pilot.app.screen.query_one(PromptPane).value == "collect 15 7 21"


async def test_a_narrow_pane_tells_an_alert_in_a_line_and_its_command_below() -> None:
    first, second = (
        replace(
            row,
            since=NOW - 60,
            ref=v4_position(place),
            kind=kind,
            next_command=f"do {place}",
        )
        for row, place, kind in zip(
            ALERTS.rows, (9, 7), ("out_of_range", "near_boundary"), strict=False
        )
    )
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(AlertsPane)
        await play(pilot, *MORNING, AlertsChanged(replace(ALERTS, rows=(first, second))))
        await pilot.press("2")
        _, *shown = (line.strip() for line in lines_of(pane)[:3])
        assert [line.split("#")[1].split(maxsplit=1)[1] for line in shown] == [
            *("Out, above 1,980.77", "Near upper edge 1,980.77")
        ]
        assert "→ do 9" in str(pane.border_subtitle)
        await pilot.press("j")
        assert "→ do 7" in str(pane.border_subtitle)

        long = replace(second, kind="", message=f"#7 {'told at great length ' * 2}.")
        await play(pilot, AlertsChanged(replace(ALERTS, rows=(first, long))))
        assert "NEXT" in lines_of(pane)[0], "what would be cut stands below its row"
        assert "Told at great length" in " ".join(lines_of(pane))


async def test_results_that_are_older_than_the_rest_say_so() -> None:
    told = next(one for one in MORNING if isinstance(one, PositionsChanged))
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(PositionsPane)
        for seconds, older in ((10, False), (600, True)):
            view = replace(told.view, read_at=NOW, results_at=NOW - seconds, remembered=False)
            await play(pilot, PositionsChanged(view))
            assert ("APR, NET 10 min ago" in str(pane.border_title)) is older
            assert "~" not in "".join(lines_of(pane))
        first, *others = view.rows
        marked = replace(first, against_holding_old=True)
        await play(pilot, PositionsChanged(replace(view, rows=(marked, *others))))
        assert "~ VS HOLD, APR, NET 10 min ago" in str(pane.border_title)
        (line,) = [line for line in lines_of(pane) if "~" in line]
        assert f"~{first.against_holding}" in line, "the figure itself is marked"


async def test_an_alert_about_fees_tells_what_waits_by_the_last_read() -> None:
    told = next(one for one in MORNING if isinstance(one, PositionsChanged))
    waiting = [row for row in told.view.rows if row.fees_worth][:2]
    info = replace(ALERTS.rows[1], severity="info", state="open", place="")
    alerts = tuple(
        replace(
            info,
            alert_id=str(place),
            ref=row.ref,
            fees=50.0,
            kind="fees_worth_collecting",
            numbers={"gasUsd": 50.0},
        )
        for place, row in enumerate(waiting)
    )
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(AlertsPane)
        await play(pilot, AlertsChanged(replace(ALERTS, rows=alerts)))
        assert "Worth collecting on 2, $100" in " ".join(lines_of(pane))
        rows = [replace(row, fees="$60.00", fees_worth=60.0) for row in waiting]
        await play(pilot, PositionsChanged(replace(told.view, rows=tuple(rows))))
        assert "Worth collecting on 2, $120" in " ".join(lines_of(pane))
        await play(pilot, AlertsChanged(replace(ALERTS, rows=alerts[:1])))
        assert "$60.00 to collect" in " ".join(lines_of(pane))


def test_much_money_to_collect_comes_before_warnings_and_after_what_is_critical() -> None:
    critical, warning = ALERTS.rows[:2]
    assert (critical.severity, warning.severity) == ("critical", "warning")
    little, much = (
        replace(
            warning, alert_id=name, severity="info", ref=v3_position(4), fees=fees, waiting=fees
        )
        for name, fees in (("little", 106.46), ("much", 4_861.93))
    )
    withdrawn = replace(much, alert_id="withdrawn", fees=None, waiting=9_000.0)
    both = gather_rows((critical, warning, little, much), NOW)
    alone = [gather_rows((critical, warning, fees), NOW) for fees in (little, much)]
    first, then = critical.alert_id, warning.alert_id
    assert [row.alert_id for row in both] == [first, "fees", then]
    assert [[row.alert_id for row in rows] for rows in alone] == [
        [first, then, "little"],
        [first, "much", then],
    ]
    # What was taken out of a range and waits is as much money as fees are.
    every = gather_rows((critical, warning, much, withdrawn), NOW)
    assert [row.alert_id for row in every] == [first, "withdrawn", "much", then]
    assert "$ collect" in [cell.text for cell in alert_cells(withdrawn, NOW, "").cells]


async def test_rows_out_of_sight_are_counted_in_the_frame() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING)
        pane = pilot.app.screen.query_one(PositionsPane)
        await pilot.press("z")
        await pilot.pause()
        assert "more" not in str(pane.border_subtitle)
        await pilot.press("z")
        await pilot.resize_terminal(80, 19)
        await pilot.pause()
        hidden = pane.rows_below
        assert hidden > 0
        assert f"▼ {hidden} more" in str(pane.border_subtitle)
        await pilot.press("G")
        await pilot.pause()
        assert "more" not in str(pane.border_subtitle)


def test_an_alert_begins_with_what_differs() -> None:
    out = replace(
        ALERTS.rows[0], kind="out_of_range", message="#9 ETH/USDC is out of range: 1,700, below."
    )
    [shown] = gather_rows((out,), NOW)
    assert shown == out, "one alone stays as it is"
    held = next(row for row in POSITIONS.rows if row.ref == out.ref)
    side = f"below {held.low}" if held.progress < 0.5 else f"above {held.high}"
    for severity, begins in (("warning", "Just out"), ("critical", "Out")):
        told = alert_words(replace(out, severity=severity), held)
        assert told == (f"{begins}: {held.price}, {side}", f"Out, {side}"), "as it is now"
    assert alert_words(out, None).words == "ETH/USDC is out of range: 1,700, below"
    fees = replace(ALERTS.rows[2], kind="fees_worth_collecting", numbers={"gasUsd": 0.4})
    assert alert_words(fees, None).words == "$12.00 to collect, costs $0.40"
    in_ether = replace(held, ref=fees.ref, fees="0.0039 Ξ")
    assert alert_words(fees, in_ether).words == "0.0039 Ξ to collect", "one unit"
    assert alert_words(replace(fees, place="base"), None).words.startswith("base: $12.00")


async def test_stale_and_remembered_rows_say_so_and_why() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(PositionsPane)
        old = replace(POSITIONS, read_at=NOW - 700)
        await play(pilot, PositionsChanged(replace(old, stale="the RPC does not answer")))
        assert "not updated" in str(pane.border_subtitle)
        assert all(row.stale for row in pane.rows)

        await play(pilot, PositionsChanged(replace(old, remembered=True)))
        assert "remembered, 10 min ago" in str(pane.border_title)
        assert all(row.stale for row in pane.rows)

        await play(pilot, PositionsChanged(POSITIONS))
        assert not any(row.stale for row in pane.rows)


async def test_five_hundred_rows_scroll_under_the_cursor_and_refresh_within_a_blink() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(PositionsPane)
        await play(pilot, PositionsChanged(MANY))
        await pilot.press("G")
        await pilot.pause()
        assert "#500" in lines_of(pane)[-1]
        await pilot.press("g", "pagedown")
        await pilot.pause()
        assert any(f"#{pane.key} " in line for line in lines_of(pane))

        moved = replace(MANY, rows=tuple(replace(row, value="$1.00") for row in MANY.rows))
        began = process_time()
        pane.show(moved, NOW)
        # Whatever the machine: far from a redraw of every cell, which takes a second.
        assert process_time() - began < 0.5


async def test_hostile_words_in_a_cell_stay_in_their_cell() -> None:
    evil = "USDC\x1b7\x1b[2;1Hrecipient: 0xEVIL\x1b8[/][@click=app.quit]x"
    async with desk_app().run_test(size=(200, 50)) as pilot:
        pane = pilot.app.screen.query_one(PositionsPane)
        rows = (replace(position(1, notes=(evil,)), pair=evil, value=evil), position(2))
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=rows, total=evil, found=evil)))
        await play(pilot, PositionsChanged(replace(POSITIONS, rows=rows, stale=evil)))
        await play(pilot, OutageChanged(OutageView(evil, evil, evil, since=NOW)))
        alert = replace(ALERTS.rows[0], message=evil, next_command=evil)
        await play(pilot, AlertsChanged(replace(ALERTS, rows=(alert,), trouble=evil)))

        head, first, second, *_ = lines_of(pane)
        assert "\x1b" not in first
        assert head.index("STATE") == first.index("● in") == second.index("● in")


async def test_the_whole_message_of_an_alert_is_told_while_its_row_is_pointed_at() -> None:
    long = "A message " + "that goes on and on " * 8 + "to its end"
    rows = (ALERTS.rows[0], replace(ALERTS.rows[1], message=long))
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, AlertsChanged(replace(ALERTS, rows=rows)))
        await pilot.press("2", "j")
        await pilot.pause()

        assert "to its end" in str(pilot.app.screen.query_one("#said").content)  # type: ignore[attr-defined]


async def test_an_age_that_grew_redraws_the_line_it_stands_in_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(PositionsPane)
        await play(pilot, PositionsChanged(POSITIONS))
        drawn: list[tuple[Region, ...]] = []
        with monkeypatch.context() as patched:
            patched.setattr(pane, "refresh", lambda *regions: drawn.append(regions))
            pane.show_age(NOW)
            assert drawn == []
            pane.show_age(NOW + 600)

        # The first line, its border: one above the content.
        assert drawn == [(Region(-1, -1, pane.outer_size.width, 1),)]


async def test_an_alert_that_grew_older_redraws_its_age_and_nothing_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *young, old = (replace(row, since=NOW) for row in ALERTS.rows[:3])
    rows = (*young, replace(old, since=NOW - 7_200))
    async with desk_app().run_test(size=(76, 36)) as pilot:
        await pilot.press("2")
        pane = pilot.app.screen.query_one(AlertsPane)
        await play(pilot, AlertsChanged(replace(ALERTS, rows=rows)))
        at = lines_of(pane)[0].rindex("AGE") - len("<1 min") + len("AGE")
        drawn: list[Region] = []
        with monkeypatch.context() as patched:
            patched.setattr(pane, "refresh", lambda *regions: drawn.extend(regions))
            pane.show_age(NOW + 59)
            pane.show_age(NOW + 60)

    within = [region for region in drawn if region.y >= 0 and region.height == 1]
    cells = [region for region in within if region.width == len("<1 min")]
    lines = range(1, 2 * len(young) + 1)
    assert cells == [Region(at, y, len("<1 min"), 1) for y in lines[::2]], "each has two lines"
    assert [region for region in drawn if region.y in lines] == cells


async def test_a_scroll_bar_takes_no_letter_of_the_last_column() -> None:
    alert = ALERTS.rows[0]
    rows = tuple(
        replace(
            alert,
            alert_id=str(each),
            ref=v4_position(each),
            next_command=f"recommend {each}",
            since=alert.since - 3_600 * (each - 100),
        )
        for each in range(100, 140)
    )
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, AlertsChanged(replace(ALERTS, rows=rows)))
        await pilot.press("2")
        await pilot.pause()
        pane = pilot.app.screen.query_one(AlertsPane)
        assert pane.show_vertical_scrollbar
        _, first, *_ = lines_of(pane)

        assert first.rstrip().endswith("2 h")
        assert "recommend 100" in first


def test_a_table_spread_over_its_room_ends_at_its_edge() -> None:
    narrow = TableLayout((ColumnPlace(0, 10, right=False), ColumnPlace(2, 6, right=True)), gap=1)
    assert widen(narrow, 17) == narrow
    for room in (18, 19, 40):
        first, last = widen(narrow, room).places
        assert first.width + widen(narrow, room).gap + last.width == room
    several = TableLayout(tuple(ColumnPlace(at, 5, right=True) for at in range(4)), gap=1)
    wide = widen(several, 61)
    assert sum(place.width for place in wide.places) + 3 * wide.gap == 61
    assert [place.width for place in wide.places[1:]] == [5, 5, 5]


async def test_ages_a_few_seconds_apart_are_said_once_however_time_passes() -> None:
    rows = tuple(replace(row, since=NOW - 4 * at) for at, row in enumerate(ALERTS.rows[:3]))
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(AlertsPane)
        await play(pilot, AlertsChanged(replace(ALERTS, rows=rows)))
        titles = []
        for seconds in range(30, 150, 4):
            pane.show_age(NOW + seconds)
            assert "AGE" not in lines_of(pane)[0]
            titles.append(str(pane.border_title))

    assert all("all " in title for title in titles)
    assert all(any(f"all {age}" in title for title in titles) for age in ("1 min", "2 min"))


async def test_one_age_of_all_alerts_is_said_once() -> None:
    rows = tuple(replace(row, since=NOW - 60) for row in ALERTS.rows[:3])
    async with desk_app().run_test(size=(120, 36)) as pilot:
        pane = pilot.app.screen.query_one(AlertsPane)
        await play(pilot, AlertsChanged(replace(ALERTS, rows=rows)))

        assert "AGE" not in lines_of(pane)[0]
        assert "all 1 min" in str(pane.border_title)
