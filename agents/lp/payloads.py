"""What each kind of message carries. Every agent finds in it all it needs: none keeps a memory."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct
from pydantic import Field

from agents.bus.envelope import Kind, Measure, Payload, PositionNumber, Registry, Role, wire_of
from agents.bus.record import read_ends
from agents.lp import ROLES
from agents.lp.facts import (
    NO_MEMORY,
    CreateGoal,
    DeskMemory,
    IntoGoal,
    KeepGoal,
    ScoutContext,
)
from agents.lp.plan import Candidate, OwnRange, Plan
from agents.numbers.rules import Decision, RiskProfile
from chain.base.clean_text import clean_text
from chain.base.strict_json import digest
from chain.protocols.reference import position_label, read_position_ref

MOST_ROUNDS = 6

SCOUT, STRATEGIST, CRITIC, ARBITER = map(Role, ROLES)


class DebateKind(StrEnum):
    FLOW_START = "flow_start"
    FLOW_CREATE_START = "flow_create_start"
    CONTEXT_OBSERVED = "context_observed"
    PROPOSAL = "proposal"
    CRITIQUE = "critique"
    REVISION = "revision"
    DEADLOCK = "deadlock"
    PLAN_READY = "plan_ready"


class FlowStart(Payload):
    """Argue about a position."""

    token_id: PositionNumber
    profile: RiskProfile
    max_rounds: int
    allowed_hooks: tuple[str, ...] = ()
    """From the person's settings."""
    last_action_time: int | None = None
    """Of this desk on this position, or on the one it was made of."""
    memory: DeskMemory = NO_MEMORY
    own_prices: tuple[str, str] | None = Field(default=None, exclude_if=lambda own: own is None)
    """A range the person named, as typed."""
    own_range: OwnRange | None = Field(default=None, exclude_if=lambda own: own is None)
    """The same for the position's pool."""
    keep_words: tuple[str, str] | None = Field(default=None, exclude_if=lambda keep: keep is None)
    """A token to keep and until when, as typed; empty for as long as the position lasts."""
    keep: KeepGoal | None = Field(default=None, exclude_if=lambda keep: keep is None)
    """The same for the position's pool."""
    into: IntoGoal | None = Field(default=None, exclude_if=lambda into: into is None)
    """Whether it is to go into a pool of another protocol."""


class FlowCreateStart(Payload):
    """Argue about a position to open."""

    goal: CreateGoal
    owner: str
    profile: RiskProfile
    max_rounds: int
    allowed_hooks: tuple[str, ...] = ()
    """From the person's settings."""
    memory: DeskMemory = NO_MEMORY
    own_range: OwnRange | None = Field(default=None, exclude_if=lambda own: own is None)


class ContextObserved(Payload):
    context: ScoutContext
    context_hash: str
    max_rounds: int
    memory: DeskMemory = NO_MEMORY
    own_range: OwnRange | None = Field(default=None, exclude_if=lambda own: own is None)


class Objection(Payload):
    """One point of a critique, numbered so that it can be answered."""

    point: int
    candidate: int
    words: str
    needed_multiplier: Measure | None
    """The width that would meet the floor, where a floor is what is missing."""


class CandidateRemark(Payload):
    """What the Critic's model said of a candidate, whether or not it hardened the judgment."""

    candidate: int
    words: str


class AnsweredPoint(Payload):
    point: int
    words: str


class DebateRound(Payload):
    """One judged proposal."""

    number: int
    candidates: tuple[Candidate, ...]
    rationale: str
    answers: tuple[AnsweredPoint, ...]
    proposed_by: Literal["model", "rules"]
    decision: Decision | None = None
    """None until the Critic has spoken."""
    critique: str = ""
    objections: tuple[Objection, ...] = ()
    remarks: tuple[CandidateRemark, ...] = ()


class Debate(Payload):
    """Everything said so far that binds: Scout's context verbatim, and the rounds."""

    context: ScoutContext
    context_hash: str
    max_rounds: int
    hold: Candidate
    exit: Candidate | None
    rounds: tuple[DebateRound, ...]
    memory: DeskMemory = NO_MEMORY

    @property
    def latest(self) -> DebateRound:
        return self.rounds[-1]


class Proposal(Debate):
    """The Strategist's: the last round is not judged yet."""


class Critique(Debate):
    """The Critic's: the last round is judged and sent back."""


class Deadlock(Debate):
    """For the Arbiter: every round is judged and none ended in an accept."""

    reason: str


class PlanReady(Payload):
    plan: Plan


DEBATE = Registry(
    (SCOUT, STRATEGIST, CRITIC, ARBITER),
    {
        DebateKind.FLOW_START: FlowStart,
        DebateKind.FLOW_CREATE_START: FlowCreateStart,
        DebateKind.CONTEXT_OBSERVED: ContextObserved,
        DebateKind.PROPOSAL: Proposal,
        DebateKind.REVISION: Proposal,
        DebateKind.CRITIQUE: Critique,
        DebateKind.DEADLOCK: Deadlock,
        DebateKind.PLAN_READY: PlanReady,
    },
    final=(DebateKind.PLAN_READY,),
)


def context_hash(context: ScoutContext) -> str:
    return digest(wire_of(context))


class UsualTokens(NamedTuple):
    tokens_in: int
    tokens_out: int


USUAL_TOKENS: Mapping[Role, UsualTokens] = {
    SCOUT: UsualTokens(3_000, 300),
    STRATEGIST: UsualTokens(3_500, 800),
    CRITIC: UsualTokens(3_500, 600),
    ARBITER: UsualTokens(2_000, 250),
}
"""Of two rounds that Arbiter ends, with one look-up of Scout's; thinking comes on top."""


UNKNOWN, UNFINISHED, A_NEW_POSITION = "unknown", "unfinished", "a new position"


class RecordSummary(Struct, frozen=True):
    subject: str
    outcome: str


def summarise(path: Path) -> RecordSummary:
    ends = read_ends(path)
    subject, outcome = UNKNOWN, UNFINISHED
    match ends.first:
        case {"payload": {"tokenId": str(name)}} if (ref := read_position_ref(name)) is not None:
            subject = f"position {position_label(ref)}"
        case {"payload": {"goal": _}}:
            subject = A_NEW_POSITION
        case {"payload": {"question": {"symbol": str(symbol)}}}:
            subject = clean_text(symbol)
    match ends.last:
        case {"kind": DebateKind.PLAN_READY, "payload": {"plan": {"choice": {"kind": str(kind)}}}}:
            outcome = clean_text(kind)
        case {"kind": "trade_plan_ready", "payload": {"plan": {"decision": str(decision)}}}:
            outcome = clean_text(decision)
        case {"kind": Kind.FLOW_FAILED, "payload": {"reason": str(reason)}}:
            outcome = f"failed: {clean_text(reason)}"
    return RecordSummary(subject, outcome)
