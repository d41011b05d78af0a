"""When a key on the confirmation counts, and whose it is: by the times keys arrived at."""

import pytest
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Static

from tests.samples import some_of
from tests.zuno_tui.screen.confirm_pilot import KEYLESS
from tests.zuno_tui.screen.scenes import APPROVAL as LOCKED
from tests.zuno_tui.screen.scenes import ScriptedLink, desk_app
from tests.zuno_tui.screen.test_confirm import OpeningLink
from zuno_tui.present.views import ApprovalView
from zuno_tui.screen.panes.fields import (
    READING_SECONDS,
    SMALLEST_GAP_SECONDS,
    HiddenField,
    Keystrokes,
)
from zuno_tui.screen.screens.confirm import ConfirmScreen

DRAWN = 1_000.0
"""When the page was whole on the screen, by the clock that stamps keys."""
HUMAN = 0.03


@pytest.fixture(autouse=True)
def a_second_to_read(keys_count_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zuno_tui.screen.screens.typed_confirm.READING_SECONDS", READING_SECONDS)


async def _page(
    pilot: Pilot[None], link: ScriptedLink, approval: ApprovalView = KEYLESS
) -> ConfirmScreen:
    screen = ConfirmScreen(link, approval, clock=lambda: 0.0, key_clock=lambda: DRAWN)
    pilot.app.push_screen(screen)
    await pilot.pause()
    return screen


async def _keys(pilot: Pilot[None], word: str, *times: float) -> None:
    """These letters, each arriving at its time; a line's end is Enter."""
    for letter, when in zip(word, times, strict=True):
        key = Key("enter", "\r") if letter == "\n" else Key(letter, letter)
        key.time = when
        pilot.app.post_message(key)
    await pilot.pause()


def _from(start: float, count: int, gap: float = HUMAN) -> list[float]:
    return [start + gap * place for place in range(count)]


def _said(screen: ConfirmScreen) -> str:
    return str(screen.query_one("#confirm-said", Static).content)


async def test_a_fast_hand_is_believed_after_a_second() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await _page(pilot, link)
        await _keys(pilot, "apply\n", *_from(DRAWN + READING_SECONDS, 6))

        assert link.confirmed == [(KEYLESS.hash, "apply")]


@pytest.mark.parametrize("start", some_of(((each,) for each in [-5.0, 0.0, 0.47, 0.8]), 2, seed=44))
async def test_a_word_of_the_first_second_does_nothing(start: float) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await _page(pilot, link)
        await _keys(pilot, "apply\n", *_from(DRAWN + start, 6))

        assert link.confirmed == []
        assert "ignored" in _said(screen)


async def test_no_letter_of_the_first_second_is_kept_for_later() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await _page(pilot, link)
        await _keys(pilot, "appl", *_from(DRAWN + 0.9 - 4 * HUMAN, 4))
        await _keys(pilot, "y\n", *_from(DRAWN + 2, 2))

        assert link.confirmed == []


async def test_what_was_typed_before_the_page_was_there_does_nothing() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = ConfirmScreen(link, KEYLESS, clock=lambda: 0.0, key_clock=lambda: DRAWN)
        pilot.app.push_screen(screen)
        await _keys(pilot, "apply\n", *_from(DRAWN - 0.3, 6))
        await pilot.pause()

        assert link.confirmed == []


async def test_the_second_begins_anew_when_the_page_comes_back() -> None:
    link = ScriptedLink()
    now = DRAWN
    async with desk_app(link).run_test() as pilot:
        screen = ConfirmScreen(link, KEYLESS, clock=lambda: 0.0, key_clock=lambda: now)
        pilot.app.push_screen(screen)
        await pilot.pause()
        pilot.app.push_screen(ConfirmScreen(link, KEYLESS, clock=lambda: 0.0))
        await pilot.pause()
        now = DRAWN + 60
        pilot.app.pop_screen()
        await pilot.pause()
        await _keys(pilot, "apply\n", *_from(now + 0.5, 6))
        assert link.confirmed == []
        await _keys(pilot, "apply\n", *_from(now + 1.5, 6))

        assert link.confirmed == [(KEYLESS.hash, "apply")]


@pytest.mark.parametrize("cut", some_of(((each,) for each in range(6)), 2, seed=44))
async def test_a_paste_in_two_packets_does_nothing(cut: int) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await _page(pilot, link)
        start = DRAWN + 2
        times = [start + (0.07 if place >= cut else 0) + 1e-5 * place for place in range(6)]
        await _keys(pilot, "apply\n", *times)

        assert link.confirmed == []
        assert "pasted" in _said(screen)


async def test_after_a_paste_a_hand_is_believed_again() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await _page(pilot, link)
        await _keys(pilot, "apply\n", *_from(DRAWN + 2, 6, gap=1e-5))
        await _keys(pilot, "apply\n", *_from(DRAWN + 4, 6))

        assert link.confirmed == [(KEYLESS.hash, "apply")]


async def test_a_passphrase_of_the_first_second_is_not_taken() -> None:
    link = OpeningLink()
    async with desk_app(link).run_test() as pilot:
        screen = await _page(pilot, link, LOCKED)
        await _keys(pilot, "old\n", *_from(DRAWN + 0.1, 4))
        early = Paste("pasted")
        early.time = DRAWN + 0.5
        pilot.app.post_message(early)
        await pilot.pause()
        assert screen.query_one(HiddenField).empty
        assert isinstance(screen.focused, HiddenField)
        await _keys(pilot, "right\n", *_from(DRAWN + 2, 6))
        await _keys(pilot, "apply\n", *_from(DRAWN + 3, 6))

        assert link.passphrases == [b"right"]


async def test_leaving_needs_no_second() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await _page(pilot, link)
        escape = Key("escape", None)
        escape.time = DRAWN + 0.1
        pilot.app.post_message(escape)
        await pilot.pause()

        assert pilot.app.screen is not screen


@pytest.mark.parametrize(
    ("gaps", "by_hand"),
    [
        ([], True),
        ([HUMAN] * 5, True),
        ([SMALLEST_GAP_SECONDS + 1e-6] * 5, True),
        ([HUMAN, HUMAN, 0.004, HUMAN], False),
        ([1.0, 1e-5], False),
    ],
)
def test_the_smallest_gap_tells_a_hand(gaps: list[float], by_hand: bool) -> None:
    keystrokes = Keystrokes()
    now = 0.0
    keystrokes.press(now)
    for gap in gaps:
        now += gap
        keystrokes.press(now)

    assert keystrokes.by_hand is by_hand
    keystrokes.forget()
    assert keystrokes.by_hand
