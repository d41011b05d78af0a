"""The candidate of a plan that is meant, on the chain as it is now: its ticks stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from agents.lp.advice_words import option_index, option_letter
from agents.numbers.rules import JudgmentVerdict, Rule
from chain.base.units import BIPS
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.execution.plan.facts import PoolFacts, position_facts
from chain.execution.plan.requests import CloseRequest, CreateRequest, QuotedSwap, ReRangeRequest
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.pools.depth import Depth, read_depths, read_states
from chain.positions.overview import Sources
from chain.protocols.pool import PoolState, is_pair_of, is_turned
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock
from chain.rpc.records import Block
from chain.survey.discovery import SurveyedPool, SurveyPlan, survey_pools
from zuno_tui.gate.actions.action import (
    Action,
    ActionTarget,
    SwapQuotes,
    owned_position,
    pair_of,
    spendable_tokens,
    subject_of,
)
from zuno_tui.gate.actions.range_prices import pool_name, range_prices
from zuno_tui.gate.actions.swap import ask_quoter, read_other_pools
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.worth import read_worth

if TYPE_CHECKING:
    from agents.lp.plan import Candidate, Plan
    from agents.numbers.inventory import Allocation, PrepSwap, RoutedAllocation, SwapTerms


async def action_to_open(
    sources: Sources, plan: Plan, candidate: Candidate, owner: Address
) -> Action:
    if plan.owner != owner:
        raise GateRefusedError(
            f"{plan.plan_id} was made for {plan.owner}, and the wallet is {owner}. "
            "Choose its owner: --address, or zuno wallet use NAME"
        )
    span, capital = planned_span(candidate), capital_of(candidate)
    found = await find_pool(sources, candidate.pool_id)
    state, block = found.pool.state, found.block
    pool = PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee)
    liquidity, quotes = await _entry_of(sources, block, state, span, capital)
    swap = None if quotes is None else quotes.swap
    if swap is not None:
        refuse_worse_than_planned(candidate, swap)
    tokens = spendable_tokens(sources.network, state.key)
    worth = await read_worth(sources, tokens, block)
    return Action(
        plan.plan_id,
        f"Open {pool_name(sources, pool)} at {range_prices(sources, pool, span)}",
        CreateRequest(pool, span, capital, swap, liquidity=liquidity),
        ActionTarget(block, pool),
        tokens,
        worth.usd_per_unit,
        worth.usd_per_wei,
        quotes,
        disputes=worth.disputes,
        planned_cost=candidate.cost_usd,
    )


def capital_of(candidate: Candidate) -> Amounts:
    """What the candidate starts from: all it puts in and leaves, before its swap."""
    put0 = candidate.amount0 + candidate.residual0
    put1 = candidate.amount1 + candidate.residual1
    swap = candidate.prep_action
    if swap is None:
        return Amounts(put0, put1)
    if swap.zero_for_one:
        return Amounts(put0 + swap.amount_in, put1 - swap.amount_out)
    return Amounts(put0 - swap.amount_out, put1 + swap.amount_in)


class FoundPool(NamedTuple):
    pool: SurveyedPool
    block: Block


async def find_pool(sources: Sources, pool_id: PoolId) -> FoundPool:
    """The pool a plan names by its id alone, among those of the network."""
    survey = await survey_pools(sources, SurveyPlan(every_protocol=True))
    for pool in survey.pools:
        if pool.state.pool_id == pool_id:
            return FoundPool(pool, survey.block)
    raise GateRefusedError(
        f"The plan's pool {pool_id} is not among those found on {sources.network.title}. "
        "See them: zuno pools --refresh"
    )


async def _entry_of(
    sources: Sources, block: Block, state: PoolState, span: Span, capital: Amounts
) -> tuple[int, SwapQuotes | None]:
    """What is entered with, and the swap that capital in one token needs before."""
    from agents.lp.observe.pool_facts import REACH
    from agents.numbers.edges import TickRange
    from agents.numbers.inventory import allocate_for_create, routed_allocation, terms_of

    here = OneBlock(sources.client, sources.network, block.hash)
    depths = await read_depths(here, sources.network, [state], reach=REACH)
    ticks = TickRange(span.tick_lower, span.tick_upper)

    def allocate(terms: SwapTerms) -> Allocation:
        price = state.sqrt_price_x96
        return allocate_for_create(state.key, price, ticks, capital, terms).allocation

    terms = terms_of(depths[state.pool_id])
    plain = allocate(terms)
    if plain.swap is None:
        return plain.liquidity, None
    others = await read_other_pools(sources, state.key, block.hash)
    routed = routed_allocation(allocate, terms, others)
    if routed.allocation.swap is None:
        return routed.allocation.liquidity, None
    own = PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee)
    swap = quoted_swap(_pool_swapped_in(routed, state.key), routed.allocation.swap)
    return routed.allocation.liquidity, await ask_quoter(sources, swap, own, others, block.hash)


def _pool_swapped_in(routed: RoutedAllocation, own: PoolKey) -> PoolKey:
    return own if routed.through is None else routed.through.state.key


_WORSE_BIPS = 100
"""How much less than planned a swap may pay and still be the same plan's."""


async def action_of_plan(
    sources: Sources, plan: Plan, candidate: Candidate, owner: Address
) -> Action:
    if plan.position is None:
        return await action_to_open(sources, plan, candidate, owner)
    return await _action_to_change(sources, plan, candidate, plan.position, owner)


def planned_span(candidate: Candidate) -> Span:
    if candidate.tick_lower is None or candidate.tick_upper is None:
        raise GateRefusedError("This choice names no range. Choose another: zuno plan")
    return Span(candidate.tick_lower, candidate.tick_upper)


def quoted_swap(pool: PoolKey, swap: PrepSwap) -> QuotedSwap:
    return QuotedSwap(
        pool, swap.zero_for_one, swap.amount_in, swap.amount_out, swap.sqrt_price_after
    )


async def _action_to_change(
    sources: Sources, plan: Plan, candidate: Candidate, ref: PositionRef, owner: Address
) -> Action:
    """By the state of one block: what the pool did before was judged when the plan was made."""
    block = await sources.client.head()
    snapshot = await owned_position(sources, ref, owner, block.hash)
    key, facts = snapshot.pool.key, position_facts(snapshot)
    if candidate.pool_id != key.pool_id and candidate.kind != "migrate":
        sources.memory.remember([snapshot.identity])
        raise GateRefusedError(
            f"What was remembered of position {position_label(ref)} is not what the chain says "
            f"now. It has been corrected. Ask for a new plan: zuno recommend {position_name(ref)}",
            RefusalCode.DRIFT,
        )
    worth = await read_worth(sources, pair_of(key), block)
    action = Action(
        plan.plan_id,
        f"Close position {position_label(ref)}",
        CloseRequest(facts),
        subject_of(snapshot),
        pair_of(key),
        worth.usd_per_unit,
        worth.usd_per_wei,
        disputes=worth.disputes,
        planned_cost=candidate.cost_usd,
    )
    if candidate.kind == "exit":
        return action
    if candidate.kind == "migrate":
        return await _migration(sources, plan, candidate, action, snapshot)
    span = planned_span(candidate)
    prices = range_prices(sources, facts.pool, span)
    moving = replace(action, headline=f"Move position {position_label(ref)} to {prices}")
    waits = candidate.prep_action is None and _is_beside(span, facts.pool)
    if waits or not facts.liquidity:
        alone = _re_range(snapshot, span, None, ()) if facts.liquidity else None
        return replace(moving, request=alone or ReRangeRequest(facts, span, None))
    depth = await _depth_without(sources, snapshot, block)
    request = _re_range(snapshot, span, depth, ())
    if request.swap is None:
        return replace(moving, request=request)
    others = await read_other_pools(sources, key, block.hash)
    request = _re_range(snapshot, span, depth, others)
    if request.swap is None:
        return replace(moving, request=request)
    quotes = await ask_quoter(sources, request.swap, facts.pool, others, block.hash)
    refuse_worse_than_planned(candidate, quotes.swap)
    return replace(moving, request=replace(request, swap=quotes.swap), quotes=quotes)


def _is_beside(span: Span, pool: PoolFacts) -> bool:
    """Then it takes one token alone, and what little there is of the other goes to the wallet."""
    low, high = span.sqrt_prices
    return not low < pool.sqrt_price_x96 < high


async def _migration(
    sources: Sources, plan: Plan, candidate: Candidate, action: Action, snapshot: PositionSnapshot
) -> Action:
    """Into the pool that was argued about, by its state and the position's at one block."""
    from agents.lp.facts import key_of
    from agents.lp.observe.pool_facts import REACH
    from agents.numbers.edges import TickRange
    from agents.numbers.inventory import allocate_holdings, routed_allocation, terms_of

    network, held, label = sources.network, position_facts(snapshot), position_label(snapshot.ref)
    told = next((pool for pool in plan.pools if pool.pool_id == candidate.pool_id), None)
    own, span = held.pool.key, planned_span(candidate)
    here = OneBlock(sources.client, network, snapshot.block.hash)
    states = (await read_states(here, network, [] if told is None else [key_of(told)])).states
    if not states or not is_pair_of(own, states[0].key, network.wrapped_native):
        raise GateRefusedError(
            f"The pool that {plan.plan_id} names is none of {label}'s pair. Nothing was approved. "
            f"Ask for a new plan: zuno migrate {position_name(snapshot.ref)}"
        )
    [state] = states
    key, price, turned = state.key, state.sqrt_price_x96, is_turned(own, state.key)
    pool, ticks = PoolFacts(key, price, state.lp_fee), TickRange(span.tick_lower, span.tick_upper)
    inside = Amounts(snapshot.amount0 + snapshot.fees0, snapshot.amount1 + snapshot.fees1)

    def allocate(terms: SwapTerms) -> Allocation:
        return allocate_holdings(price, ticks, inside.in_order(turned), terms, None)

    depths = await read_depths(here, network, states, reach=REACH)
    others = await read_other_pools(sources, key, snapshot.block.hash)
    routed = routed_allocation(allocate, terms_of(depths[state.pool_id]), others)
    tokens = tuple(dict.fromkeys((*pair_of(own), *pair_of(key))))
    worth = await read_worth(sources, tokens, snapshot.block)
    where = f"{key.protocol} {pool_name(sources, pool)} at {range_prices(sources, pool, span)}"
    moving = replace(
        action,
        headline=f"Migrate position {label} to {where}",
        request=ReRangeRequest(held, span, None, routed.allocation.liquidity, into=pool),
        tokens=tokens,
        usd_per_unit=worth.usd_per_unit,
    )
    if routed.allocation.swap is None:
        return moving
    swap = quoted_swap(_pool_swapped_in(routed, key), routed.allocation.swap)
    quotes = await ask_quoter(sources, swap, pool, others, snapshot.block.hash)
    refuse_worse_than_planned(candidate, quotes.swap)
    liquidity = routed.allocation.liquidity
    request = ReRangeRequest(held, span, quotes.swap, liquidity, into=pool)
    return replace(moving, request=request, quotes=quotes)


def refuse_worse_than_planned(candidate: Candidate, swap: QuotedSwap) -> None:
    """The plan was judged by what its swap pays: much less is another plan."""
    planned = candidate.prep_action
    if planned is None or planned.zero_for_one != swap.zero_for_one:
        return
    least = planned.amount_out * swap.amount_in * (BIPS - _WORSE_BIPS)
    if swap.amount_out * planned.amount_in * BIPS < least:
        raise GateRefusedError(
            "The swap now pays over 1% less than planned. "
            "Nothing was signed. Ask for a new plan: zuno recommend ID"
        )


async def _depth_without(sources: Sources, snapshot: PositionSnapshot, block: Block) -> Depth:
    """What a swap meets in the pool once the position has left it."""
    from agents.lp.observe.pool_facts import REACH

    here = OneBlock(sources.client, sources.network, block.hash)
    key, identity = snapshot.pool.key, snapshot.identity
    [state] = (await read_states(here, sources.network, [key])).states
    depths = await read_depths(here, sources.network, [state], reach=REACH)
    return depths[state.pool_id].without(
        identity.tick_lower, identity.tick_upper, snapshot.liquidity
    )


def _re_range(
    snapshot: PositionSnapshot, span: Span, own: Depth | None, others: Sequence[Depth]
) -> ReRangeRequest:
    """With the swap the range needs; without any where no depth of the own pool is given."""
    from agents.numbers.edges import TickRange
    from agents.numbers.inventory import allocate_holdings, routed_allocation, terms_of
    from agents.numbers.outlook import Stake

    position, ticks = position_facts(snapshot), TickRange(span.tick_lower, span.tick_upper)
    price = snapshot.pool.sqrt_price_x96
    available = Amounts(snapshot.amount0 + snapshot.fees0, snapshot.amount1 + snapshot.fees1)
    held = Stake(TickRange(position.span.tick_lower, position.span.tick_upper), position.liquidity)

    def allocate(terms: SwapTerms | None) -> Allocation:
        return allocate_holdings(price, ticks, available, terms, held)

    if own is None:
        return ReRangeRequest(position, span, None, allocate(None).liquidity)
    routed = routed_allocation(allocate, terms_of(own), others)
    allocation = routed.allocation
    if allocation.swap is None:
        return ReRangeRequest(position, span, None, allocation.liquidity)
    swap = quoted_swap(_pool_swapped_in(routed, snapshot.pool.key), allocation.swap)
    return ReRangeRequest(position, span, swap, allocation.liquidity)


CLOSE = "close"
"""What closing the position is called among the options of a plan; `exit` is its old name."""


def chosen_candidate(plan: Plan, named: str | None) -> Candidate:
    """The candidate named, or the one the plan recommends."""
    _refuse_edited(plan)
    candidate = _recommended(plan) if named is None else _named(plan, named)
    judgment = candidate.judgment
    asked_for = plan.own_range or candidate.kind == "migrate"
    named_range = asked_for and named is not None and not _is_dangerous(candidate)
    if judgment is not None and judgment.verdict is JudgmentVerdict.VETO and not named_range:
        raise GateRefusedError(
            f"Option {_letter(candidate)} of {plan.plan_id} was ruled out: "
            f"{judgment.reason.rstrip('.')}. Choose another: zuno plan"
        )
    return candidate


def _is_dangerous(candidate: Candidate) -> bool:
    """Whether what speaks against it is the pool itself, and not how the range is chosen."""
    findings = () if candidate.judgment is None else candidate.judgment.findings
    against = (finding.rule for finding in findings if finding.verdict is JudgmentVerdict.VETO)
    return any(rule in (Rule.HOOK, Rule.OWN_SWAP) for rule in against)


def _refuse_edited(plan: Plan) -> None:
    """A plan's id is over all of it: numbers nobody argued about are not approved under it."""
    from agents.lp.plan import plan_identity

    if plan_identity(plan) != plan.plan_id:
        raise GateRefusedError(
            f"The file of {plan.plan_id} was changed since it was made. Nothing was approved. "
            "Ask for a new plan: zuno recommend ID"
        )


def _recommended(plan: Plan) -> Candidate:
    if plan.choice.kind == "hold":
        options = [*map(_letter, plan.candidates), *([] if plan.exit is None else [CLOSE])]
        named = f" To act all the same, name an option: {', '.join(options)}." if options else ""
        keeps = "Advice: keep your tokens." if plan.exit is None else "The plan is to keep it."
        raise GateRefusedError(f"{keeps} There is nothing to sign.{named}")
    return plan.recommended


def _named(plan: Plan, named: str) -> Candidate:
    if named.lower() in (CLOSE, "exit"):
        if plan.exit is None:
            raise GateRefusedError(f"{plan.plan_id} opens a position: there is nothing to close.")
        return plan.exit
    index = option_index(named)
    for move in plan.candidates:
        if move.index is not None and move.index == index:
            return move
    leaving = [] if plan.exit is None else [CLOSE]
    known = ", ".join([*map(_letter, plan.candidates), *leaving])
    raise GateRefusedError(f"{plan.plan_id} has no option {named!r}. It has: {known}.")


def _letter(candidate: Candidate) -> str:
    return candidate.kind if candidate.index is None else option_letter(candidate.index)
