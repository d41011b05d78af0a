"""`zuno simulate PLAN`: try its transactions on the chain as it is now; nothing is approved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zuno_tui.cli import DONE
from zuno_tui.cli.approval_card import show_rehearsal
from zuno_tui.cli.approve import rehearsed, wishing_for
from zuno_tui.session import Session

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    return asyncio.run(_simulate(Session.start(arguments), arguments))


async def _simulate(session: Session, arguments: Namespace) -> int:
    wishing = wishing_for(session, arguments)
    async with session.sources() as sources:
        show_rehearsal(session, await rehearsed(session, sources, wishing))
    return DONE
