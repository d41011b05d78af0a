"""Every screen at three sizes, in every theme the same words, and words that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.zuno_tui.screen.looks import (
    ENOUGH_CONTRAST,
    SIZES,
    assert_looks,
    front_of,
    lines_of,
    pairs_of,
)
from tests.zuno_tui.screen.portfolio_scene import PORTFOLIO
from tests.zuno_tui.screen.range_scene import RANGE
from tests.zuno_tui.screen.scenes import (
    APPLIED,
    APPROVAL,
    APPROVED,
    BUSY,
    DEBATE,
    MORNING,
    NOW,
    POSITIONS,
    desk_app,
    play,
)
from tests.zuno_tui.screen.trade_scenes import APPROVAL as ORDERS
from tests.zuno_tui.screen.trade_scenes import BEGUN, FAILED, HEARD, HEDGING, HOLDING
from tests.zuno_tui.screen.visit_scenes import DETAIL, POOLS, RECORDS, REPLAYED, SENT, SETTINGS
from zuno_tui.desk.events import (
    AlertsChanged,
    ConfirmationAsked,
    DebateChanged,
    DetailReady,
    OutageChanged,
    OutboxReady,
    PlanChanged,
    PoolsReady,
    PortfolioChanged,
    PositionsChanged,
    ProseHeard,
    RecordsReady,
    Said,
    SettingsReady,
    StatusChanged,
    TradeChanged,
    TradeConfirmationAsked,
    TradeOpened,
)
from zuno_tui.present.outage import OutageView
from zuno_tui.present.views import AlertsView, PositionsView
from zuno_tui.screen.panes.debate import FLUSH_SECONDS
from zuno_tui.screen.screens.confirm import ConfirmScreen
from zuno_tui.screen.screens.trade_confirm import TradeConfirmScreen
from zuno_tui.screen.themes import COLOURLESS, THEME_NAMES

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from zuno_tui.desk.events import Event

KEYLESS = replace(APPROVAL, needs_passphrase=False)
OUTAGE = OutageView(
    "Base cannot be read",
    "node.example did not finish its answer within 10.0 s. other.example is not reachable.",
    "https://node.example/v2/…, https://other.example",
    since=NOW - 400,
    tries=5,
    next_at=NOW + 30,
    known_at=NOW - 460,
)
STALE = replace(POSITIONS, stale="the RPC does not answer; trying again in 30 s")
SCENES: dict[str, tuple[tuple[Event, ...], tuple[str, ...]]] = {
    "first second": ((), ()),
    "morning": (MORNING, ()),
    "without a plan": (MORNING[:3], ()),
    "cursor elsewhere": (MORNING, ("j",)),
    "alerts": (MORNING, ("2", "j")),
    "debate": (
        (
            *MORNING[:3],
            StatusChanged(BUSY),
            DebateChanged(DEBATE),
            ProseHeard("arbiter", "Both moves hold. I would take the wider one, since "),
            Said("", twin="zuno recommend 7"),
        ),
        ("3",),
    ),
    "plan": (MORNING, ("4",)),
    "approved": ((*MORNING, PlanChanged(APPROVED)), ("4",)),
    "applied": ((*MORNING, PlanChanged(APPLIED)), ("4", "z")),
    "confirmation": (
        (*MORNING, PlanChanged(replace(APPROVED, approval=KEYLESS)), ConfirmationAsked(KEYLESS)),
        ("a", "p"),
    ),
    "every byte": (
        (*MORNING, PlanChanged(replace(APPROVED, approval=KEYLESS)), ConfirmationAsked(KEYLESS)),
        ("f2",),
    ),
    "result": (
        (
            *MORNING,
            PlanChanged(replace(APPROVED, approval=KEYLESS)),
            ConfirmationAsked(KEYLESS),
            PlanChanged(replace(APPLIED, approval=KEYLESS)),
        ),
        (),
    ),
    "help": (MORNING, ("4", "question_mark")),
    "leaving": (MORNING, ("q",)),
    "trouble": (
        (
            StatusChanged(replace(BUSY, trouble="RPC down", jobs=())),
            PositionsChanged(STALE),
            OutageChanged(OUTAGE),
            AlertsChanged(AlertsView(trouble="alerts are not saved: the disk is full")),
        ),
        (),
    ),
    "nothing read": (
        (
            StatusChanged(replace(BUSY, trouble="RPC down", jobs=(), block=None)),
            PositionsChanged(PositionsView(stale="RPC down")),
            OutageChanged(replace(OUTAGE, known_at=None, tries=1, since=NOW)),
        ),
        (),
    ),
    "position": ((*MORNING, DetailReady(DETAIL)), ()),
    "pools": ((*MORNING, PoolsReady(POOLS)), ()),
    "range": ((*MORNING, RANGE), ("left", "left", "tab", "right", "right", "right")),
    "portfolio": ((*MORNING, PortfolioChanged(PORTFOLIO, opens=True)), ("j",)),
    "records": ((*MORNING, RecordsReady(RECORDS)), ()),
    "outbox": ((*MORNING, OutboxReady(SENT)), ()),
    "settings": ((*MORNING, SettingsReady(SETTINGS, "~/.zuno/settings.toml")), ()),
    "trade that acts": ((TradeOpened(HEDGING),), ()),
}

OF_EVERY_COMMAND = ("help",)
"""Screens that list all commands: what they must hold is tested with them."""


async def _settled(pilot: Pilot[None]) -> None:
    """Widths, then words, then heights."""
    for _ in range(3):
        await pilot.pause(FLUSH_SECONDS)


@pytest.mark.parametrize("name", SCENES)
async def test_how_it_looks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConfirmScreen, "_count_down", lambda _: None)
    events, keys = SCENES[name]
    async with desk_app().run_test(size=SIZES[-1]) as pilot:
        await play(pilot, *events)
        await pilot.press(*keys)
        for size in reversed(SIZES):
            await pilot.resize_terminal(*size)
            if name in OF_EVERY_COMMAND:
                await _settled(pilot)
            else:
                await assert_looks(f"{name} {size[0]}x{size[1]}", pilot)
            assert max(map(len, lines_of(pilot))) <= size[0]
            if size != SIZES[1]:
                continue
            front = front_of(pilot)
            for theme in THEME_NAMES:
                pilot.app.theme = theme
                await pilot.pause()
                assert front_of(pilot) == front, f"{theme} changes more than colours"
                faint = {
                    words: round(pair.contrast, 2)
                    for pair, words in pairs_of(pilot).items()
                    if pair.contrast < ENOUGH_CONTRAST
                }
                assert faint == {}, theme
            pilot.app.theme = THEME_NAMES[0]


async def test_how_a_replay_looks() -> None:
    async with desk_app().run_test(size=SIZES[-1]) as pilot:
        await play(pilot, RecordsReady(RECORDS))
        await pilot.press("enter")
        await play(pilot, DebateChanged(REPLAYED))
        await pilot.press("end")
        for width, height in reversed(SIZES):
            await pilot.resize_terminal(width, height)
            await assert_looks(f"replay {width}x{height}", pilot)


async def test_how_runs_of_the_trade_desk_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TradeConfirmScreen, "_count_down", lambda _: None)
    async with desk_app().run_test(size=SIZES[1]) as pilot:
        await play(pilot, TradeOpened(BEGUN), TradeChanged(HEARD))
        await assert_looks("trade under way 120x36", pilot)
        await pilot.resize_terminal(*SIZES[0])
        for name, view in (("holds", HOLDING), ("failed", FAILED)):
            await play(pilot, TradeChanged(view))
            await assert_looks(f"trade that {name} 80x24", pilot)
        await play(pilot, TradeConfirmationAsked(ORDERS))
        await assert_looks("trade confirmation 80x24", pilot)


async def test_the_trade_desk_in_plain_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TradeConfirmScreen, "_count_down", lambda _: None)
    async with desk_app(ascii_only=True).run_test(size=SIZES[1]) as pilot:
        await play(pilot, TradeOpened(HEDGING))
        lines = await assert_looks("trade in plain characters 120x36", pilot)
        await pilot.resize_terminal(*SIZES[0])
        await play(pilot, TradeChanged(FAILED))
        lines += await assert_looks("trade in plain characters that failed 80x24", pilot)
        await play(pilot, TradeConfirmationAsked(ORDERS))
        lines += await assert_looks("trade in plain characters confirmation 80x24", pilot)
        assert [line for line in lines if not line.isascii()] == []


async def test_the_trade_desk_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TradeConfirmScreen, "_count_down", lambda _: None)
    monkeypatch.setenv("NO_COLOR", "1")
    async with desk_app().run_test(size=SIZES[1]) as pilot:
        await play(pilot, TradeOpened(HEDGING))
        await assert_looks("trade that acts 120x36", pilot)
        assert pairs_of(pilot) == {}, "no colour of ours is left"
        await pilot.resize_terminal(*SIZES[0])
        await play(pilot, TradeChanged(FAILED))
        await assert_looks("trade that failed 80x24", pilot)
        await play(pilot, TradeConfirmationAsked(ORDERS))
        await assert_looks("trade confirmation 80x24", pilot)
        assert pairs_of(pilot) == {}


async def test_plain_characters_alone() -> None:
    async with desk_app(ascii_only=True).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        lines = await assert_looks("plain characters 120x36", pilot)
        assert all(line.isascii() for line in lines)


async def test_no_colour_takes_away_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        coloured = await assert_looks("morning 120x36", pilot)
    monkeypatch.setenv("NO_COLOR", "1")
    app = desk_app()
    assert app.theme == COLOURLESS
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        assert await assert_looks("morning 120x36", pilot) == coloured
        assert pairs_of(pilot) == {}, "no colour of ours is left"
