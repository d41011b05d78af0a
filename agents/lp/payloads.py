"""What each kind of message carries. Every agent finds in it all it needs: none keeps a memory."""

from __future__ import annotations

from typing import Literal

from agents.bus.envelope import Kind, Measure, Payload, Registry, Units
from agents.lp.facts import CreateContext, CreateGoal, MarketContext
from agents.lp.plan import Candidate, Plan
from agents.numbers.profiles import RiskProfile
from agents.numbers.rules import Decision
from chain.base.canonical import canonical, digest

MOST_ROUNDS = 6


class FlowStart(Payload):
    """Argue about a position."""

    token_id: Units
    profile: RiskProfile
    max_rounds: int


class FlowCreateStart(Payload):
    """Argue about a position to open."""

    goal: CreateGoal
    owner: str
    profile: RiskProfile
    max_rounds: int


class ContextObserved(Payload):
    context: MarketContext | CreateContext
    context_hash: str
    max_rounds: int


class Objection(Payload):
    """One point of a critique, numbered so that it can be answered."""

    point: int
    candidate: int
    words: str
    needed_multiplier: Measure | None
    """The width that would meet the floor, where a floor is what is missing."""


class PointAnswer(Payload):
    point: int
    words: str


class DebateRound(Payload):
    """One judged proposal."""

    number: int
    candidates: tuple[Candidate, ...]
    rationale: str
    answers: tuple[PointAnswer, ...]
    proposed_by: Literal["model", "rules"]
    decision: Decision | None = None
    """None until the Critic has spoken."""
    critique: str = ""
    objections: tuple[Objection, ...] = ()


class Debate(Payload):
    """Everything said so far that binds: Scout's context verbatim, and the rounds."""

    context: MarketContext | CreateContext
    context_hash: str
    max_rounds: int
    hold: Candidate
    exit: Candidate | None
    rounds: tuple[DebateRound, ...]

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


class StruckClaim(Payload):
    """A number in an agent's words that no number it was given stands behind."""

    start: int
    end: int
    why: Literal["mismatch", "unknown", "uncited"]


class Thought(Payload):
    """What an agent says aloud; losing one changes nothing."""

    round: int
    tag: str
    text: str
    struck: tuple[StruckClaim, ...] = ()
    cited: int = 0
    """Numbers that were given and cited rightly."""


DEBATE = Registry(
    {
        Kind.FLOW_START: FlowStart,
        Kind.FLOW_CREATE_START: FlowCreateStart,
        Kind.CONTEXT_OBSERVED: ContextObserved,
        Kind.PROPOSAL: Proposal,
        Kind.REVISION: Proposal,
        Kind.CRITIQUE: Critique,
        Kind.DEADLOCK: Deadlock,
        Kind.PLAN_READY: PlanReady,
        Kind.AGENT_THOUGHT: Thought,
    }
)


def context_hash(context: MarketContext | CreateContext) -> str:
    return digest(canonical(context.model_dump(mode="json", by_alias=True)))
