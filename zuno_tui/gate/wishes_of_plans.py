"""A plan's candidate on the chain as it is now: its ticks stay, its amounts are found anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chain.execution.building_facts import BIPS, Span, position_facts
from chain.execution.building_requests import Close, QuotedSwap, ReRange
from chain.execution.recipes_tolerance import RE_RANGE_IDLE_BIPS
from chain.math.liquidity import Amounts
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.subjects import subject_of
from zuno_tui.gate.swap_pools import (
    ask_quoter,
    best_elsewhere,
    read_other_pools,
    terms_elsewhere,
)
from zuno_tui.gate.wishes import Wish, owned_position, pair_of

if TYPE_CHECKING:
    from agents.facts import MarketContext
    from agents.numbers.swap import PrepSwap
    from agents.plan import Candidate, Plan
    from chain.execution.building_facts import PositionFacts
    from chain.networks import Address
    from chain.overview import Sources
    from chain.pool_key import PoolKey
    from chain.pools.depth import Depth

_WORSE_BIPS = 100
"""How much less than planned a swap may pay and still be the same plan's."""


async def wish_of_plan(sources: Sources, plan: Plan, candidate: Candidate, owner: Address) -> Wish:
    if plan.position is None:
        from zuno_tui.gate.wishes_to_open import wish_to_open

        return await wish_to_open(sources, plan, candidate, owner)
    return await _wish_to_change(sources, plan, candidate, plan.position, owner)


def planned_span(candidate: Candidate) -> Span:
    if candidate.tick_lower is None or candidate.tick_upper is None:
        raise GateRefusedError("This choice names no range. Choose another: zuno plan")
    return Span(candidate.tick_lower, candidate.tick_upper)


def quoted_swap(pool: PoolKey, swap: PrepSwap) -> QuotedSwap:
    return QuotedSwap(
        pool, swap.zero_for_one, swap.amount_in, swap.amount_out, swap.sqrt_price_after
    )


async def _wish_to_change(
    sources: Sources, plan: Plan, candidate: Candidate, token_id: int, owner: Address
) -> Wish:
    from agents.observing import ChainObserver

    context = await ChainObserver(sources).observe_position(token_id, plan.profile)
    snapshot = await owned_position(sources, token_id, owner, context.block_hash)
    observed, facts = context.observed, position_facts(snapshot)
    if observed.pool.pool_id != snapshot.pool.key.pool_id:
        sources.memory.remember([snapshot.identity])
        raise GateRefusedError(
            f"What was remembered of position #{token_id} is not what the chain says now. "
            f"It is mended. Ask for a new plan: zuno recommend {token_id}",
            RefusalCode.DRIFT,
        )
    priced = {
        observed.pool.currency0: observed.token0.usd_per_unit,
        observed.pool.currency1: observed.token1.usd_per_unit,
    }
    wish = Wish(
        plan.plan_id,
        f"Leave position #{token_id}",
        Close(facts),
        subject_of(snapshot),
        pair_of(snapshot.pool.key),
        {token: usd for token, usd in priced.items() if usd is not None},
        context.gas.usd_per_wei,
    )
    if candidate.kind == "exit":
        return wish
    span = planned_span(candidate)
    moving = replace(
        wish,
        headline=f"Move position #{token_id} to ticks {span.tick_lower} to {span.tick_upper}",
    )
    request = _re_range(context, facts, span, None)
    if request.swap is None:
        return replace(moving, request=request)
    others = await read_other_pools(sources, facts.pool.key, context.block_hash)
    swap = request.swap
    if (better := best_elsewhere(others, swap)) is not None:
        there = _re_range(context, facts, span, better)
        request, swap = (request, swap) if there.swap is None else (there, there.swap)
    quotes = await ask_quoter(sources, swap, facts.pool, others, context.block_hash)
    refuse_worse_than_planned(candidate, quotes.swap)
    return replace(moving, request=replace(request, swap=quotes.swap), quotes=quotes)


def refuse_worse_than_planned(candidate: Candidate, swap: QuotedSwap) -> None:
    """The plan was judged by what its swap pays: much less is another plan."""
    planned = candidate.prep_action
    if planned is None or planned.zero_for_one != swap.zero_for_one:
        return
    least = planned.amount_out * swap.amount_in * (BIPS - _WORSE_BIPS)
    if swap.amount_out * planned.amount_in * BIPS < least:
        raise GateRefusedError(
            "The swap now pays over 1 % less than the plan counts on. "
            "Nothing was signed. Ask for a new plan: zuno recommend ID"
        )


def _re_range(
    context: MarketContext, position: PositionFacts, span: Span, elsewhere: Depth | None
) -> ReRange:
    """With the swap the range needs; a small part is not put in, so that drift is survived."""
    from agents.evaluation import allocation_for
    from agents.ground import ground_of
    from agents.numbers.edges import TickRange
    from agents.numbers.inventory import allocate_inventory

    if not position.liquidity:
        return ReRange(position, span, None)
    ground, ticks = ground_of(context), TickRange(span.tick_lower, span.tick_upper)
    if elsewhere is None:
        pool, allocation = position.pool.key, allocation_for(ground, ticks)
    else:
        pool, terms = elsewhere.state.key, terms_elsewhere(elsewhere)
        allocation = allocate_inventory(
            ground.sqrt_price, ticks, ground.available, Amounts(0, 0), terms
        )
    if allocation.swap is None:
        return ReRange(position, span, None)
    liquidity = allocation.liquidity * (BIPS - RE_RANGE_IDLE_BIPS) // BIPS
    return ReRange(position, span, quoted_swap(pool, allocation.swap), liquidity)
