"""The confirmation: what reaches a signature, and everything that does not."""

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace
from textual.events import Key, Paste
from textual.widgets import Static

from chain.wallet.secrets import Passphrase
from tests.zuno_tui.screen.confirm_pilot import (
    KEYLESS,
    drawn_text,
    open_confirmation,
    said_on,
    step_marks,
)
from tests.zuno_tui.screen.scenes import (
    APPLIED,
    APPLYING,
    APPROVAL,
    APPROVED,
    NOW,
    PLAN,
    ScriptedLink,
    desk_app,
    play,
)
from zuno_tui.desk.events import ConfirmationEnded, PlanChanged, Said
from zuno_tui.present.views import (
    ApprovalView,
    RangeView,
    ReceiptLine,
    ReceiptView,
    StepProgress,
    StepView,
)
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.panes.fields import TypedWord
from zuno_tui.screen.screens.confirm import ConfirmScreen

SIZES = [(80, 24), (120, 36), (200, 50)]


@dataclass
class OpeningLink(ScriptedLink):
    """Looks at the passphrase it was given before it is wiped."""

    passphrases: list[bytes] = field(default_factory=list)

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        super().confirm(approval_hash, word, passphrase)
        if passphrase is not None:
            self.passphrases.append(passphrase.reveal())


async def test_the_typed_word_confirms_once() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await open_confirmation(pilot)
        await pilot.press(*"apply", "enter")
        await pilot.pause()
        await pilot.press(*"apply", "enter", "enter")
        await pilot.pause()

        assert link.confirmed == [(KEYLESS.hash, "apply")]


async def test_any_other_word_signs_nothing() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await open_confirmation(pilot)
        for word in ("Apply", "apply ", " apply", "appl", "yes", ""):
            screen.query_one("#confirm-said", Static).update("")
            await pilot.press(*("space" if letter == " " else letter for letter in word), "enter")
            await pilot.pause()

            assert link.confirmed == [], word
            assert "not the word" in said_on(screen), word


async def test_a_slip_can_be_mended() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await open_confirmation(pilot)
        await pilot.press(*"appky", "backspace", "backspace", *"ly", "enter")
        await pilot.pause()

        assert link.confirmed == [(KEYLESS.hash, "apply")]


async def test_a_paste_is_ignored_and_said_to_be() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await open_confirmation(pilot)
        pilot.app.post_message(Paste("apply"))
        await pilot.pause()
        assert "pasted" in said_on(screen)
        await pilot.press("enter")
        pilot.app.post_message(Paste("apply\n"))
        await pilot.press("enter")
        await pilot.pause()

        assert link.confirmed == []


async def test_a_paste_without_its_marks_is_ignored_too() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await open_confirmation(pilot)
        for letter in "apply":
            pilot.app.post_message(Key(letter, letter))
        pilot.app.post_message(Key("enter", "\r"))
        await pilot.pause()

        assert link.confirmed == []
        assert "pasted" in said_on(screen)


async def test_the_passphrase_comes_first_and_shows_nothing() -> None:
    link = OpeningLink()
    async with desk_app(link).run_test() as pilot:
        screen = await open_confirmation(pilot, APPROVAL)
        await pilot.press("tab", *"apply", "enter")
        await pilot.pause()
        assert link.confirmed == []
        assert "passphrase comes first" in said_on(screen)

        await pilot.press(*"hunte3", "backspace", "r", "2", "enter")
        shown = "\n".join(
            "".join(segment.text for segment in line) for line in screen._compositor.render_strips()
        )
        assert "hunte" not in shown
        assert "•••••••" in shown
        await pilot.press(*"apply", "enter")
        await pilot.pause()

        assert link.confirmed == [(APPROVAL.hash, "apply")]
        assert link.passphrases == [b"hunter2"]


async def test_escape_leaves_and_nothing_is_signed() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await open_confirmation(pilot)
        await pilot.press(*"apply", "escape")
        await pilot.pause()

        assert not isinstance(pilot.app.screen, ConfirmScreen)
        await pilot.press("enter")
        assert link.confirmed == []


async def test_no_action_no_binding_and_no_palette_reaches_the_word() -> None:
    link = ScriptedLink()
    app = desk_app(link)
    async with app.run_test() as pilot:
        screen = await open_confirmation(pilot)
        reachable = [
            name
            for owner in (ZunoApp, ConfirmScreen, TypedWord)
            for name in dir(owner)
            if name.startswith("action_") and ("apply" in name or "confirm" in name)
        ]
        assert reachable == []
        assert TypedWord._merged_bindings is None or not any(
            binding.key == "enter"
            for bindings in TypedWord._merged_bindings.key_to_bindings.values()
            for binding in bindings
        )
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert app.screen is screen
        await pilot.click(TypedWord)
        await pilot.press("enter")

        assert link.confirmed == []


@pytest.mark.parametrize("size", SIZES)
async def test_every_step_is_in_sight_and_counted_before_the_word_is_typed(
    size: tuple[int, int],
) -> None:
    async with desk_app().run_test(size=size) as pilot:
        screen = await open_confirmation(pilot, APPROVAL)
        drawn = drawn_text(screen)

        assert "4 TRANSACTIONS" in drawn
        assert all(f"○ {place} " in drawn for place in range(1, 5))
        assert "lines more" not in drawn
        for words in ("you give", "you get", "wallet", "total cost", "now 1,812.09", "9:00 left"):
            assert words in drawn


async def test_steps_out_of_sight_are_counted() -> None:
    many = tuple(StepView(f"step {n}", (f"sentence {n}",), f"brief {n}") for n in range(40))
    async with desk_app().run_test(size=(80, 24)) as pilot:
        screen = await open_confirmation(pilot, replace(KEYLESS, steps=many))
        await pilot.pause()

        assert "40 TRANSACTIONS" in drawn_text(screen)
        assert "lines more: pgdn" in drawn_text(screen)


async def test_every_byte_is_behind_a_key_and_typing_goes_on() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        screen = await open_confirmation(pilot)
        assert KEYLESS.hash not in drawn_text(screen)
        await pilot.press(*"app", "f2")
        await pilot.pause()
        told = drawn_text(screen)
        for words in (KEYLESS.hash, "Burn position #7", "UniversalRouter 0x6fF5…eB43"):
            assert words in told
        await pilot.press("f2", *"ly", "enter")
        await pilot.pause()

        assert link.confirmed == [(KEYLESS.hash, "apply")]


async def test_a_refusal_is_shown_where_the_person_looks() -> None:
    async with desk_app().run_test() as pilot:
        screen = await open_confirmation(pilot)
        await pilot.press(*"apply", "enter")
        await play(pilot, Said("The price moved by 2%. Nothing was signed.", "bad"))
        assert "moved by 2%" in said_on(screen)
        await play(pilot, ConfirmationEnded(KEYLESS.hash, "Refused: the price moved."))

        assert "Refused: the price moved." in said_on(screen)


@pytest.mark.parametrize(
    "event",
    [
        ConfirmationEnded(KEYLESS.hash, "The approval has expired."),
        PlanChanged(PLAN),
        PlanChanged(replace(APPROVED, approval=replace(KEYLESS, hash="0x" + "11" * 32))),
    ],
    ids=["expired", "approval gone", "approval replaced"],
)
async def test_an_approval_that_ended_cannot_be_confirmed(
    event: ConfirmationEnded | PlanChanged,
) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await open_confirmation(pilot)
        await pilot.press(*"appl")
        await play(pilot, event)
        await pilot.press("y", "enter")
        await pilot.pause()

        assert link.confirmed == []
        assert not screen.query_one("#confirm-fields").display


@pytest.mark.parametrize("late", [0.0, 3_600.0], ids=["to the second", "long ago"])
async def test_a_word_typed_after_the_end_of_an_approval_signs_nothing(late: float) -> None:
    link = ScriptedLink()
    now = NOW
    async with desk_app(link).run_test() as pilot:
        screen = ConfirmScreen(link, replace(KEYLESS, seconds_left=540.0), clock=lambda: now)
        pilot.app.push_screen(screen)
        await pilot.pause()
        await pilot.press(*"appl")
        now = NOW + 540.0 + late
        await pilot.press("y", "enter")
        await pilot.pause()

        assert link.confirmed == []
        assert "expired" in said_on(screen)


async def test_an_approval_expires_while_nobody_types() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        short = replace(KEYLESS, seconds_left=0.001)
        screen = ConfirmScreen(link, short, clock=lambda: NOW)
        pilot.app.push_screen(screen)
        while not screen._ended:
            await pilot.pause(0.01)
        assert "expired" in said_on(screen)
        await pilot.press(*"apply", "enter")
        await pilot.pause()

        assert link.confirmed == []


async def test_another_plans_end_changes_nothing_here() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        await open_confirmation(pilot)
        await play(pilot, ConfirmationEnded("0x" + "11" * 32, "Expired."))
        await play(pilot, PlanChanged(replace(PLAN, plan_id="plan_other")))
        await pilot.press(*"apply", "enter")
        await pilot.pause()

        assert link.confirmed == [(KEYLESS.hash, "apply")]


@pytest.mark.parametrize(
    "approval",
    [
        replace(KEYLESS, can_sign=False, signs_with="watch-only, no key is here"),
        replace(KEYLESS, wallet="0xf39F…\x1b[1A0xEVIL"),
        replace(KEYLESS, word=""),
        replace(KEYLESS, wallet="[bold]0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
    ],
    ids=["no key", "an escape in the wallet", "no word", "markup in the wallet"],
)
async def test_what_cannot_be_signed_has_no_field(approval: ApprovalView) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test() as pilot:
        screen = await open_confirmation(pilot, approval)
        await pilot.press(*"apply", "enter")
        await pilot.pause()

        assert link.confirmed == []
        assert "Nothing here can sign" in said_on(screen)


async def test_the_sheet_scrolls_while_the_word_keeps_the_focus() -> None:
    many = tuple(StepView(f"step {n}", (f"sentence {n}",)) for n in range(60))
    async with desk_app().run_test() as pilot:
        screen = await open_confirmation(pilot, replace(KEYLESS, steps=many))
        await pilot.press("a", "pagedown", "pagedown", "pageup", "pagedown")
        await pilot.pause()

        assert screen.query_one("#confirm-sheet").scroll_y > 10
        assert isinstance(screen.focused, TypedWord)
        assert "more: pgdn" in drawn_text(screen)
        await pilot.press("end")
        await pilot.pause()

        assert "○ 60 step 59" in drawn_text(screen)
        assert "more: pgdn" not in drawn_text(screen)


HOSTILE = "x\x1b7\x1b[2;1Hrecipient: 0xEVIL\x1b8\x9d52;c;YQ==\x07[/][red]\u202e"


@pytest.mark.parametrize("size", SIZES)
async def test_no_text_from_outside_draws_over_the_recipient(size: tuple[int, int]) -> None:
    hostile = replace(
        KEYLESS,
        headline=HOSTILE,
        hash=KEYLESS.hash,
        steps=(StepView(HOSTILE, (HOSTILE, HOSTILE * 40), HOSTILE),),
        outcome=(HOSTILE, f"! {HOSTILE}"),
        receipt=ReceiptView(
            (ReceiptLine("give", HOSTILE, HOSTILE),), RangeView(HOSTILE, HOSTILE, HOSTILE, 0.5)
        ),
        signs_with=HOSTILE,
    )
    async with desk_app().run_test(size=size) as pilot:
        screen = await open_confirmation(pilot, hostile)
        lines = drawn_text(screen).splitlines()
        authority = screen.query_one("#confirm-authority").region

        assert lines[authority.y].strip() == f"recipient   {KEYLESS.wallet} (you)"
        framed = [line for line in lines if "0xEVIL" in line and "┃" not in line]
        assert all(line.strip().startswith(("┏━", "key")) for line in framed)
        assert all(line.isprintable() for line in lines)


async def test_progress_and_result_are_followed() -> None:
    async with desk_app().run_test() as pilot:
        screen = await open_confirmation(pilot)
        await pilot.press(*"apply", "enter")
        await play(pilot, PlanChanged(replace(APPLYING, approval=KEYLESS)))
        assert step_marks(screen) == "✓⟳○○"
        await play(pilot, PlanChanged(replace(APPLIED, approval=KEYLESS)))

        told = drawn_text(screen)
        assert "Done · #7 is now #41" in told
        assert "Sign and send" not in told
        assert "0xc2c2…c2c2" in told
        assert "0x" + "c2" * 32 not in told
        assert said_on(screen).startswith("Done.")
        await pilot.press("f2")
        await pilot.pause()
        assert "0x" + "c2" * 32 in drawn_text(screen), "the whole hash is behind a key"
        await pilot.press("y")
        assert pilot.app.clipboard.splitlines() == [
            "https://explorer.test/tx/0x" + "51" * 32,
            "0x" + "c2" * 32,
        ]


async def test_the_way_out_is_in_sight_however_long_the_result_is() -> None:
    assert APPLIED.result is not None
    long = replace(APPLIED.result, sent=APPLIED.result.sent * 20)
    async with desk_app().run_test(size=(80, 24)) as pilot:
        screen = await open_confirmation(pilot)
        await play(pilot, PlanChanged(replace(APPLIED, approval=KEYLESS, result=long)))
        assert "Done. escape goes back" in drawn_text(screen)
        assert "lines more: pgdn" in drawn_text(screen)
        await pilot.press("end")
        await pilot.pause()

        assert "Done. escape goes back" in drawn_text(screen)
        assert "more: pgdn" not in drawn_text(screen)


async def test_what_stopped_is_not_called_done() -> None:
    assert APPLIED.result is not None
    progress = (APPLYING.progress[0], StepProgress("permit2-WETH: reverted (why)", "stopped"))
    result = replace(APPLIED.result, state="reverted", done=False, headline="")
    stopped = replace(APPLIED, approval=None, progress=progress, result=result)
    async with desk_app().run_test(size=(80, 24)) as pilot:
        screen = await open_confirmation(pilot)
        await pilot.press(*"apply", "enter")
        await play(pilot, PlanChanged(stopped))

        assert step_marks(screen) == "✓✗○○"
        assert f"Reverted · {KEYLESS.headline}" in drawn_text(screen)
        assert "Done" not in drawn_text(screen)
        assert not screen.has_class("-done")
