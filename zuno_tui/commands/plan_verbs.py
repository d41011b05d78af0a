"""What can be asked about a plan: to read it, to prepare it, and what became of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from zuno_tui.commands.intents import AboutPlan, Apply, Approve, OpenOutbox, Replay, Show
from zuno_tui.commands.verb import Verb
from zuno_tui.phrases.pieces import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from zuno_tui.commands.intents import Intent, PlanVerb
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.remaining import Remaining

_RECORD = re.compile(r"req_[0-9a-z]{1,64}", re.ASCII)
_NUMBER = re.compile(r"#?[0-9]{1,2}", re.ASCII)
_LEAVE = {"exit": "exit", "leaving": "exit"}
_ABOUT = ("plan", "recommendation", "proposal", "choice", "one", "move", "candidate", "option")
_ASKED = ("did", "do", "does", "you", "recommend", "recommended", "choose", "chose", "pick")


def _has_plan(context: PhraseContext) -> bool:
    return context.plan_id is not None


def _is_approved(context: PhraseContext) -> bool:
    return context.approved


def _plan(said: Remaining) -> Intent:
    plan_id = said.plan()
    said.end("card", "latest", "options", "are", *_ABOUT)
    return Show("plan") if plan_id is None else AboutPlan("plan", plan_id)


def _reading(verb: PlanVerb, *fillers: str) -> Callable[[Remaining], AboutPlan]:
    def read(said: Remaining) -> AboutPlan:
        plan_id = said.plan()
        # The words of a debate are about the whole plan, whichever move they led to.
        candidate = None if verb == "explain" else _candidate(said)
        said.end(*_ABOUT, *fillers)
        return AboutPlan(verb, plan_id, candidate)

    return read


def _approve(said: Remaining) -> Approve:
    plan_id = said.plan()
    candidate = _candidate(said)
    said.end(*_ABOUT, "number")
    return Approve(plan_id, candidate)


def _candidate(said: Remaining) -> str | None:
    if said.one_of(_LEAVE):
        return "exit"
    number = said.matching(_NUMBER)
    if number is None:
        return None
    number = number.removeprefix("#")
    known = said.context.candidates
    if known and number not in known:
        moves = listed(sorted(known))
        said.refuse(f"which move is {number}: the plan on the card has {moves}.")
    return number


def _apply(said: Remaining) -> Apply:
    plan_id = said.plan()
    said.end("plan", "now")
    return Apply(plan_id)


def _debate(said: Remaining) -> Show:
    said.end("transcript")
    return Show("debate")


def _records(said: Remaining) -> Show:
    said.end("debates", "all")
    return Show("records")


def _replay(said: Remaining) -> Replay:
    record = said.matching(_RECORD)
    if record is None and said.context.records and (said.points() or said.one_of(_LATEST)):
        record = said.context.records[0]
    if record is None:
        known = said.context.records
        said.refuse("which record.", f"replay {known[0]}" if known else "records")
    said.end("debate", "record", "again")
    return Replay(record)


_LATEST = {"latest": True, "last": True}
_ACTIONS: dict[str, Literal["resume", "cancel", "speed-up", "resolve"]] = {
    "resume": "resume",
    "cancel": "cancel",
    "speed-up": "speed-up",
    "resolve": "resolve",
}


def _outbox(said: Remaining) -> Intent:
    action = said.one_of(_ACTIONS)
    plan_id = said.plan()
    said.end("all")
    if action is None and plan_id is None:
        return Show("outbox")
    return OpenOutbox(action or "look", plan_id)


def _sent(action: Literal["cancel", "speed-up"]) -> Callable[[Remaining], OpenOutbox]:
    def read(said: Remaining) -> OpenOutbox:
        plan_id = said.plan()
        said.end("transaction", "sending", "plan")
        return OpenOutbox(action, plan_id)

    return read


PLAN_VERBS = (
    Verb(
        "plan",
        "plan [PLAN]",
        "the plan on the card, or another by its id",
        _plan,
        spoken=("show plan", "show the plan", "options", "what are my options", "show options"),
    ),
    Verb(
        "why",
        "why",
        "what was argued for and against the plan",
        _reading("explain", *_ASKED),
        spoken=("explain", "reasons", "show reasons"),
        possible=_has_plan,
    ),
    Verb(
        "diff",
        "diff [N|exit]",
        "the old range against the new one",
        _reading("diff", "changes"),
        spoken=(
            "show diff",
            "show the diff",
            "show me the diff",
            "delta",
            "changes",
            "what changes",
            "what would change",
            "what will change",
        ),
        names="candidates",
        possible=_has_plan,
    ),
    Verb(
        "simulate",
        "simulate [N|exit]",
        "try the plan on the chain's state; approve nothing",
        _reading("simulate", "run"),
        spoken=("dry run", "dry-run", "preview", "try"),
        names="candidates",
        possible=_has_plan,
    ),
    Verb(
        "export",
        "export [PLAN]",
        "the unsigned transactions, for a hardware wallet or a Safe",
        _reading("export", "transactions"),
        possible=_has_plan,
    ),
    Verb(
        "approve",
        "approve [N|exit]",
        "build, decode and simulate what would be signed; sign nothing",
        _approve,
        names="candidates",
        money=True,
        possible=_has_plan,
    ),
    Verb(
        "apply",
        "apply",
        "open the confirmation of what is approved; the word typed there signs",
        _apply,
        money=True,
        possible=_is_approved,
    ),
    Verb(
        "debate",
        "debate",
        "what the agents say",
        _debate,
        spoken=("show debate", "show the debate", "transcript", "show transcript"),
    ),
    Verb(
        "records",
        "records",
        "every debate that was held",
        _records,
        spoken=("history", "show records", "list records", "past debates"),
    ),
    Verb(
        "replay",
        "replay RECORD",
        "a debate again, from its record alone",
        _replay,
        names="records",
    ),
    Verb(
        "outbox",
        "outbox [resume|cancel|speed-up|resolve] [PLAN]",
        "what was sent, where it stands, what can be done",
        _outbox,
        spoken=("show outbox", "sent", "what was sent", "transactions", "show transactions"),
        names="sent",
        money=True,
    ),
    Verb(
        "cancel transaction",
        "cancel transaction [PLAN]",
        "prepare taking back what waits unsent",
        _sent("cancel"),
        spoken=("cancel the transaction", "cancel sending"),
        names="sent",
        money=True,
        possible=lambda context: bool(context.sent),
    ),
    Verb(
        "speed up",
        "speed up [PLAN]",
        "prepare sending what waits again, at a higher fee",
        _sent("speed-up"),
        spoken=("speed-up", "speed up transaction"),
        names="sent",
        money=True,
        possible=lambda context: bool(context.sent),
    ),
)
