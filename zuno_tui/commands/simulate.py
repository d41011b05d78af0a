"""`zuno simulate PLAN`: try its transactions on the chain as it is now; nothing is approved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zuno_tui.commands.approve import dry_run_made, order_maker_for
from zuno_tui.session.session import Session
from zuno_tui.shown.approval_card import show_dry_run
from zuno_tui.shown.exit_codes import DONE

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    return asyncio.run(_simulate(Session.start(arguments), arguments))


async def _simulate(session: Session, arguments: Namespace) -> int:
    make_order = order_maker_for(session, arguments)
    async with session.sources() as sources:
        show_dry_run(session, await dry_run_made(session, sources, make_order))
    return DONE
