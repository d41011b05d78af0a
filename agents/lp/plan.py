"""A plan and what it is made of: candidates with their numbers, and how they were judged."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from pydantic import Field

from agents.bus.envelope import Claim, Measure, Payload, PositionNumber, Units
from agents.numbers.advice import AdviceReason
from agents.numbers.regime import Regime
from agents.numbers.rules import (
    CheckedAssumption,
    Decision,
    JudgmentVerdict,
    PlanVerdict,
    RiskProfile,
    Rule,
)
from agents.numbers.shapes import ExposureBias
from chain.base.strict_json import canonical, digest
from chain.math.liquidity import Amounts

CandidateKind = Literal["hold", "exit", "tighten", "widen", "shift", "create", "migrate"]


class PricedToken(NamedTuple):
    address: str
    decimals: int


class OwnRange(Payload):
    """A range that a person named, in prices: units of one token for a unit of the other."""

    token: str
    """The one that is priced."""
    quote: str
    low: Measure
    high: Measure

    @classmethod
    def of_prices(
        cls, token: PricedToken, quote: PricedToken, low: Fraction, high: Fraction
    ) -> OwnRange:
        """From prices of whole tokens."""
        scale = Fraction(10) ** (quote.decimals - token.decimals)
        return cls(
            token=token.address,
            quote=quote.address,
            low=float(low * scale),
            high=float(high * scale),
        )


class ShapeChoice(Payload):
    """What a model may choose: a form within bounds, never a tick or an amount."""

    width_multiplier: Measure
    center_offset_ticks: int
    pool_index: int = 0
    exposure: ExposureBias = ExposureBias.NEUTRAL
    own_range: OwnRange | None = Field(default=None, exclude_if=lambda own: own is None)
    """Instead of a form: what the person named. No model can."""
    by_model: bool = Field(default=False, exclude_if=lambda model: not model)
    """Whether a model proposed it."""
    same_range: bool = Field(default=False, exclude_if=lambda same: not same)
    """Instead of a form: the range that is held, in another pool of its pair."""
    beside: bool = Field(default=False, exclude_if=lambda beside: not beside)
    """Instead of a form: the range next to the price that takes what is held without a swap."""
    full_range: bool = Field(default=False, exclude_if=lambda full: not full)
    """Instead of a form: every price there is. The rules propose it where a pool does not pay."""


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
    pool_id: str | None = Field(default=None, exclude_if=lambda pool: pool is None)
    """The pool it goes through; None for the one that is entered."""


class BufferHours(Payload):
    """Hours survived with 95 % probability by the model, at multiples of the volatility."""

    at_1x: Measure = Field(validation_alias="1", serialization_alias="1")
    at_2x: Measure = Field(validation_alias="2", serialization_alias="2")
    at_3x: Measure = Field(validation_alias="3", serialization_alias="3")


class Survival(Payload):
    day: Measure = Field(validation_alias="24h", serialization_alias="24h")
    week: Measure | None = Field(default=None, validation_alias="7d", serialization_alias="7d")
    """None until volatility is known over 30 days."""


class RuleFinding(Payload):
    rule: Rule
    verdict: JudgmentVerdict
    value: Measure | None
    """None is unknown, or never."""
    limit: Measure | None
    words: str


class ReplayedRange(Payload):
    """What a range would have earned and lost, had it been there while this happened."""

    fees_usd: Measure
    lvr_usd: Measure
    in_range_share: Measure
    """Of the way the price went."""
    steps: int


class MoveJudgment(Payload):
    """By the rules first; a model may only be stricter."""

    verdict: JudgmentVerdict
    by_rules: JudgmentVerdict
    findings: tuple[RuleFinding, ...]
    reason: str
    """The Critic's own words."""
    replay_24h: ReplayedRange | None = None
    """The Critic's second method: the last day's swaps run through the range."""
    replay_7d: ReplayedRange | None = None
    """The week by its hours."""


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
    withdrawn0: Units = Field(default=0, exclude_if=lambda amount: not amount)
    withdrawn1: Units = Field(default=0, exclude_if=lambda amount: not amount)
    """Taken out of the range before, which comes to the wallet with a move."""
    liquidity: Units
    prep_action: PrepAction | None
    buffer_hours: BufferHours | None
    survival: Survival | None
    median_life_hours: Measure | None
    in_range_share: Measure | None
    value_usd: Measure | None
    fee_yield_24h: Measure | None
    """What is expected; one day in ten pays less than the low end, one more than the high one."""
    fee_low_24h: Measure | None
    fee_high_24h: Measure | None
    lvr_24h: Measure | None
    net_7d: Measure | None
    """Fees − LVR of seven days, less the whole cost; between these with the same fees' ends."""
    net_low_7d: Measure | None
    net_high_7d: Measure | None
    gas_usd: Measure | None
    cost_usd: Measure | None
    gas_yield: Measure | None
    break_even_hours: Measure | None
    """None is unknown, unless it is said to be never."""
    breaks_even: bool
    """False where it surely never earns its cost back."""
    judgment: MoveJudgment | None = None

    @property
    def comes_back(self) -> Amounts:
        """What a move leaves in the wallet."""
        return Amounts(self.residual0 + self.withdrawn0, self.residual1 + self.withdrawn1)


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
    codes: tuple[AdviceReason, ...]
    """What decided first, then what is said beside it."""
    reasons: tuple[str, ...]
    claims: tuple[Claim, ...] = Field(default=(), exclude_if=lambda made: not made)
    """What the reasons say of the options, as data."""


class Dissent(Payload):
    """What a model wanted that the plan is not: kept beside it, and scored later."""

    role: str
    verdict: Literal["revise", "veto", "choose"]
    wanted: int | None
    """The candidate it would have taken; None where it would take none."""
    overruled: str
    """By what, in half a sentence."""


class AssumptionCheck(Payload):
    """Whether the choice would be the same if one thing were otherwise; None is unknown."""

    assumption: CheckedAssumption
    survives: bool | None


class PlanPoolFacts(Payload):
    """A pool the plan speaks of: what its units and ticks mean, and what it pays."""

    pool_id: str
    currency0: str
    currency1: str
    decimals0: int | None
    decimals1: int | None
    fee: int
    """As the pool's key has it, or the flag of one that changes."""
    tick_spacing: int
    hooks: str
    lp_fee: int
    sqrt_price_x96: Units
    tick: int
    edge_7d: Measure | None
    """What it paid over what arbitrage took, in seven days; None is unknown."""


class Plan(Payload):
    """The outcome of a debate; its id is the hash of everything else in it."""

    plan_id: str
    kind: Literal["rebalance", "create"]
    chain_id: int
    block: int
    block_hash: str
    time: int
    position: PositionNumber | None
    """Its number; None for a plan that creates one."""
    owner: str
    profile: RiskProfile
    regime: Regime
    decided_by: Literal["critic", "arbiter"]
    rounds: int
    decision: Decision
    verdict: PlanVerdict
    assumptions: tuple[AssumptionCheck, ...]
    """Which of them the choice survives; no chance of being right is claimed."""
    choice: Choice
    recommended: Candidate
    candidates: tuple[Candidate, ...]
    hold: Candidate
    exit: Candidate | None
    """None where nothing is held yet."""
    pools: tuple[PlanPoolFacts, ...]
    """Those of HOLD and of the candidates."""
    bought: str | None
    """The token a new position would buy though nobody named it; None where that is not so."""
    rejected: tuple[Rejected, ...]
    rules_alone: Choice
    """What the rules would have chosen with nobody arguing."""
    rules_move: Candidate | None
    """The move they would have chosen, which need not be among those that were argued about."""
    context_hash: str
    sources: dict[str, str]
    dissent: tuple[Dissent, ...] = Field(default=(), exclude_if=lambda others: not others)
    own_range: bool = Field(default=False, exclude_if=lambda own: not own)
    """Whether its one move is a range that the person named."""


def plan_identity(plan: Plan) -> str:
    """The id of a plan by its content."""
    content = plan.model_dump(mode="json", by_alias=True, exclude={"plan_id"})
    return f"plan_{digest(canonical(content))[:16]}"
