"""A confirmation brought to the screen, and what it says."""

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Static

from tests.zuno_tui.screen.scenes import APPROVAL, APPROVED, play, until
from zuno_tui.desk.events import ConfirmationAsked, PlanChanged
from zuno_tui.present.views import ApprovalView
from zuno_tui.screen.screens.confirm import ConfirmScreen

KEYLESS = replace(APPROVAL, needs_passphrase=False)


async def open_confirmation(pilot: Pilot[None], approval: ApprovalView = KEYLESS) -> ConfirmScreen:
    await play(pilot, PlanChanged(replace(APPROVED, approval=approval)))
    await play(pilot, ConfirmationAsked(approval))
    screen = pilot.app.screen
    assert isinstance(screen, ConfirmScreen)
    # A key before the page is drawn answers nothing, and a busy machine draws late.
    await until(pilot, lambda: screen._ended or screen._keys_count_from is not None)
    return screen


def said_on(screen: ConfirmScreen) -> str:
    return str(screen.query_one("#confirm-said", Static).content)


def step_marks(screen: ConfirmScreen) -> str:
    told = str(screen.query_one("#confirm-body", Static).content)
    return "".join(letter for letter in told if letter in "○⟳✓✗")


def drawn_text(screen: ConfirmScreen) -> str:
    return "\n".join(
        "".join(segment.text for segment in line) for line in screen._compositor.render_strips()
    )
