"""What is to be carried out, whoever decided it: a request built on one fresh reading."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.checksum import checksummed
from chain.execution.building_facts import Span, Tolerance, position_facts
from chain.execution.building_requests import Close, Collect, QuotedSwap, Request, ReRange
from chain.execution.recipes_sizing import guaranteed_by_exit
from chain.positions.reader import read_positions
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.subjects import Subject, subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.facts import MarketContext
    from agents.plan import Candidate, Plan
    from chain.networks import Address
    from chain.overview import Sources
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.types import BlockRef

_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Wish:
    plan_id: str
    headline: str
    request: Request
    subject: Subject
    tokens: tuple[Address, ...]
    """The pair's in the order of the pool, then whatever else the wallet may gain or lose."""
    usd_per_unit: Mapping[Address, float] = field(default_factory=dict)
    """Of the tokens whose worth is known."""
    usd_per_wei: float | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)

    @property
    def worth(self) -> dict[Address, Fraction]:
        """Micro-dollars for one unit, by token."""
        return {token: Fraction(usd) * _MICRO for token, usd in self.usd_per_unit.items()}


async def wish_of_plan(sources: Sources, plan: Plan, candidate: Candidate, owner: Address) -> Wish:
    """A plan's candidate on the chain as it is now: its ticks stay, its amounts are found anew."""
    from agents.observing import ChainObserver

    if plan.position is None:
        raise GateRefusedError(
            f"{plan.plan_id} opens a new position, and only plans about a position can be approved."
        )
    token_id = plan.position
    context = await ChainObserver(sources).observe_position(token_id, plan.profile)
    snapshot = await owned_position(sources, token_id, owner, context.block_hash)
    observed = context.observed
    priced = {
        observed.pool.currency0: observed.token0.usd_per_unit,
        observed.pool.currency1: observed.token1.usd_per_unit,
    }
    if candidate.kind == "exit":
        headline = f"Leave position #{token_id}"
        request: Close | ReRange = Close(position_facts(snapshot))
    else:
        request = _re_range(context, snapshot, candidate)
        span = request.span
        headline = f"Move position #{token_id} to ticks {span.tick_lower} to {span.tick_upper}"
    return Wish(
        plan.plan_id,
        headline,
        request,
        subject_of(snapshot),
        pair_of(snapshot),
        {token: usd for token, usd in priced.items() if usd is not None},
        context.gas.usd_per_wei,
    )


async def wish_to_close(sources: Sources, token_id: int, owner: Address) -> Wish:
    snapshot = await owned_position(sources, token_id, owner, "latest")
    request = Close(position_facts(snapshot))
    name = f"close_{token_id}_{snapshot.block.number}"
    headline = f"Leave position #{token_id}"
    return Wish(name, headline, request, subject_of(snapshot), pair_of(snapshot))


async def wish_to_collect(sources: Sources, token_id: int, owner: Address) -> Wish:
    snapshot = await owned_position(sources, token_id, owner, "latest")
    request = Collect(position_facts(snapshot))
    name = f"collect_{token_id}_{snapshot.block.number}"
    headline = f"Collect the fees of position #{token_id}"
    return Wish(name, headline, request, subject_of(snapshot), pair_of(snapshot))


def pair_of(position: PositionSnapshot) -> tuple[Address, Address]:
    key = position.pool.key
    return key.currency0, key.currency1


async def owned_position(
    sources: Sources, token_id: int, owner: Address, at: BlockRef
) -> PositionSnapshot:
    """The position at a block, refused when it is not there or not the wallet's."""
    found = await read_positions(sources.client, sources.network, sources.memory, [token_id], at=at)
    snapshot = found.get(token_id)
    if snapshot is None:
        raise GateRefusedError(
            f"There is no position #{token_id} on {sources.network.title}. "
            "See yours: zuno positions"
        )
    if snapshot.owner != owner:
        raise GateRefusedError(
            f"Position #{token_id} belongs to {checksummed(snapshot.owner)}, and the wallet is "
            f"{checksummed(owner)}. Choose its owner: --address, or zuno wallet use NAME"
        )
    return snapshot


def _re_range(context: MarketContext, snapshot: PositionSnapshot, candidate: Candidate) -> ReRange:
    if candidate.tick_lower is None or candidate.tick_upper is None:
        raise GateRefusedError("This choice names no range. Choose another: zuno plan")
    span = Span(candidate.tick_lower, candidate.tick_upper)
    facts = position_facts(snapshot)
    if not facts.liquidity:
        return ReRange(facts, span, None)
    return ReRange(facts, span, _balancing_swap(context, snapshot, span))


def _balancing_swap(
    context: MarketContext, snapshot: PositionSnapshot, span: Span
) -> QuotedSwap | None:
    """The swap the range needs, sold out of what leaving is sure to pay."""
    from agents.evaluation import allocation_for
    from agents.ground import ground_of
    from agents.numbers.edges import TickRange

    ground, ticks = ground_of(context), TickRange(span.tick_lower, span.tick_upper)
    if allocation_for(ground, ticks).swap is None:
        return None
    sure = guaranteed_by_exit(position_facts(snapshot), Tolerance())
    swap = allocation_for(replace(ground, available=sure), ticks).swap
    if swap is None:
        return None
    return QuotedSwap(
        snapshot.pool.key,
        swap.zero_for_one,
        swap.amount_in,
        swap.amount_out,
        swap.sqrt_price_after,
    )
