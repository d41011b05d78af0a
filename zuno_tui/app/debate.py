"""A debate on the command line: what is said goes to stderr, the plan to stdout."""

from __future__ import annotations

import os
import secrets
import traceback
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.envelope import FailureCause, Role
from agents.bus.run import Listener
from zuno_tui.app.debate_setup import Debating, debate
from zuno_tui.app.session import Session, say
from zuno_tui.present.answer import print_answer
from zuno_tui.present.argued_plan import just_argued
from zuno_tui.present.exit_codes import FAILED, NETWORK
from zuno_tui.present.plan_card import plan_answer
from zuno_tui.present.transcript import LiveTranscript

if TYPE_CHECKING:
    from agents.lp.payloads import FlowCreateStart, FlowStart
    from zuno_tui.app.agents_elsewhere import AgentPlaces
    from zuno_tui.settings.debates import DebateSettings


class Arguing(Struct, frozen=True):
    session: Session
    settings: DebateSettings
    stream: bool


async def argue(arguing: Arguing, start: FlowStart | FlowCreateStart) -> int:
    """Debate, keep the plan, print it; what failed is said with its stage and reason."""
    session = arguing.session
    request_id = f"req_{secrets.token_hex(8)}"
    async with session.sources() as sources:
        debating = Debating(
            session, arguing.settings, request_id, _listener(arguing), _tell_crash, _tell_places
        )
        debated = await debate(debating, sources, start)
        answer = (
            None
            if debated.document is None
            else plan_answer(
                just_argued(debated.ended, debated.document, debated.spent), sources.store
            )
        )
    if answer is None:
        failure = debated.ended.failure
        reason = "" if failure is None else failure.reason
        stage = "" if failure is None else failure.stage
        say(f"The debate ended at {stage}: {reason}")
        unread = failure is not None and failure.cause is FailureCause.UNREADABLE
        return NETWORK if unread else FAILED
    return print_answer(answer, as_json=session.as_json)


def _listener(arguing: Arguing) -> Listener:
    if not arguing.stream:
        return Listener()
    live = LiveTranscript()
    return Listener(on_turn=live.on_turn, on_prose=live.on_prose, on_thinking=live.on_thinking)


def _tell_places(places: AgentPlaces) -> None:
    if places.reason or places.peers:
        say(f"The agents run {places.words}")


def _tell_crash(role: Role, error: Exception) -> None:
    if os.environ.get("ZUNO_DEBUG"):
        traceback.print_exception(error)
    else:
        say(f"{role} stopped with {type(error).__name__}. ZUNO_DEBUG=1 shows where.")
