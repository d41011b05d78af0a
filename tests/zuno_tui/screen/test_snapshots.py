"""The desk as it looks: every pane at three sizes, and the whole in every theme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from tests.zuno_tui.screen.scenes import (
    APPLIED,
    APPROVED,
    BUSY,
    DEBATE,
    MORNING,
    POSITIONS,
    desk_app,
    play,
)
from zuno_tui.desk.events import (
    AlertsChanged,
    DebateChanged,
    PlanChanged,
    PositionsChanged,
    ProseHeard,
    Said,
    StatusChanged,
)
from zuno_tui.screen.panes.debate import FLUSH_SECONDS
from zuno_tui.screen.themes import THEME_NAMES
from zuno_tui.shown.views import AlertsView

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from zuno_tui.desk.events import Event
    from zuno_tui.screen.app.app import ZunoApp


class SnapCompare(Protocol):
    def __call__(
        self,
        app: ZunoApp,
        /,
        *,
        terminal_size: tuple[int, int],
        run_before: Callable[[Pilot[None]], Awaitable[None]],
    ) -> bool: ...


SIZES = pytest.mark.parametrize(
    "size", [(80, 24), (120, 36), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}"
)
SPEAKING: tuple[Event, ...] = (
    *MORNING[:3],
    StatusChanged(BUSY),
    DebateChanged(DEBATE),
    ProseHeard("arbiter", "Both moves hold. I would take the wider one, since "),
    Said("", twin="zuno recommend 7"),
)
TROUBLED: tuple[Event, ...] = (
    StatusChanged(BUSY),
    PositionsChanged(POSITIONS),
    AlertsChanged(AlertsView(trouble="alerts are not saved: the disk is full")),
)


def scene(*events: Event, keys: tuple[str, ...] = ()) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def set_up(pilot: Pilot[None]) -> None:
        await play(pilot, *events)
        await pilot.press(*keys)
        await pilot.pause(2 * FLUSH_SECONDS)

    return set_up


@SIZES
def test_a_morning(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap_compare(desk_app(), terminal_size=size, run_before=scene(*MORNING))


@SIZES
def test_a_debate_in_full_flow(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    set_up = scene(*SPEAKING, keys=("3",))
    assert snap_compare(desk_app(), terminal_size=size, run_before=set_up)


@SIZES
def test_an_approved_plan(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    set_up = scene(*MORNING, PlanChanged(APPROVED), keys=("4",))
    assert snap_compare(desk_app(), terminal_size=size, run_before=set_up)


@SIZES
def test_help(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    set_up = scene(*MORNING, keys=("4", "question_mark"))
    assert snap_compare(desk_app(), terminal_size=size, run_before=set_up)


def test_an_applied_plan_zoomed(snap_compare: SnapCompare) -> None:
    set_up = scene(*MORNING, PlanChanged(APPLIED), keys=("4", "z"))
    assert snap_compare(desk_app(), terminal_size=(120, 36), run_before=set_up)


def test_alerts_on_a_narrow_terminal(snap_compare: SnapCompare) -> None:
    set_up = scene(*MORNING, keys=("2", "j"))
    assert snap_compare(desk_app(), terminal_size=(80, 24), run_before=set_up)


def test_the_first_second(snap_compare: SnapCompare) -> None:
    assert snap_compare(desk_app(), terminal_size=(120, 36), run_before=scene())


@pytest.mark.parametrize("theme", THEME_NAMES[1:])
def test_every_theme(snap_compare: SnapCompare, theme: str) -> None:
    app = desk_app(theme=theme)
    assert snap_compare(app, terminal_size=(120, 36), run_before=scene(*MORNING))


def test_ascii(snap_compare: SnapCompare) -> None:
    app = desk_app(ascii_only=True)
    assert snap_compare(app, terminal_size=(120, 36), run_before=scene(*MORNING))


def test_trouble_is_calm_and_says_why(snap_compare: SnapCompare) -> None:
    from msgspec.structs import replace

    stale = replace(POSITIONS, stale="the RPC does not answer; trying again in 30 s")
    trouble = StatusChanged(replace(BUSY, trouble="RPC down", jobs=()))
    said = Said("The RPC at localhost does not answer. Check it: zuno doctor", "bad", "zuno doctor")
    set_up = scene(*TROUBLED, PositionsChanged(stale), trouble, said)
    assert snap_compare(desk_app(), terminal_size=(120, 36), run_before=set_up)
