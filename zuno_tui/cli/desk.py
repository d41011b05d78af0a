"""`zuno` alone: the desk, on the network and wallet that are set; the first time it asks which."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from zuno_tui.cli.output import no_desk_here
from zuno_tui.present.exit_codes import USAGE

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.desk.context import DeskOpening
    from zuno_tui.desk.events import Event
    from zuno_tui.screen.app.running import Opening
    from zuno_tui.screen.screens.first_run import FirstChoice


def run(arguments: Namespace, *, asks: bool = False) -> int:
    """With `asks`, how to begin is asked whatever is set already."""
    if (refusal := no_desk_here()) is not None:
        sys.stderr.write(refusal)
        return USAGE
    from zuno_tui.app.session import Session
    from zuno_tui.screen.app.ending import ending_when_asked
    from zuno_tui.screen.app.running import run_desk
    from zuno_tui.screen.look import read_look

    session = Session.start(arguments)
    session.home.prepare()
    look = read_look(session.settings, os.environ, arguments)

    def after_first_run(choice: FirstChoice) -> Opening:
        from zuno_tui.cli.demo import demo_opening

        return demo_opening(arguments) if choice == "demo" else _opening(arguments)

    first = after_first_run if asks or _nothing_is_chosen(session) else None
    with ending_when_asked() as ending:
        return run_desk(session.home, look, _opening(arguments), ending, first)


def run_looking(arguments: Namespace) -> int:
    """The desk as a window, in this terminal or behind `zuno serve`."""
    served = "TEXTUAL_DRIVER" in os.environ
    if not served and (refusal := no_desk_here()) is not None:
        sys.stderr.write(refusal)
        return USAGE
    from zuno_tui.app.session import Session
    from zuno_tui.screen.app.ending import ending_when_asked
    from zuno_tui.screen.app.running import run_desk
    from zuno_tui.screen.look import read_look

    session = Session.start(arguments)
    session.home.prepare()
    look = read_look(session.settings, os.environ, arguments)
    with ending_when_asked() as ending:
        opening = _opening(arguments, looks_only=True)
        return run_desk(session.home, look, opening, ending, keeps_view=False)


def _opening(arguments: Namespace, *, looks_only: bool = False) -> Opening:
    @asynccontextmanager
    async def open_session(_tell: Callable[[Event], None]) -> AsyncIterator[DeskOpening]:
        from zuno_tui.app.session import Session, flags_of
        from zuno_tui.desk.context import DeskOpening

        # Read here, since the first run may have written them a moment ago.
        session = Session.start(arguments)
        yield DeskOpening(
            session,
            looks_only=looks_only,
            deterministic=arguments.deterministic,
            transport=arguments.transport,
            flags=flags_of(arguments),
        )

    return open_session


def _nothing_is_chosen(session: Session) -> bool:
    """Whether this is the first run: no settings, no wallet, and none named for this once."""
    from chain.wallet.address_book import read_book
    from zuno_tui.settings import Settings

    chosen = session.settings
    named = chosen.address or chosen.network != Settings().network or chosen.endpoints
    return not (named or session.home.settings.exists() or read_book(session.home.keystore).wallets)
