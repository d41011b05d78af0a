"""`zuno recommend ID`: four agents argue about a position; the outcome is a plan."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from agents.lp.payloads import FlowStart
from zuno_tui.app.debate import Arguing, argue
from zuno_tui.app.session import Session
from zuno_tui.settings.debates import debate_settings

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    settings = debate_settings(
        session.settings,
        os.environ,
        profile=arguments.profile,
        deterministic=arguments.deterministic,
        transport=arguments.transport,
    )
    start = FlowStart(
        token_id=arguments.token_id, profile=settings.profile, max_rounds=settings.max_rounds
    )
    return asyncio.run(argue(Arguing(session, settings, arguments.stream), start))
