"""A plan and what it is made of: candidates with their numbers, and how they were judged."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.bus.payload import Measure, Payload, Units
from agents.numbers.choosing import PlanVerdict
from agents.numbers.profiles import RiskProfile
from agents.numbers.regime import Regime
from agents.numbers.rules import Decision, JudgmentVerdict, Rule
from agents.numbers.shapes import ExposureBias
from chain.base.canonical import canonical, digest

CandidateKind = Literal["hold", "exit", "tighten", "widen", "shift", "create"]


class ShapeChoice(Payload):
    """What a model may choose: a form within bounds, never a tick or an amount."""

    width_multiplier: Measure
    center_offset_ticks: int
    pool_index: int = 0
    exposure: ExposureBias = ExposureBias.NEUTRAL


class PrepAction(Payload):
    """The swap a range needs first, with its quote replayed on the pool's own liquidity."""

    kind: Literal["swap"] = "swap"
    zero_for_one: bool
    amount_in: Units
    amount_out: Units
    fee_pips: int
    cost_usd: Measure | None
    """What fee and slippage take."""
    price_moved: Measure
    """By this swap, as a part of the price."""
    minting_loss_usd: Measure | None
    """What is lost by depositing at the price it moved, once arbitrage has moved it back."""


class BufferHours(Payload):
    """Hours survived with 95 % probability by the model, at multiples of the volatility."""

    at_1x: Measure = Field(validation_alias="1", serialization_alias="1")
    at_2x: Measure = Field(validation_alias="2", serialization_alias="2")
    at_3x: Measure = Field(validation_alias="3", serialization_alias="3")


class Survival(Payload):
    day: Measure = Field(validation_alias="24h", serialization_alias="24h")
    week: Measure = Field(validation_alias="7d", serialization_alias="7d")


class RuleFinding(Payload):
    rule: Rule
    verdict: JudgmentVerdict
    value: Measure | None
    """None is unknown, or never."""
    limit: Measure | None
    words: str


class MoveJudgment(Payload):
    """By the rules first; a model may only be stricter."""

    verdict: JudgmentVerdict
    by_rules: JudgmentVerdict
    findings: tuple[RuleFinding, ...]
    reason: str
    """The Critic's own words."""


class Candidate(Payload):
    kind: CandidateKind
    index: int | None
    """Its place among the moves; hold and exit stand beside them."""
    pool_id: str
    shape: ShapeChoice | None
    tick_lower: int | None
    tick_upper: int | None
    amount0: Units
    amount1: Units
    """What the range takes; what comes back, for an exit."""
    residual0: Units
    residual1: Units
    liquidity: Units
    prep_action: PrepAction | None
    buffer_hours: BufferHours | None
    survival: Survival | None
    median_life_hours: Measure | None
    in_range_share: Measure | None
    value_usd: Measure | None
    fee_yield_24h: Measure | None
    lvr_24h: Measure | None
    gas_usd: Measure | None
    cost_usd: Measure | None
    gas_yield: Measure | None
    break_even_hours: Measure | None
    """None is unknown, or never."""
    judgment: MoveJudgment | None = None


class Rejected(Payload):
    index: int
    round: int
    verdict: JudgmentVerdict
    why: str


class Choice(Payload):
    """What is recommended, by name."""

    kind: Literal["hold", "exit", "move"]
    index: int | None
    """Of the move among the candidates of the last round."""
    reasons: tuple[str, ...]


class Plan(Payload):
    """The outcome of a debate; its id is the hash of everything else in it."""

    plan_id: str
    kind: Literal["rebalance", "create"]
    chain_id: int
    block: int
    block_hash: str
    time: int
    position: Units | None
    """The token id; None for a plan that creates one."""
    owner: str
    profile: RiskProfile
    regime: Regime
    decided_by: Literal["critic", "arbiter"]
    rounds: int
    decision: Decision
    verdict: PlanVerdict
    confidence: Measure
    choice: Choice
    recommended: Candidate
    candidates: tuple[Candidate, ...]
    hold: Candidate
    exit: Candidate | None
    """None where nothing is held yet."""
    rejected: tuple[Rejected, ...]
    rules_alone: Choice
    """What the rules would have chosen with nobody arguing."""
    context_hash: str
    sources: dict[str, str]


def plan_identity(plan: Plan) -> str:
    """The id of a plan by its content."""
    content = plan.model_dump(mode="json", by_alias=True, exclude={"plan_id"})
    return f"plan_{digest(canonical(content))[:16]}"
