"""`zuno scorecard`: every plan judged later, by what really happened on the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer


class ShowScorecard(Intent, frozen=True):
    command: ClassVar = ("scorecard",)


async def _answer(session: Session, _asked: ShowScorecard) -> CommandAnswer:
    from zuno_tui.features.lab.scorecard import scored_plans

    return await scored_plans(session)


COMMAND = Command(
    does="what became of past plans after 1, 7 and 30 days",
    group=Group.ADVICE,
    intent=ShowScorecard,
    answer=_answer,
    verbs=(
        Verb(
            "scorecard",
            alone(ShowScorecard(), "all", "plans"),
            spoken=(
                *("show scorecard", "show the scorecard", "score", "track record"),
                *("was the advice right", "how good was the advice"),
            ),
        ),
    ),
    suggest=always(ShowScorecard()),
)
