"""A plan of agents elsewhere made again here, and a second Critic's judgment of one of ours."""

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from enum import StrEnum

from pydantic import ValidationError

from agents.bus.bus import FlowSpec
from agents.bus.envelope import CLI, Envelope, Payload
from agents.bus.record import RecordWriter
from agents.bus.replay import Record
from agents.bus.run import FlowOutcome, Listener, RemoteAgents, run_flow
from agents.bus.worker import Ambient, BusLimits, HandlerContext, Outgoing
from agents.lp import FLOW, facts, payloads
from agents.lp.advising import standing_advice
from agents.lp.conclude import chosen_move, is_permitted, own_move, plan_of
from agents.lp.critic import critic, with_judgment
from agents.lp.debate import replay_debate
from agents.lp.evaluation import evaluate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.judge import Opinion, judged_round, recompute
from agents.lp.plan import Candidate, Plan, ShapeChoice
from agents.lp.services import DebateServices, Eyes, recorded_context, recorded_services
from agents.numbers.regime import Regime, read_regime
from agents.numbers.rules import JudgmentVerdict, strictest
from agents.numbers.shapes import ShapeError
from chain.contracts.pool_key import DYNAMIC_FEE
from chain.math.liquidity import LiquidityError, amounts_for_liquidity
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, sqrt_price_at_tick, tick_at_sqrt_price

_JUDGED = "critic_judged"


class CriticJudged(Payload):
    """What a Critic thinks of each candidate, wherever it would have sent the debate."""

    verdicts: tuple[JudgmentVerdict, ...]
    reasons: tuple[str, ...]


async def _tell(
    envelope: Envelope,
    context: HandlerContext[DebateServices],  # noqa: ARG001 - a handler's form
) -> AsyncGenerator[Outgoing, None]:
    """In the place of the Strategist and the Arbiter: the desk has heard enough."""
    if isinstance(envelope.payload, payloads.Debate):
        yield Outgoing(_JUDGED, CLI, _judgments(envelope.payload.latest.candidates))


SECOND_OPINION = FlowSpec(
    name=FLOW,
    package="agents.lp",
    registry=payloads.DEBATE.extend({_JUDGED: CriticJudged}, final=(_JUDGED,)),
    handlers={payloads.CRITIC: critic, payloads.STRATEGIST: _tell, payloads.ARBITER: _tell},
    first=payloads.CRITIC,
    starts=(payloads.DebateKind.PROPOSAL,),
    recorded_services=recorded_services,
)


async def ask_second_critic(
    proposal: payloads.Proposal,
    eyes: Eyes,
    record: RecordWriter,
    remote: RemoteAgents,
    *,
    ambient: Ambient,
    request_id: str,
    limits: BusLimits,
    tokens: int | None,
    listener: Listener,
) -> CriticJudged | None:
    """What it says of each candidate; None where it could not be heard."""
    outcome = await run_flow(
        SECOND_OPINION,
        proposal,
        DebateServices(eyes, None),
        record,
        ambient=ambient,
        request_id=request_id,
        limits=limits,
        tokens=tokens,
        remote=remote,
        listener=listener,
    )
    return _heard(outcome)


def last_proposal(record: Record) -> payloads.Proposal | None:
    """What the first Critic judged last."""
    for wire in reversed(record.envelopes()):
        payload = payloads.DEBATE.open(wire).payload
        if isinstance(payload, payloads.Proposal):
            return payload
    return None


def stricter_plan(
    proposal: payloads.Proposal, plan: Plan, second: CriticJudged, name: str
) -> Plan | None:
    """The plan by the stricter of both for each candidate; None where the second is nowhere."""
    first = _judgments(plan.candidates)
    merged: dict[int, Opinion] = {}
    stricter = False
    for index, ours in enumerate(first.verdicts):
        # Whoever is elsewhere may say too little: then the first stands alone.
        theirs = second.verdicts[index] if index < len(second.verdicts) else ours
        if strictest((ours, theirs)) is ours:
            merged[index] = Opinion(ours, first.reasons[index])
        else:
            stricter = True
            reason = second.reasons[index] if index < len(second.reasons) else "no reason given"
            merged[index] = Opinion(theirs, f"{name}: {reason}")
    if not stricter:
        return None
    judged = judged_round(proposal.context, recompute(proposal), merged)
    chosen = chosen_move(proposal.context, judged, own_move(proposal))
    debate = with_judgment(proposal, judged, f"{name} is stricter than the first Critic.", ())
    return plan_of(debate, judged, chosen, decided_by=plan.decided_by)


def _heard(outcome: FlowOutcome) -> CriticJudged | None:
    match outcome.result:
        case CriticJudged() as judged:
            return judged
        case payloads.PlanReady(plan=plan):
            return _judgments(plan.candidates)
        case _:
            return None


def _judgments(candidates: Sequence[Candidate]) -> CriticJudged:
    judged = [candidate.judgment for candidate in candidates if candidate.judgment is not None]
    return CriticJudged(
        verdicts=tuple(judgment.verdict for judgment in judged),
        reasons=tuple(judgment.reason for judgment in judged),
    )


# At one block what the chain holds is the same to the last unit. A few blocks apart the price has
# moved and fees have grown, and other sources may price a token or measure a market a little
# otherwise, so those have room; who owns what, and which pool it is, has none.
MOST_TICKS_APART = 500
"""Between the Scout's block and a later one here: five per cent."""
MOST_SECONDS_APART = 3_600
"""Between the times of the two blocks: the market of an embedded chain may run fast."""
_PRICE_ROOM = 1.1
_MARKET_ROOM = 2.0
_GAS_ROOM = 4.0
"""By which factor a figure may differ; a base fee doubles in six blocks."""
_MARKET_FIGURES = (
    *("sigma", "sigma_24h", "sigma_7d", "fees_24h_usd", "implied_sigma_24h", "implied_sigma_7d"),
    *("fee_rate_24h", "fee_rate_7d", "edge_7d", "fee_low_factor", "fee_high_factor"),
    *("sigma_30d", "week_low_factor", "week_high_factor"),
)
_OWN_FIELDS = ("token_id", "owner", "tick_lower", "tick_upper", "liquidity", "has_subscriber")
_POOL_FIELDS = (
    *("pool_id", "currency0", "currency1", "fee", "tick_spacing", "hooks"),
    *("hook_danger", "hook_powers", "protocol_fee"),
)


def differing_fact(
    theirs: facts.ScoutContext, ours: facts.ScoutContext, spoken_of: Collection[str]
) -> str | None:
    """In words; None where all is alike. Of surveyed pools those spoken of are looked at."""
    return next(_differing(theirs, ours, spoken_of), None)


def _differing(
    theirs: facts.ScoutContext, ours: facts.ScoutContext, spoken_of: Collection[str]
) -> Iterator[str]:
    yield from _differing_block(theirs, ours)
    if isinstance(theirs, facts.MarketContext) and isinstance(ours, facts.MarketContext):
        same_block = theirs.block == ours.block
        yield from _differing_position(theirs, ours, same_block=same_block)
        yield from _differing_pool(theirs.observed, ours.observed, same_block=same_block)
        yield from _differing_pools(theirs.into, ours.into, spoken_of, same_block=same_block)
    elif isinstance(theirs, facts.CreateContext) and isinstance(ours, facts.CreateContext):
        yield from _differing_survey(theirs, ours, spoken_of)
    else:
        yield "what was asked for"
    yield from _differing_gas(theirs.gas, ours.gas)


def _differing_block(theirs: facts.Observation, ours: facts.Observation) -> Iterator[str]:
    if theirs.block == ours.block and (theirs.block_hash, theirs.time) != (
        ours.block_hash,
        ours.time,
    ):
        yield f"block {theirs.block}"
    if abs(theirs.time - ours.time) > MOST_SECONDS_APART:
        yield "the time of the block"


def _differing_position(
    theirs: facts.MarketContext, ours: facts.MarketContext, *, same_block: bool
) -> Iterator[str]:
    for name in _OWN_FIELDS:
        if getattr(theirs.position, name) != getattr(ours.position, name):
            yield f"the position's {_words(name)}"
    if not _holds_its_amounts(theirs.position, theirs.observed.pool):
        yield "what the position holds"
    for place in "01":
        # Whether it is fees or was withdrawn, not everybody's endpoint tells.
        said, read = (
            getattr(each.position, f"fees{place}") + getattr(each.position, f"withdrawn{place}")
            for each in (theirs, ours)
        )
        held = f"amount{place}"
        room = max(said, read) // 4 + getattr(ours.position, held) // 100
        if abs(said - read) > (0 if same_block else room):
            yield "the position's fees"


def _holds_its_amounts(
    position: facts.ObservedPositionFacts, pool: facts.ObservedPoolFacts
) -> bool:
    """Whether the amounts are those of its liquidity at the price that is told beside them."""
    edges = (sqrt_price_at_tick(position.tick_lower), sqrt_price_at_tick(position.tick_upper))
    price, liquidity = pool.sqrt_price_x96, position.liquidity
    return (position.amount0, position.amount1) == amounts_for_liquidity(
        price, *edges, liquidity, round_up=False
    )


def _differing_survey(
    theirs: facts.CreateContext, ours: facts.CreateContext, spoken_of: Collection[str]
) -> Iterator[str]:
    if theirs.wrapped_native != ours.wrapped_native:
        yield "the wrapped coin"
    same_block = theirs.block == ours.block
    yield from _differing_pools(theirs.pools, ours.pools, spoken_of, same_block=same_block)


def _differing_pools(
    theirs: Sequence[facts.ObservedPool],
    ours: Sequence[facts.ObservedPool],
    spoken_of: Collection[str],
    *,
    same_block: bool,
) -> Iterator[str]:
    found = {pool.pool.pool_id: pool for pool in ours}
    for told in theirs:
        pool_id = told.pool.pool_id
        if pool_id not in spoken_of:
            continue
        if pool_id not in found:
            yield f"the pool {pool_id[:10]}…, which is not found here"
        else:
            yield from _differing_pool(told, found[pool_id], same_block=same_block)


def _differing_pool(
    theirs: facts.ObservedPool, ours: facts.ObservedPool, *, same_block: bool
) -> Iterator[str]:
    for name in _POOL_FIELDS:
        if getattr(theirs.pool, name) != getattr(ours.pool, name):
            yield f"the pool's {_words(name)}"
    if theirs.pool.lp_fee != ours.pool.lp_fee and theirs.pool.fee != DYNAMIC_FEE:
        yield "the pool's fee"
    if same_block and theirs.pool != ours.pool:
        yield "the pool's price or liquidity"
    if (
        not _is_price_of_tick(theirs.pool)
        or abs(theirs.pool.tick - ours.pool.tick) > MOST_TICKS_APART
    ):
        yield "the pool's price"
    yield from _differing_token(theirs.token0, ours.token0)
    yield from _differing_token(theirs.token1, ours.token1)
    for name in _MARKET_FIGURES:
        if not _alike(getattr(theirs.market, name), getattr(ours.market, name), _MARKET_ROOM):
            yield f"the market's {_words(name)}"
    if theirs.regime not in (ours.regime, _regime_of(theirs.market)):
        yield "the regime"


def _is_price_of_tick(pool: facts.ObservedPoolFacts) -> bool:
    if not MIN_SQRT_PRICE <= pool.sqrt_price_x96 < MAX_SQRT_PRICE:
        return False
    # A swap that ends on an edge from above leaves the tick below it.
    return 0 <= tick_at_sqrt_price(pool.sqrt_price_x96) - pool.tick <= 1


def _differing_token(theirs: facts.TokenFacts, ours: facts.TokenFacts) -> Iterator[str]:
    for name in ("address", "decimals", "kind"):
        if getattr(theirs, name) != getattr(ours, name):
            yield f"a token's {_words(name)}"
    if not _alike(theirs.usd_per_unit, ours.usd_per_unit, _PRICE_ROOM):
        yield "a token's price in dollars"


def _differing_gas(theirs: facts.GasFacts, ours: facts.GasFacts) -> Iterator[str]:
    for name in ("wei_per_gas", "l1_data_fee_wei"):
        if not _alike(getattr(theirs, name), getattr(ours, name), _GAS_ROOM):
            yield "the price of gas"
    if not _alike(theirs.usd_per_wei, ours.usd_per_wei, _PRICE_ROOM):
        yield "the price of the coin that gas is paid in"


def _regime_of(market: facts.MarketFacts) -> Regime:
    if market.sigma_24h is None:
        return read_regime(market.sigma, None, None).regime
    return read_regime(market.sigma_24h, market.sigma_7d, market.path_efficiency).regime


def _alike(theirs: float | None, ours: float | None, room: float) -> bool:
    """Within this factor; what either side does not know cannot be held against the other."""
    if theirs is None or ours is None or theirs == ours:
        return True
    least, most = sorted((theirs, ours))
    return least > 0 and most <= room * least


def _words(name: str) -> str:
    return name.replace("_", " ")


class PlanFault(StrEnum):
    NO_FACTS = "no facts"
    OTHER_NETWORK = "other network"
    OTHER_QUESTION = "other question"
    OTHER_PLAN = "other plan"
    """Than the debate, held again here, comes to."""
    OTHER_FACTS = "other facts"
    OTHER_ADVICE = "other advice"
    """Than the facts read here give."""


class PlanRefusedError(Exception):
    """What came is not what its own facts give, or not about what was asked."""

    def __init__(self, fault: PlanFault, words: str) -> None:
        super().__init__(words)
        self.fault = fault


async def refuse_unless_rebuilt(
    plan: Plan,
    record: Record,
    start: payloads.FlowStart | payloads.FlowCreateStart,
    chain_id: int,
    seen_here: facts.ScoutContext,
) -> None:
    """Run the debate again from its record, and hold its facts against what is asked and seen."""
    context = _facts(record)
    if context.chain_id != chain_id:
        raise PlanRefusedError(PlanFault.OTHER_NETWORK, "The Scout looked at another network.")
    _refuse_other_question(context, start)
    _, again = await replay_debate(record)
    if again.plan != plan:
        raise PlanRefusedError(
            PlanFault.OTHER_PLAN, "The same debate, held here, comes to another plan."
        )
    spoken_of = {pool.pool_id for pool in plan.pools} | {plan.recommended.pool_id}
    differing = differing_fact(context, seen_here, spoken_of)
    if differing is not None:
        raise PlanRefusedError(
            PlanFault.OTHER_FACTS,
            f"The chain, read here, contradicts the Scout: {differing}.",
        )
    _refuse_other_advice(plan, record, context, _as_the_desk_knows(seen_here, start))


def _facts(record: Record) -> facts.ScoutContext:
    try:
        context = recorded_context(record)
    except ValidationError:
        raise PlanRefusedError(
            PlanFault.NO_FACTS, "The facts it was made from cannot be read."
        ) from None
    if context is None:
        raise PlanRefusedError(PlanFault.NO_FACTS, "It names no facts that it was made from.")
    return context


def _refuse_other_question(
    context: facts.ScoutContext, start: payloads.FlowStart | payloads.FlowCreateStart
) -> None:
    asked: object
    found: object
    if isinstance(start, payloads.FlowStart) and isinstance(context, facts.MarketContext):
        asked = start.token_id, start.last_action_time, start.keep
        found = context.position.token_id, context.position.last_action_time, context.keep
    elif isinstance(start, payloads.FlowCreateStart) and isinstance(context, facts.CreateContext):
        asked, found = (start.goal, start.owner), (context.goal, context.owner)
    else:
        asked, found = start, context
    if asked != found or (start.profile, start.allowed_hooks) != (
        context.profile,
        context.allowed_hooks,
    ):
        raise PlanRefusedError(
            PlanFault.OTHER_QUESTION, "The Scout did not look at what was asked for."
        )


def _refuse_other_advice(
    plan: Plan, record: Record, theirs: facts.ScoutContext, ours: facts.ScoutContext
) -> None:
    """What is advised must stand by the facts read here, too: no room of theirs buys a move."""
    if plan.choice.kind == "move":
        _refuse_move(plan, record, ours)
    elif isinstance(theirs, facts.MarketContext) and isinstance(ours, facts.MarketContext):
        said, found = (
            standing_advice(context, evaluation_of(context)).action for context in (theirs, ours)
        )
        if said is not found:
            raise PlanRefusedError(
                PlanFault.OTHER_ADVICE,
                f"By the facts read here the position's advice is {found.value}, not {said.value}.",
            )


def _refuse_move(plan: Plan, record: Record, ours: facts.ScoutContext) -> None:
    move = plan.recommended
    shape = _shape_of(move, record)
    if shape is None or move.judgment is None:
        raise PlanRefusedError(
            PlanFault.OTHER_PLAN, "The move it recommends is not among those that were proposed."
        )
    here = shape.model_copy(update={"pool_index": _pool_index(ours, move.pool_id)})
    try:
        again = evaluate(evaluation_of(ours, here.pool_index), here, 0)
    except (ShapeError, LiquidityError) as error:
        raise PlanRefusedError(
            PlanFault.OTHER_ADVICE, f"The move it recommends cannot be made here. {error}"
        ) from None
    [judged] = judged_round(ours, (again,), {}).moves
    hardest = strictest((judged.judgment.by_rules, move.judgment.by_rules))
    if hardest is not move.judgment.by_rules or not is_permitted(ours, judged):
        raise PlanRefusedError(
            PlanFault.OTHER_ADVICE,
            "By the facts read here the move it recommends does not keep the rules: "
            f"{judged.judgment.reason}.",
        )


def _shape_of(move: Candidate, record: Record) -> ShapeChoice | None:
    """The form that was proposed for it, which the plan itself leaves out."""
    proposal = last_proposal(record)
    for proposed in () if proposal is None else proposal.latest.candidates:
        if proposed.model_copy(update={"shape": None, "judgment": move.judgment}) == move:
            return proposed.shape
    return None


def _pool_index(ours: facts.ScoutContext, pool_id: str) -> int:
    pools = ours.pools
    for index, observed in enumerate(pools):
        if observed.pool.pool_id == pool_id:
            return index
    raise PlanRefusedError(
        PlanFault.OTHER_ADVICE, "The move it recommends is in a pool that is not found here."
    )


def _as_the_desk_knows(
    ours: facts.ScoutContext, start: payloads.FlowStart | payloads.FlowCreateStart
) -> facts.ScoutContext:
    known: dict[str, object] = {"allowed_hooks": start.allowed_hooks}
    if isinstance(ours, facts.MarketContext) and isinstance(start, payloads.FlowStart):
        since = {"last_action_time": start.last_action_time}
        known["position"] = ours.position.model_copy(update=since)
        known["keep"] = start.keep
    return ours.model_copy(update=known)
