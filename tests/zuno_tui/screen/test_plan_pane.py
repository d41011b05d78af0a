"""The plan card, in any width: approval, progress, result; commands of one sentence in turn."""

from typing import cast

from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content
from textual.screen import Screen

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import (
    ALERTS,
    APPLIED,
    APPLYING,
    APPROVAL,
    APPROVED,
    MORNING,
    NOW,
    PLAN,
    ScriptedLink,
    desk_app,
    option,
    play,
    text_of,
)
from tests.zuno_tui.screen.visit_scenes import DETAIL
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import DetailReady, PlanChanged
from zuno_tui.intents.intents import ShowAlert
from zuno_tui.present.views import PlanView
from zuno_tui.screen.panes.alerts import gather_rows
from zuno_tui.screen.panes.plan import PlanPane, compact, comparison, elsewhere, next_step
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.screens.active_keys import active_keys


def _lines(plan: PlanView, chosen: int, width: int) -> list[str]:
    return [line.plain for line in comparison(plan, chosen, width, whole=True)]


def test_every_option_stands_beside_the_others_where_there_is_room() -> None:
    lines = _lines(PLAN, 1, 90)
    head = next(line for line in lines if "Close" in line)

    assert head.split() == ["Keep", "★", "A", "widen", "B", "tighten", "C", "shift", "Close"]
    assert all(len(line) <= 90 for line in lines)
    for label in ("stays 24 h", "stays 7 d", *PLAN.options[0].figures):
        assert any(line.startswith(label) for line in lines)


def test_a_narrow_card_shows_the_chosen_option_and_its_neighbours() -> None:
    for width in range(24, 60):
        for chosen, one in enumerate(PLAN.options):
            lines = _lines(PLAN, chosen, width)
            head = next(line for line in lines if "of 5" in line)
            assert one.name in head
            assert max(len(line) for line in lines) <= width


def test_the_price_runs_through_all_ranges_at_one_place() -> None:
    pictures = [line for line in _lines(PLAN, 1, 60) if "├" in line or "┤" in line]

    assert len(pictures) == 4
    assert len({line.index("●") for line in pictures}) == 1
    starts = [line.index("├") for line in pictures]
    # hold begins between the wide move and the narrow one, as its lower edge does.
    assert starts[1] < starts[0] < starts[2] < starts[3]


def test_a_plan_of_strange_ranges_still_draws() -> None:
    for edges in ((-887_272, 887_272), (100, 200), (-200, -100), (0, 60), (-60, 0)):
        plan = replace(PLAN, options=(option("keep", None, edges), PLAN.options[2]))
        lines = _lines(plan, 0, 60)
        assert max(len(line) for line in lines) <= 60
        outside = not edges[0] <= 0 < edges[1]
        assert ("○" in lines[0]) is outside
    alone = replace(PLAN, options=(option("exit", "exit", None),))
    assert "├" not in "".join(_lines(alone, 0, 60))
    assert _lines(replace(PLAN, options=()), 0, 60) == []


def test_a_low_pane_has_a_line_an_option_with_the_figure_that_decided() -> None:
    plan = replace(PLAN, decides="lasts (95%)")
    for width in range(40, 130):
        lines = [line.plain for line in compact(plan, 1, width)]
        assert all(cell_len(line) <= width for line in lines)
        if not lines:
            assert width < 60, "what does not fit is told as a card"
            continue
        head, *rows = lines
        assert [title in head for title in ("net next 7 d", "cost", "lasts (95%)")] == [True] * 3
        assert [row.split("  ")[0] for row in rows] == [
            *("Keep", "★ A widen", "B tighten", "C shift", "Close")
        ]
        assert ("├" in rows[0]) >= ("judged" in head), "a range says more than a word"
        assert len({row.index("●") for row in rows[:4] if "●" in row}) <= 1


def test_the_row_that_decided_is_named() -> None:
    for name in ("net next 7 d", "cost", "lasts (95%)"):
        lines = [line.plain for line in comparison(replace(PLAN, decides=name), 1, 110)]
        assert [line.startswith(f"{name} ◂") for line in lines if "◂" in line] == [True]
    assert not any("◂" in line.plain for line in comparison(PLAN, 1, 110))


def test_the_price_of_now_stands_over_the_ranges() -> None:
    lines = [line.plain for line in comparison(replace(PLAN, price="1,812.1"), 1, 110)]
    without = [line.plain for line in comparison(PLAN, 1, 110)]

    assert lines[1:] == without
    named = lines[0].index("1,812.1") + len("1,812.1") // 2
    assert {line[named] for line in without[: len(PLAN.options) - 1]} <= {"●", "○", "│"}


def test_words_of_others_stay_words() -> None:
    evil = "[bold]x[/]\x1b[2J"
    plan = replace(PLAN, options=(replace(PLAN.options[0], name=evil, low=evil),))
    told = Content("\n").join(comparison(plan, 0, 60)).plain

    assert "\x1b" not in told
    assert "[bold]x[/][2J" in told


async def test_the_card_follows_the_plan_from_choice_to_result() -> None:
    async with desk_app().run_test(size=(120, 50)) as pilot:
        assert "No plan yet" in text_of(pilot, "#card")
        await play(pilot, PlanChanged(PLAN))
        told = text_of(pilot, "#card")
        assert told.startswith("★ Widen #7")
        told = " ".join(told.split())
        assert "gains $18.16 over HOLD in 7 days" in told
        assert all(label in told for label in PLAN.options[0].figures), "there is room"
        await pilot.press("4", "w")
        told = text_of(pilot, "#card")
        assert "swaps" not in told
        assert "gains" not in told
        await pilot.press("w")
        assert "swaps" in text_of(pilot, "#card")
        await pilot.press("w")

        await play(pilot, PlanChanged(APPROVED))
        told = text_of(pilot, "#card")
        assert told.startswith("APPROVED  rebalance #7")
        for words in ("4 TRANSACTIONS", "○ 1 close #7", "you give", "total cost", "14:22:20 UTC"):
            assert words in told
        assert APPROVAL.hash not in "".join(told.split()), "every byte stands where it is signed"
        assert "Nothing is signed yet." in told

        await play(pilot, PlanChanged(APPLYING))
        told = text_of(pilot, "#card")
        assert told.startswith("APPLYING  rebalance #7")
        assert "1 OF 4 DONE" in told, "nothing is done before a block holds it"
        assert "".join(letter for letter in told if letter in "✓⟳○") == "✓⟳○○"
        assert told.splitlines()[2].endswith("block 31,204,118")
        assert "Nothing is signed yet." not in told

        await play(pilot, PlanChanged(APPLIED))
        told = text_of(pilot, "#card")
        assert told.startswith("Done · #7 is now #41")
        assert "https://explorer.test/tx/0x5151" in "".join(told.split())
        await play(pilot, PlanChanged(None))
        assert "No plan yet" in text_of(pilot, "#card")


async def test_a_card_tells_no_more_than_is_seen_without_scrolling() -> None:
    told: list[tuple[bool, bool]] = []
    async with desk_app().run_test(size=(120, 24)) as pilot:
        await play(pilot, PlanChanged(PLAN))
        for height in range(24, 56, 3):
            await pilot.resize_terminal(120, height)
            await pilot.pause()
            words = text_of(pilot, "#card")
            told.append(("WHY" in words, "swaps" in words))
            pane = pilot.app.screen.query_one(PlanPane)
            assert told[-1] == (False, False) or not pane.max_scroll_y
    every_figure = [figures for _, figures in told]
    assert every_figure == sorted(every_figure), "more, as there is more room"
    assert {*told} == {(False, False), (True, False), (True, True)}


async def test_the_keys_walk_the_options_from_the_advised_one_and_stop_at_the_ends() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, PlanChanged(PLAN))
        pane = pilot.app.screen.query_one(PlanPane)
        seen = []
        for key in ("4", "left", "h", "right", "l", "l", "l", "l"):
            await pilot.press(key)
            assert pane.option is not None
            seen.append(pane.option.name)
        assert seen == [
            "A widen",
            "Keep",
            "Keep",
            "A widen",
            "B tighten",
            "C shift",
            "Close",
            "Close",
        ]
        # An approval of the same plan leaves the keys where they are.
        await play(pilot, PlanChanged(APPROVED))
        assert pane.option == PLAN.options[-1]


def test_the_border_says_the_next_step() -> None:
    watching = replace(PLAN, approval=replace(APPROVAL, can_sign=False))

    hold = replace(PLAN.options[0], recommended=True)
    moves = [replace(option, recommended=False) for option in PLAN.options[1:]]

    assert next_step(PLAN) == "a: approve"
    assert next_step(replace(PLAN, options=(hold, *moves))) == "Keep it: nothing to sign"
    assert next_step(APPROVED) == "approved · e rehearses"
    assert next_step(watching) == "approved, but nothing here can sign"
    assert next_step(APPLYING) == "applying"
    assert APPLIED.result is not None
    halted = replace(APPLIED, result=replace(APPLIED.result, state="halted", done=False))
    # Never a word that is kinder than what happened.
    assert next_step(APPLIED) == "done"
    assert next_step(halted) == "halted"


def test_seven_rows_are_told_at_first() -> None:
    lines = [line.plain for line in comparison(PLAN, 1, 130)]
    table = lines[lines.index("") + 2 :]

    assert [line[:12].strip() for line in table] == [
        *("stays 24 h", "net next 7 d", "over Keep", "cost", "earned back", "lasts (95%)")
    ]


async def test_the_card_says_that_it_is_of_another_position_than_the_one_under_the_cursor() -> None:
    async with desk_app().run_test(size=(120, 40)) as pilot:
        await play(pilot, *MORNING)
        assert "Plan for #7. You are on" not in text_of(pilot, "#card")
        await pilot.press("j")
        assert text_of(pilot, "#card").startswith("▲ Plan for #7. You are on #9")
        await pilot.press("k")
        assert "the cursor is on" not in text_of(pilot, "#card")


def test_a_plan_for_several_is_called_by_all_of_them() -> None:
    first, second, third, other = map(v4_position, (26, 27, 28, 30))
    several = replace(PLAN, ref=first, others=(second, third))

    assert elsewhere(several, second) == ""
    assert elsewhere(several, other).startswith("Plan for #26 and 2 more. You are on #30")
    assert elsewhere(replace(PLAN, ref=first), other).startswith("Plan for #26. ")


async def test_what_would_be_approved_is_named_before_it_is() -> None:
    async with desk_app().run_test(size=(120, 40)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("a")
        assert pilot.app.screen.query_one(PromptPane).value == "approve"
        assert "A widen #7." in text_of(pilot, "#said")


async def test_nobody_is_asked_to_approve_that_nothing_is_done() -> None:
    hold = replace(PLAN.options[0], recommended=True)
    moves = [replace(option, recommended=False) for option in PLAN.options[1:]]
    async with desk_app().run_test(size=(120, 40)) as pilot:
        await play(pilot, *MORNING, PlanChanged(replace(PLAN, options=(hold, *moves))))
        await pilot.press("a")
        assert pilot.app.screen.query_one(PromptPane).value == ""


async def test_a_long_card_is_scrolled_from_the_prompt() -> None:
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING, PlanChanged(APPROVED))
        await pilot.press("4", "colon", "pagedown")
        await pilot.pause()
        pane, prompt = pilot.app.screen.query_one(PlanPane), pilot.app.screen.query_one(PromptPane)
        assert pane.scroll_y > 0
        assert prompt.has_focus
        await pilot.press("pageup")
        await pilot.pause()
        assert pane.scroll_y == 0


async def test_where_not_every_reason_fits_the_first_ones_are_told() -> None:
    reasons = tuple(f"Reason {number} says a thing." for number in range(60))
    async with desk_app().run_test(size=(120, 40)) as pilot:
        await play(pilot, PlanChanged(replace(PLAN, reasons=reasons)))
        await pilot.press("4", "z")
        await pilot.pause()
        told = text_of(pilot, "#card")
        border = str(pilot.app.screen.query_one(PlanPane).border_subtitle)

    assert "WHY" in told
    assert "Reason 1 says a thing." in told
    assert "Reason 59 says a thing." not in told
    assert "all reasons and" in border


async def test_collecting_all_is_one_plan() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *"collect all", "enter")
        await pilot.pause()

    assert link.intents == [CollectFees(("all",))]


async def test_of_several_commands_the_next_is_offered_when_one_is_done() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        prompt = pilot.app.screen.query_one(PromptPane)
        await pilot.press("colon", *"reduce all by 25%", "enter")
        await pilot.pause()
        first = prompt.value
        await pilot.press("enter")
        await pilot.pause()
        await play(pilot, PlanChanged(replace(APPLIED, plan_id="decrease_1")))

        [asked] = link.intents
        assert asked.title == first.removesuffix("%")
        assert prompt.value.startswith("decrease ")
        assert prompt.value != first
        assert f"Next: {prompt.value}. Press Enter to run." in text_of(pilot, "#said")


async def test_another_command_ends_the_row() -> None:
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        prompt = pilot.app.screen.query_one(PromptPane)
        await pilot.press("colon", *"reduce all by 25%", "enter")
        await pilot.pause()
        prompt.value = "positions"
        await pilot.press("enter")
        await pilot.pause()
        await play(pilot, PlanChanged(replace(APPLIED, plan_id="decrease_1")))

        assert prompt.value == ""


async def test_a_strangers_position_says_so_and_offers_no_action() -> None:
    app = desk_app(ScriptedLink())
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, DetailReady(replace(DETAIL, owned_by="0x6330")))
        await pilot.pause()

        assert "Not yours: 0x6330 owns it." in text_of(pilot, "#figures")
        offered = {key.label for key in active_keys(cast("Screen[None]", app.screen))}
        assert not offered & {"recommend", "collect…", "compound…", "close…", "range"}


async def test_a_plan_that_keeps_offers_no_approval() -> None:
    app = desk_app(ScriptedLink())
    async with app.run_test(size=(120, 36)) as pilot:
        options = tuple(replace(one, recommended=one.name == "Keep") for one in PLAN.options)
        await play(pilot, *MORNING, PlanChanged(replace(PLAN, options=options)))

        assert "approve…" not in {
            key.label for key in active_keys(cast("Screen[None]", app.screen))
        }


def test_alerts_that_are_over_share_one_row_below_those_that_wait() -> None:
    over = [replace(row, state="resolved") for row in ALERTS.rows[:2]]
    rows = gather_rows((*over, *ALERTS.rows[2:]), NOW)

    assert [row.alert_id for row in rows if row.state == "resolved"] == [rows[-1].alert_id]
    assert rows[-1].members == tuple(row.alert_id for row in over)
    assert rows[-1].message.startswith("2 resolved: #")


async def test_an_alert_opens_by_its_number_and_by_a_key() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("colon", *f"alert {ALERTS.rows[0].alert_id}", "enter")
        await pilot.pause()
        await pilot.press("2", "o")
        await pilot.pause()

    assert link.intents == [ShowAlert(ALERTS.rows[0].alert_id)] * 2


async def test_a_plan_that_is_done_gives_way_to_another_position() -> None:
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING, PlanChanged(APPLIED))
        await pilot.press("1", "g")
        await pilot.pause()
        assert pilot.app.screen.has_class("-planned")
        await pilot.press("j", "j")
        await pilot.pause()
        assert not pilot.app.screen.has_class("-planned")
