"""A debate on the command line: what is said goes to stderr, the plan to stdout."""

from __future__ import annotations

import os
import secrets
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.debate import Listener
from agents.envelope import FailureCause
from zuno_tui.cli import FAILED, NETWORK
from zuno_tui.cli.plan_card import show_plan
from zuno_tui.cli.transcript import LiveTranscript
from zuno_tui.debating import Debating, debate
from zuno_tui.session import say

if TYPE_CHECKING:
    from agents.envelope import Role
    from agents.payloads import FlowCreateStart, FlowStart
    from zuno_tui.session import Session
    from zuno_tui.settings.debates import DebateSettings


@dataclass(frozen=True, slots=True)
class Arguing:
    session: Session
    settings: DebateSettings
    stream: bool


async def argue(arguing: Arguing, start: FlowStart | FlowCreateStart) -> int:
    """Debate, keep the plan, print it; what failed is said with its stage and reason."""
    session = arguing.session
    request_id = f"req_{secrets.token_hex(8)}"
    async with session.sources() as sources:
        debating = Debating(session, arguing.settings, request_id, _listener(arguing), _tell_crash)
        debated = await debate(debating, sources, start)
    if debated.document is None:
        failure = debated.ended.failure
        reason = "" if failure is None else failure.reason
        stage = "" if failure is None else failure.stage
        say(f"The debate ended at {stage}: {reason}")
        unread = failure is not None and failure.cause is FailureCause.UNREADABLE
        return NETWORK if unread else FAILED
    return show_plan(session, debated.document)


def _listener(arguing: Arguing) -> Listener:
    if not arguing.stream:
        return Listener()
    live = LiveTranscript()
    return Listener(on_turn=live.on_turn, on_prose=live.on_prose)


def _tell_crash(role: Role, error: Exception) -> None:
    if os.environ.get("ZUNO_DEBUG"):
        traceback.print_exception(error)
    else:
        say(f"{role.value} stopped with {type(error).__name__}. ZUNO_DEBUG=1 shows where.")
