"""`zuno explain`: why a plan is what it is, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.envelope import Role
from agents.bus.payload import Thought
from agents.bus.plan_store import PlanStore
from agents.bus.run import SpokenTurn
from agents.lp.plan_document import plan_in, was_edited
from zuno_tui.session.session import Session, say
from zuno_tui.shown.exit_codes import DONE, FAILED
from zuno_tui.shown.output import print_json, print_lines
from zuno_tui.shown.plan_card import edited_words, record_words
from zuno_tui.shown.transcript import turn_line

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from agents.bus.plan_store import PlanDocument
    from agents.lp.plan import Plan

_TOLD = (
    *("planId", "requestId", "recordHash", "choice", "rejected", "transcript", "claims"),
    "sources",
)


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    document = PlanStore(session.home.plans).find(arguments.plan_id)
    plan = plan_in(document)
    if session.as_json:
        print_json({name: document.get(name) for name in _TOLD})  # type: ignore[misc]
    else:
        print_lines(_lines(document, plan))
    if not was_edited(plan):
        return DONE
    say(edited_words(document))
    return FAILED


def recorded_turns(document: PlanDocument) -> Iterator[SpokenTurn]:
    """What was said for a plan, in the order it was said."""
    turns = document["transcript"]
    for turn in turns if isinstance(turns, list) else []:
        said = {name: value for name, value in turn.items() if name != "role"}
        yield SpokenTurn(Role(turn["role"]), Thought.model_validate(said, strict=False))


def _lines(document: PlanDocument, plan: Plan) -> Iterator[str]:
    for turn in recorded_turns(document):
        yield turn_line(turn.role, turn.thought)
    yield ""
    yield f"{plan.plan_id}: {'; '.join(plan.choice.reasons)}."
    for source, said in plan.sources.items():
        yield f"  {source}: {said}"
    yield from record_words(document)
