"""`zuno move ID LOW HIGH`: the range that was named, judged beside HOLD and EXIT, as a plan."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from agents.lp.payloads import FlowStart
from zuno_tui.app.debate import Arguing, argue
from zuno_tui.app.own_range import read_price
from zuno_tui.app.session import Session
from zuno_tui.settings.debates import debate_settings

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    # What is no price is said before anything is read.
    for price in (arguments.low, arguments.high):
        read_price(price)
    settings = debate_settings(
        session.settings, os.environ, profile=arguments.profile, deterministic=False
    )
    start = FlowStart(
        token_id=arguments.token_id,
        profile=settings.profile,
        max_rounds=1,
        own_prices=(arguments.low, arguments.high),
    )
    return asyncio.run(argue(Arguing(session, settings, arguments.stream), start))
