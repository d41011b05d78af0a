"""Which event opens which screen; each is imported when its door is first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.desk.events import ConfirmationAsked, HelpAsked, PageReady

if TYPE_CHECKING:
    from textual.screen import Screen

    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink


def screen_for(event: Event, link: DeskLink) -> Screen[None] | None:
    """The screen that shows what was told; None where the desk's panes do."""
    match event:
        case HelpAsked(topic):
            from zuno_tui.screens.help import HelpScreen

            return HelpScreen(topic)
        case ConfirmationAsked(approval):
            from zuno_tui.screens.confirm import ConfirmScreen

            return ConfirmScreen(link, approval)
        case PageReady(title, lines):
            from zuno_tui.screens.page import PageScreen

            return PageScreen(title, lines)
        case _:
            return None
