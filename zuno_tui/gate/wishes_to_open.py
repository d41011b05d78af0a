"""A plan that opens a position: its pool, its ticks and its capital on the chain as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chain.execution.building_facts import PoolFacts
from chain.execution.building_requests import Create
from chain.math.fees import swap_fee
from chain.math.liquidity import Amounts
from chain.pools.depth import read_depths
from chain.pools.discovery import discover_pools
from chain.reading.one_block import OneBlock
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.subjects import Subject
from zuno_tui.gate.swap_pools import (
    ask_quoter,
    best_elsewhere,
    read_other_pools,
    terms_elsewhere,
)
from zuno_tui.gate.wishes import Wish, spendable_tokens
from zuno_tui.gate.wishes_of_plans import planned_span, quoted_swap, refuse_worse_than_planned
from zuno_tui.gate.worth import read_worth

if TYPE_CHECKING:
    from agents.numbers.swap import PrepSwap
    from agents.plan import Candidate, Plan
    from chain.execution.building_facts import Span
    from chain.networks import Address
    from chain.overview import Sources
    from chain.pool_key import PoolId
    from chain.pools.discovery import Pool
    from chain.pools.state import PoolState
    from chain.rpc.types import Block
    from zuno_tui.gate.swap_pools import SwapQuotes


async def wish_to_open(sources: Sources, plan: Plan, candidate: Candidate, owner: Address) -> Wish:
    if plan.owner != owner:
        raise GateRefusedError(
            f"{plan.plan_id} was made for {plan.owner}, and the wallet is {owner}. "
            "Choose its owner: --address, or zuno wallet use NAME"
        )
    span, capital = planned_span(candidate), capital_of(candidate)
    found = await find_pool(sources, candidate.pool_id)
    state, block = found.pool.state, found.block
    pool = PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee)
    quotes = await _swap_of_one_token(sources, block, state, span, capital)
    swap = None if quotes is None else quotes.swap
    if swap is not None:
        refuse_worse_than_planned(candidate, swap)
    tokens = spendable_tokens(sources.network, state.key)
    worth = await read_worth(sources, tokens, block)
    return Wish(
        plan.plan_id,
        f"Open a position from tick {span.tick_lower} to {span.tick_upper}",
        Create(pool, span, capital, swap),
        Subject(block, pool),
        tokens,
        worth.usd_per_unit,
        worth.usd_per_wei,
        quotes,
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
    pool: Pool
    block: Block


async def find_pool(sources: Sources, pool_id: PoolId) -> FoundPool:
    """The pool a plan names by its id alone, among those of the network."""
    survey = await discover_pools(
        sources.client,
        sources.network,
        sources.store,
        clock=sources.clock,
        coingecko=sources.coingecko,
    )
    for pool in survey.pools:
        if pool.state.pool_id == pool_id:
            return FoundPool(pool, survey.block)
    raise GateRefusedError(
        f"The plan's pool {pool_id} is not among those found on {sources.network.title}. "
        "See them: zuno pools --refresh"
    )


async def _swap_of_one_token(
    sources: Sources, block: Block, state: PoolState, span: Span, capital: Amounts
) -> SwapQuotes | None:
    """The swap that capital in one token needs; of two tokens each is taken as it was given."""
    from agents.numbers.edges import TickRange
    from agents.numbers.inventory import allocate_for_create
    from agents.numbers.swap import SwapTerms
    from agents.observing.pool_facts import REACH

    here = OneBlock(sources.client, sources.network, block.hash)
    depths = await read_depths(here, sources.network, [state], reach=REACH)
    terms = SwapTerms(
        swap_fee(state.protocol_fee.zero_for_one, state.lp_fee),
        swap_fee(state.protocol_fee.one_for_zero, state.lp_fee),
        state.liquidity,
        depths[state.pool_id],
    )
    ticks = TickRange(span.tick_lower, span.tick_upper)
    own = PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee)

    def solved(terms: SwapTerms) -> PrepSwap | None:
        made = allocate_for_create(state.key, state.sqrt_price_x96, ticks, capital, terms)
        return made.allocation.swap

    here_swap = solved(terms)
    if here_swap is None:
        return None
    swap = quoted_swap(state.key, here_swap)
    others = await read_other_pools(sources, state.key, block.hash)
    if (better := best_elsewhere(others, swap)) is not None:
        there = solved(terms_elsewhere(better))
        swap = swap if there is None else quoted_swap(better.state.key, there)
    return await ask_quoter(sources, swap, own, others, block.hash)
