"""After the signature: how far each step came, and what is called done."""

from msgspec.structs import replace

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
    desk_app,
    play,
)
from zuno_tui.desk.events import PlanChanged
from zuno_tui.present.views import StepProgress


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
