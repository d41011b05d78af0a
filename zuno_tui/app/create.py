"""`zuno create "…"`: four agents argue about a position to open."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.lp.payloads import FlowCreateStart
from zuno_tui.app.debate import Arguing, argue
from zuno_tui.app.session import Session, say
from zuno_tui.prompt.create_phrase import parse_create
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import debate_settings

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    phrase = parse_create(arguments.phrase, session.network)
    if arguments.network and phrase.network != session.network:
        raise SettingsError(
            f"The phrase says {phrase.network.title}, the flag says {session.network.title}."
            " Leave one of them out."
        )
    session = replace(session, network=phrase.network)
    say(f"Understood: {phrase.understood}")
    named = None if phrase.profile is None else phrase.profile.value
    if named and arguments.profile and named != arguments.profile:
        raise SettingsError(
            f"The phrase says {named}, the flag says {arguments.profile}. Leave one of them out."
        )
    settings = debate_settings(
        session.settings,
        os.environ,
        profile=named or arguments.profile,
        deterministic=arguments.deterministic,
        transport=arguments.transport,
    )
    start = FlowCreateStart(
        goal=phrase.goal,
        owner=session.address,
        profile=settings.profile,
        max_rounds=settings.max_rounds,
        own_range=phrase.own_range,
    )
    return asyncio.run(argue(Arguing(session, settings, arguments.stream), start))
