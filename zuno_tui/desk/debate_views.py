"""What was said in a debate, as the pane draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.envelope import Role
from agents.model.claims import ClaimFlag, FlagKind, without_ids
from zuno_tui.cli.transcript import WHY_STRUCK
from zuno_tui.desk.cleaning import clean_in_place
from zuno_tui.desk.views import Struck, TurnView

if TYPE_CHECKING:
    from typing import Literal

    from agents.debate import Ended, Turn

    Speaker = Literal["scout", "strategist", "critic", "arbiter"]

_SPEAKERS: dict[Role, Speaker] = {
    Role.SCOUT: "scout",
    Role.STRATEGIST: "strategist",
    Role.CRITIC: "critic",
    Role.ARBITER: "arbiter",
}


def turn_view(turn: Turn) -> TurnView:
    thought = turn.thought
    said = clean_in_place(thought.text)
    flags = tuple(
        ClaimFlag(struck.start, struck.end, FlagKind(struck.why), ()) for struck in thought.struck
    )
    text, moved = without_ids(said, flags)
    return TurnView(
        role=_SPEAKERS[turn.role],
        round=thought.round,
        text=text,
        struck=tuple(Struck(flag.start, flag.end, WHY_STRUCK[flag.kind]) for flag in moved),
        sourced="" if said == text else said,
    )


def ending(ended: Ended) -> str:
    """How the debate ended, in a sentence."""
    if ended.plan is not None:
        choice = ended.plan.choice
        what = choice.kind if choice.index is None else f"move {choice.index}"
        return f"{ended.plan.plan_id} says {what}."
    if ended.failure is None:
        return "It ended without a plan."
    return f"It ended at {ended.failure.stage}: {ended.failure.reason}"
