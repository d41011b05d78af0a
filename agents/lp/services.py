"""What a debate works with, live or from its record."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from agents.bus.envelope import CLI, AgentFact, Kind, Role
from agents.bus.replay import Record
from agents.bus.worker import Outgoing, StageFailedError
from agents.lp.facts import (
    CreateContext,
    CreateGoal,
    IntoGoal,
    MarketContext,
    PastFacts,
    ScoutContext,
)
from agents.lp.payloads import SCOUT
from agents.model.interface import Model
from agents.model.recorded import RecordedModel
from agents.numbers.rules import RiskProfile
from chain.protocols.reference import PositionRef, position_label

MODEL_INPUT = "model"
"""Whether a model was asked, as the record says it; of agents elsewhere which of them asked one."""
PLACES_INPUT = "agents"
"""Who of the mesh played which role, as the record says it."""
_OBSERVATION = "observation"
_PAST = "position_past"


class Eyes(Protocol):
    """What Scout sees the chain with."""

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, into: IntoGoal | None = None, /
    ) -> MarketContext: ...

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext: ...

    async def position_past(self, ref: PositionRef) -> PastFacts:
        """What became of a position since it was opened, or StageFailedError."""
        ...


class DebateServices(Struct, frozen=True):
    """What one debate works with; without a model the rules speak."""

    eyes: Eyes
    model: Model | None
    asking: frozenset[str] | None = None
    """Who asks the model, where not everybody does."""

    def of_role(self, role: Role) -> DebateServices:
        if self.asking is None or role in self.asking:
            return self
        return DebateServices(self.eyes, None)


def observation(seen: ScoutContext) -> Outgoing:
    """What was seen, for the record: so that it can be seen again."""
    return Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name=_OBSERVATION, value=seen))


def recorded_context(record: Record) -> ScoutContext | None:
    """What was observed when the record was written; None when it ended before that."""
    seen = record.fact(SCOUT, _OBSERVATION)
    if not isinstance(seen, dict):
        return None
    kind = MarketContext if seen.get("mode") == "rebalance" else CreateContext
    return kind.model_validate(seen, strict=False)


def past_fact(past: PastFacts | None) -> Outgoing:
    """What was read of a position's past, for the record; None where it could not be read."""
    value = None if past is None else past.model_dump(mode="json", by_alias=True)
    return Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name=_PAST, value=value))


def recorded_services(record: Record) -> DebateServices:
    asked = record.inputs().get(MODEL_INPUT)
    model = RecordedModel(record.replies()) if asked else None
    asking = frozenset(map(str, asked)) if isinstance(asked, list) else None
    return DebateServices(RecordedEyes(record), model, asking)


class RecordedEyes:
    """Sees what was seen when the record was written."""

    def __init__(self, record: Record) -> None:
        self._seen = recorded_context(record)
        self._past = record.fact(SCOUT, _PAST)

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, into: IntoGoal | None = None
    ) -> MarketContext:
        seen = self._seen
        if (
            not isinstance(seen, MarketContext)
            or seen.position.token_id != ref
            or seen.profile is not profile
            or bool(seen.into) is (into is None)
        ):
            raise LookupError("The record is of another position or profile.")
        return seen

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        seen = self._seen
        if (
            not isinstance(seen, CreateContext)
            or (seen.goal, seen.owner) != (goal, owner)
            or seen.profile is not profile
        ):
            raise LookupError("The record is of another goal, owner or profile.")
        return seen

    async def position_past(self, ref: PositionRef) -> PastFacts:
        if self._past is None:
            label = position_label(ref)
            raise StageFailedError(f"The record does not hold the past of position {label}.")
        return PastFacts.model_validate(self._past, strict=False)
