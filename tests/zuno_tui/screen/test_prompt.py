"""The prompt as hands find it: completion, history, pastes, and what it passes on."""

from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.pilot import Pilot

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import APPROVED, POSITIONS, ScriptedLink, desk_app, play
from zuno_tui.commands.position_actions import DecreasePosition
from zuno_tui.desk.events import PhraseProposed, PlanChanged, PositionsChanged
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Apply,
    Approve,
    ChangeSetting,
    Help,
    Inspect,
    Recommend,
    SayPhrase,
)
from zuno_tui.screen.panes.prompt import Offers, PromptPane
from zuno_tui.screen.panes.text import MessageLine
from zuno_tui.screen.prompt_history import MOST_KEPT, PhraseHistory, open_history

KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"


def _prompt(pilot: Pilot[None]) -> PromptPane:
    return pilot.app.screen.query_one(PromptPane)


def _said(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one(MessageLine).content)


async def _paste(pilot: Pilot[None], text: str) -> None:
    _prompt(pilot).post_message(Paste(text))
    await pilot.pause()


async def test_a_phrase_is_asked_with_its_twin_on_the_screen() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await pilot.press("colon", *"inspect", "space", "9", "enter")
        await pilot.pause()

        assert link.intents == [Inspect(v4_position(9))]
        assert "zuno inspect 9" in _said(pilot)
        assert _prompt(pilot).value == ""


async def test_escape_clears_the_line_and_up_brings_back_what_was_typed() -> None:
    async with desk_app().run_test() as pilot:
        _prompt(pilot).offer("recommend 9")
        _prompt(pilot).focus()
        await pilot.press("escape", "colon", *"price")
        assert _prompt(pilot).value == "price"

        await pilot.press("escape", "colon")
        assert not _prompt(pilot).value
        await pilot.press("up")
        assert _prompt(pilot).value == "price", "what was offered and never typed is not there"


async def test_tab_takes_what_is_offered() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        await pilot.press("colon", *"rec")
        await pilot.pause()
        offers = pilot.app.screen.query_one(Offers)
        assert offers.display
        assert "ask the agents what to do" in str(offers.content)

        await pilot.press("tab", "space", "tab", "enter")
        await pilot.pause()

        assert link.intents == [Recommend(v4_position(7))]
        assert not offers.display


@pytest.mark.parametrize(
    ("model_says", "prompt"),
    [
        ("inspect 7", "inspect 7"),
        ("close 7", "wie geht es sieben"),
        ("apply", "wie geht es sieben"),
        ("make me rich", "wie geht es sieben"),
    ],
)
async def test_a_model_may_put_a_look_into_the_prompt_and_nothing_runs(
    model_says: str, prompt: str
) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        pilot.app.screen.post_message(PromptPane.Submitted("wie geht es sieben"))
        await pilot.pause()
        assert link.intents == [SayPhrase("wie geht es sieben")]

        await play(pilot, PhraseProposed("wie geht es sieben", model_says))

        assert _prompt(pilot).value == prompt
        assert len(link.intents) == 1


async def test_a_model_that_is_late_changes_nothing_that_was_typed_since() -> None:
    async with desk_app().run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        await pilot.press("colon", *"gas")

        await play(pilot, PhraseProposed("wie geht es sieben", "inspect 7"))

        assert _prompt(pilot).value == "gas"


async def test_what_is_not_understood_asks_nothing() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await pilot.press("colon", *"aply", "enter")
        await pilot.pause()

        assert link.intents == []
        assert "typed exactly" in _said(pilot)


async def test_a_question_mark_in_an_empty_prompt_is_the_question_for_help() -> None:
    link, history = ScriptedLink(), PhraseHistory()
    async with desk_app(link, history=history).run_test() as pilot:
        await pilot.press("colon", *"why", "question_mark")
        assert _prompt(pilot).value == "why?"
        await pilot.press("ctrl+u", "question_mark")
        await pilot.pause()

        assert link.intents == [Help()]
        assert history.phrases == ()


async def test_the_example_in_an_empty_prompt_names_a_position_that_is_there() -> None:
    async with desk_app().run_test() as pilot:
        assert "recommend" not in _prompt(pilot).placeholder
        await play(pilot, PositionsChanged(POSITIONS))
        await pilot.press("down")
        await pilot.pause()

        assert f"recommend {POSITIONS.rows[1].ref} " in str(_prompt(pilot).placeholder)


async def test_up_and_down_walk_through_what_was_typed() -> None:
    async with desk_app(history=PhraseHistory(["help", "positions"])).run_test() as pilot:
        await pilot.press("colon", *"ins", "up")
        assert _prompt(pilot).value == "positions"
        await pilot.press("up", "up")
        assert _prompt(pilot).value == "help"
        await pilot.press("down", "down")
        assert _prompt(pilot).value == "ins"


async def test_a_paste_of_many_lines_is_one_line_and_asks_nothing() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await pilot.press("colon")
        await _paste(pilot, "inspect \x1b[31m7\x07\nclose 7\napply\n")

        assert _prompt(pilot).value == "inspect [31m7"
        assert link.intents == []
        assert "first line" in _said(pilot)


async def test_a_pasted_key_is_neither_kept_nor_repeated(tmp_path: Path) -> None:
    link = ScriptedLink()
    history = open_history(tmp_path / "history")
    async with desk_app(link, history=history).run_test() as pilot:
        await pilot.press("colon")
        await _paste(pilot, KEY)
        await pilot.press("enter")
        await pilot.pause()

        assert link.intents == []
        assert "looks like a key" in _said(pilot)
        assert KEY not in _said(pilot)
        assert history.phrases == ()
        assert not (tmp_path / "history").exists()


async def test_keys_that_arrive_at_once_act_in_their_order() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await pilot.press("colon")
        typed = [*"inspect", "space", "8", "backspace", "9", "enter", *"inspect", "space", "7"]
        for key in (*typed, "ctrl+u", *"inspect", "space", "6", "enter"):
            character = {"space": " ", "enter": "\r"}.get(key, key if len(key) == 1 else None)
            pilot.app.post_message(Key(key, character))
        await pilot.pause()

        assert link.intents == [Inspect(v4_position(9)), Inspect(v4_position(6))]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("a", Approve()),
        ("approve", Approve()),
        ("approve exit", Approve(candidate="close")),
        ("apply", Apply()),
    ],
)
async def test_a_key_that_offers_a_word_may_be_its_first_letter(typed: str, meant: Intent) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PlanChanged(APPROVED))
        await pilot.press(*("space" if letter == " " else letter for letter in typed), "enter")
        await pilot.pause()

        assert link.intents == [meant]


async def test_an_offered_phrase_can_be_gone_on_with() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PlanChanged(APPROVED))
        await pilot.press("a", "space", *"exit", "enter")
        await pilot.pause()

        assert link.intents == [Approve(candidate="close")]


async def test_escape_goes_back_to_the_panes() -> None:
    async with desk_app().run_test() as pilot:
        await pilot.press("colon")
        assert _prompt(pilot).has_focus

        await pilot.press("escape")
        await pilot.pause()

        assert not _prompt(pilot).has_focus


def test_history_lasts_in_a_file_of_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "history"
    first = open_history(path)
    assert first.keep("positions")
    assert not first.keep("positions")
    assert first.keep("inspect 7")
    assert not first.keep(f"import {KEY}")

    assert path.read_text("utf-8") == "positions\ninspect 7\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert open_history(path).phrases == ("positions", "inspect 7")


def test_history_keeps_its_size(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"inspect {number}\n" for number in range(3 * MOST_KEPT)), "utf-8")

    history = open_history(path)

    assert len(history.phrases) == MOST_KEPT
    assert history.phrases[-1] == f"inspect {3 * MOST_KEPT - 1}"
    assert len(path.read_text("utf-8").splitlines()) == MOST_KEPT


@pytest.mark.parametrize("kind", ["a folder", "noise"])
def test_a_history_that_cannot_be_read_keeps_nobody_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history"
    if kind == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"\xff\x00\x1b[2Jinspect 7\n")

    history = open_history(path)

    assert history.keep("positions")
    assert all(phrase.isprintable() for phrase in history.phrases)


async def _submit(pilot: Pilot[None], text: str) -> None:
    pilot.app.screen.post_message(PromptPane.Submitted(text))
    await pilot.pause()


async def test_a_sentence_that_moves_money_fills_the_line_and_waits_for_enter() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        await _submit(pilot, "take half out of 7")

        assert link.intents == []
        assert _prompt(pilot).value == "decrease 7 50"
        assert _prompt(pilot).has_focus
        assert _said(pilot) == "Press Enter to run."

        await pilot.press("enter")
        await pilot.pause()
        assert link.intents == [DecreasePosition(v4_position(7), 50)]
        assert _prompt(pilot).value == ""


async def test_a_sentence_that_changes_a_setting_fills_the_line_too() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await _submit(pilot, "take me to arbitrum")

        assert link.intents == []
        assert _prompt(pilot).value == "switch to arbitrum"


async def test_a_theme_that_is_asked_for_is_drawn_after_enter_and_not_before() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        before = pilot.app.theme
        await pilot.press("colon", *"light", "space", *"theme", "enter")
        await pilot.pause()
        assert (pilot.app.theme, link.intents) == (before, [])
        await pilot.press("enter")
        await pilot.pause()

        assert pilot.app.theme == "zuno-light" != before
        assert link.intents == [ChangeSetting("screen.theme", "zuno-light")]


async def test_of_several_commands_the_first_fills_the_line_and_the_others_are_named() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        first, second, *_ = [row.ref for row in POSITIONS.rows]
        await _submit(pilot, f"halve {first} and {second}")

        assert link.intents == []
        assert _prompt(pilot).value == f"decrease {first} 50"
        assert f"Then: decrease {second} 50" in _said(pilot)


async def test_what_one_plan_does_with_several_positions_is_one_line() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        first, second, *_ = [row.ref for row in POSITIONS.rows]
        await _submit(pilot, f"claim {first} and {second}")

        assert link.intents == []
        assert _prompt(pilot).value == f"collect {first} {second}"


async def test_a_question_runs_at_once() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await play(pilot, PositionsChanged(POSITIONS))
        await _submit(pilot, "how is 7 doing?")

        assert link.intents == [Inspect(v4_position(7))]
        assert _prompt(pilot).value == ""
