"""Which event opens which screen; each is imported when its door is first opened."""

from collections.abc import Callable
from functools import singledispatch
from typing import TypeAlias

from textual.screen import Screen

from zuno_tui.desk.events import (
    ConfirmationAsked,
    DetailReady,
    Event,
    HelpAsked,
    OutboxReady,
    PageReady,
    PoolsReady,
    PortfolioChanged,
    RangeReady,
    RecordsReady,
    SettingsReady,
)
from zuno_tui.desk.feature import desk_features
from zuno_tui.desk.link import DeskLink

Clock: TypeAlias = Callable[[], float]


@singledispatch
def screen_for(event: Event, link: DeskLink, clock: Clock) -> Screen[None] | None:
    """The screen that shows what was told, a feature's last; None where the desk's panes do."""
    found = (feature.screen_for(event, link, clock) for feature in desk_features())
    return next((screen for screen in found if isinstance(screen, Screen)), None)


@screen_for.register(HelpAsked)
def _help(event: HelpAsked, _link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.help import HelpScreen

    return HelpScreen(event.topic)


@screen_for.register(ConfirmationAsked)
def _confirmation(event: ConfirmationAsked, link: DeskLink, clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.confirm import ConfirmScreen

    return ConfirmScreen(link, event.approval, clock)


@screen_for.register(PageReady)
def _page(event: PageReady, _link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.page import PageScreen

    return PageScreen(event)


@screen_for.register(DetailReady)
def _position(event: DetailReady, link: DeskLink, _clock: Clock) -> Screen[None] | None:
    from zuno_tui.screen.screens.position import PositionScreen

    return PositionScreen(link, event.view) if event.opens else None


@screen_for.register(PoolsReady)
def _pools(event: PoolsReady, link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.pools import PoolsScreen

    return PoolsScreen(link, event.rows, event.narrowed)


@screen_for.register(PortfolioChanged)
def _portfolio(event: PortfolioChanged, link: DeskLink, _clock: Clock) -> Screen[None] | None:
    from zuno_tui.screen.screens.portfolio import PortfolioScreen

    return PortfolioScreen(link, event.view) if event.opens else None


@screen_for.register(RangeReady)
def _range(event: RangeReady, link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.range import RangeScreen

    return RangeScreen(link, event)


@screen_for.register(RecordsReady)
def _records(event: RecordsReady, link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.records import RecordsScreen

    return RecordsScreen(link, event.rows)


@screen_for.register(OutboxReady)
def _outbox(event: OutboxReady, link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.outbox import OutboxScreen

    return OutboxScreen(link, event.rows)


@screen_for.register(SettingsReady)
def _settings(event: SettingsReady, link: DeskLink, _clock: Clock) -> Screen[None]:
    from zuno_tui.screen.screens.settings import SettingsScreen

    return SettingsScreen(link, event.rows, event.path)
