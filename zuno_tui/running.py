"""The desk from its first paint to its last: the screen here, the work in the back room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.app import ZunoApp
from zuno_tui.desk.backroom import BackRoom
from zuno_tui.desk_log import close_log, open_log
from zuno_tui.phrases.history import open_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from chain.home import Home
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.opening import DeskOpening
    from zuno_tui.look import Look

_CLOSING_SECONDS = 5.0
"""What the back room gets to put its things away; what was sent is on disk long before."""


def run_desk(
    home: Home,
    look: Look,
    opening: Callable[[Callable[[Event], None]], AbstractAsyncContextManager[DeskOpening]],
) -> int:
    """The exit code, once the person has left and everything is put away."""
    log = open_log(home.log)

    def tell(event: Event) -> None:
        app.hear(event)

    room = BackRoom(lambda: opening(tell), tell)
    app = ZunoApp(
        room,
        ascii_only=look.ascii_only,
        bell=look.bell,
        theme=look.theme,
        keymap=look.keymap,
        history=open_history(home.history),
        after_first_paint=room.start,
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
