"""`zuno doctor`: check everything zuno depends on, each with what to do when it is not well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intents import Doctor

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer


async def _answer(session: Session, intent: Doctor) -> CommandAnswer:
    from zuno_tui.app.doctor import forget_address, run_doctor

    if intent.forget is not None:
        return forget_address(session, intent.forget)
    return await run_doctor(session)


COMMAND = Command(
    does="check everything zuno depends on",
    group=Group.SETUP,
    intent=Doctor,
    answer=_answer,
    verbs=(Verb("doctor", alone(Doctor(), "all")),),
    suggest=always(Doctor()),
    key="desk.doctor",
)
