"""The desk from its first paint to its last: the screen here, the work in the back room."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeAlias

from chain.base.home import Home
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import Event
from zuno_tui.desk.thread import DeskThread
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.app.log import close_log, open_log
from zuno_tui.screen.full_collections import FullCollections
from zuno_tui.screen.panes.debate import ReadingPace
from zuno_tui.screen.prompt_history import open_history

if TYPE_CHECKING:
    from zuno_tui.screen.look import Look
    from zuno_tui.screen.screens.first_run import FirstChoice

_SWITCH_SECONDS = 0.0005
_CLOSING_SECONDS = 5.0
"""What the back room gets to put its things away; what was sent is on disk long before."""


Opening: TypeAlias = "Callable[[Callable[[Event], None]], AbstractAsyncContextManager[DeskOpening]]"
"""How the back room comes by what it works with; it may say how far it is."""


def run_desk(
    home: Home,
    look: Look,
    opening: Opening,
    after_first_run: Callable[[FirstChoice], Opening] | None = None,
) -> int:
    """The exit code, once the person has left and everything is put away.

    With `after_first_run` the person is asked first how to begin, and that opens instead.
    """
    # The desk computes in a thread beside the screen's: a key must not wait for its turn there.
    sys.setswitchinterval(_SWITCH_SECONDS)
    log = open_log(home.log)
    way = opening

    def tell(event: Event) -> None:
        app.hear(event)

    def begin() -> None:
        if after_first_run is None:
            room.start()
        else:
            from zuno_tui.screen.screens.first_run import FirstRunScreen

            app.push_screen(FirstRunScreen(home), chosen)

    def chosen(choice: FirstChoice | None) -> None:
        nonlocal way
        if choice is None or after_first_run is None:
            app.exit()
        else:
            way = after_first_run(choice)
            room.start()

    room = DeskThread(lambda: way(tell), tell)
    app = ZunoApp(
        room,
        ascii_only=look.ascii_only,
        bell=look.bell,
        theme=look.theme,
        keymap=look.keymap,
        history=open_history(home.history),
        pictures=look.pictures,
        pace=ReadingPace(look.reading_pace, time.monotonic),
        after_first_paint=begin,
        collections=FullCollections(time.monotonic),
    )
    app.log_path = home.log if log is not None else None
    try:
        # Without the mouse a terminal keeps its own selection, over SSH too.
        app.run(mouse=False)
    finally:
        room.close()
        room.wait_closed(_CLOSING_SECONDS)
        close_log(log)
    return app.return_code or 0
