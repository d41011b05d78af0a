"""A plan's candidate on the chain as it is now: its ticks stay, its amounts are found anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chain.execution.building_facts import Span, Tolerance, position_facts
from chain.execution.building_requests import Close, QuotedSwap, ReRange
from chain.execution.recipes_sizing import guaranteed_by_exit
from chain.execution.recipes_tolerance import liquidity_after_swap, widest_tolerance
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.subjects import subject_of
from zuno_tui.gate.wishes import Wish, owned_position, pair_of

if TYPE_CHECKING:
    from agents.facts import MarketContext
    from agents.numbers.swap import PrepSwap
    from agents.plan import Candidate, Plan
    from chain.execution.building_facts import PositionFacts
    from chain.networks import Address
    from chain.overview import Sources
    from chain.pool_key import PoolKey


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
    request, tolerance = _re_range(context, facts, span)
    return replace(
        wish,
        headline=f"Move position #{token_id} to ticks {span.tick_lower} to {span.tick_upper}",
        request=request,
        tolerance=tolerance,
    )


def _re_range(
    context: MarketContext, position: PositionFacts, span: Span
) -> tuple[ReRange, Tolerance]:
    """With the swap the range needs, sold out of what leaving is sure to pay."""
    if not position.liquidity or _balancing_swap(context, position, span, None) is None:
        return ReRange(position, span, None), Tolerance()

    def liquidity_at(tolerance: Tolerance) -> int:
        swap = _balancing_swap(context, position, span, tolerance)
        if swap is None:
            return 0
        funds = guaranteed_by_exit(position, tolerance)
        return liquidity_after_swap(position.pool, span, funds, swap, tolerance)

    tolerance = widest_tolerance(liquidity_at)
    swap = _balancing_swap(context, position, span, tolerance)
    return ReRange(position, span, swap), tolerance


def _balancing_swap(
    context: MarketContext, position: PositionFacts, span: Span, tolerance: Tolerance | None
) -> QuotedSwap | None:
    """Of all that is there, or of what an exit within the tolerance is sure to pay."""
    from agents.evaluation import allocation_for
    from agents.ground import ground_of
    from agents.numbers.edges import TickRange

    ground = ground_of(context)
    if tolerance is not None:
        ground = replace(ground, available=guaranteed_by_exit(position, tolerance))
    swap = allocation_for(ground, TickRange(span.tick_lower, span.tick_upper)).swap
    return None if swap is None else quoted_swap(position.pool.key, swap)
