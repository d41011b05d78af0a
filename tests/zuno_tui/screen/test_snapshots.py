"""The main screens as pictures, with their colours: `pytest --snapshot-update` takes them again."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.zuno_tui.screen.looks import lines_of
from tests.zuno_tui.screen.scenes import desk_app, play
from tests.zuno_tui.screen.screen_scenes import SCENES, SNAPSHOTS
from zuno_tui.screen.panes.debate import FLUSH_SECONDS

_LOOKS_ALIKE = 3
_MOST_LOOKS = 100


async def _drawn(pilot: Pilot[None]) -> None:
    """A screen is drawn in steps (widths, words, heights); prose comes after its flush."""
    looks: list[list[str]] = []
    for _ in range(_MOST_LOOKS):
        await pilot.pause(FLUSH_SECONDS / 2)
        looks = [*looks, lines_of(pilot)][-_LOOKS_ALIKE:]
        if len(looks) == _LOOKS_ALIKE and all(look == looks[0] for look in looks):
            return


@pytest.mark.every_update
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_main_screen(name: str, snap_compare: Callable[..., bool]) -> None:
    events, keys = SCENES[SNAPSHOTS[name]]

    async def before(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await play(pilot, *events)
        await pilot.press(*keys)
        await _drawn(pilot)

    assert snap_compare(desk_app(), run_before=before, terminal_size=(120, 36))
