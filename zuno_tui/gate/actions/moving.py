"""Moves that nobody argues about: to a range that needs no swap, and to another protocol's pool."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from chain.base.units import BIPS
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.facts import PoolFacts, PositionFacts, position_facts
from chain.execution.plan.requests import CloseRequest, ReRangeRequest
from chain.math.drift import Span, affordable
from chain.math.liquidity import Amounts, liquidity_for_amounts
from chain.math.ticks import (
    nearest_usable_tick,
    tick_at_sqrt_price,
    usable_ticks,
)
from chain.pools.depth import Depth
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.registry import all_protocols
from zuno_tui.gate.actions.action import Action, owned_position, pair_of, subject_of
from zuno_tui.gate.actions.range_prices import pool_name, range_prices
from zuno_tui.gate.actions.swap import read_pools
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth


async def action_to_move(
    sources: Sources, ref: PositionRef, owner: Address, width: int | None
) -> Action:
    """To the range that takes what the position holds as it is, as wide as its own or as named."""
    closing, held = await _closing(sources, ref, owner)
    span = swapless_span(held, width)
    if span == held.span:
        raise GateRefusedError(
            f"Position {position_label(ref)} is in range: of its own width, the range that takes "
            "what it holds is the one it has. Name another width by two prices, like: "
            f"zuno move {position_name(ref)} 2900 3300 --no-swap"
        )
    prices = range_prices(sources, held.pool, span)
    return replace(
        closing,
        plan_id=f"move_{ref}_{closing.subject.block.number}",
        headline=f"Move position {position_label(ref)} to {prices}, without a swap",
        request=ReRangeRequest(held, span, None),
    )


async def _closing(
    sources: Sources, ref: PositionRef, owner: Address
) -> tuple[Action, PositionFacts]:
    snapshot = await owned_position(sources, ref, owner, "latest")
    held = position_facts(snapshot)
    if not held.liquidity:
        raise GateRefusedError(
            f"Position {position_label(ref)} holds no liquidity. "
            f"To close it: zuno close {position_name(ref)}"
        )
    pair = pair_of(snapshot.pool.key)
    worth = await read_worth(sources, pair, snapshot.block)
    action = Action(
        "",
        "",
        CloseRequest(held),
        subject_of(snapshot),
        pair,
        worth.usd_per_unit,
        worth.usd_per_wei,
        disputes=worth.disputes,
    )
    return action, held


def swapless_span(held: PositionFacts, width: int | None = None) -> Span:
    """As wide as the position's own range, or so many ticks."""
    price, spacing = held.pool.sqrt_price_x96, held.pool.key.tick_spacing
    wide = max(spacing, (width or held.span.width) // spacing * spacing)
    inside = held.span.holds(price, held.liquidity, round_up=False)
    first, last = usable_ticks(spacing)
    # The price may stand anywhere between two ticks that can be used.
    below = tick_at_sqrt_price(price) // spacing * spacing
    if inside.amount0 == 0:
        return _within(below - wide, wide, first, last)
    if inside.amount1 == 0:
        return _within(below + spacing, wide, first, last)
    holds = inside.plus(held.fees)
    lowest, highest = max(first, below + spacing - wide), min(below, last - wide)
    # The further up, the more of token1 a unit of liquidity takes, and the less of token0.
    while highest - lowest > spacing:
        middle = (lowest + highest) // 2 // spacing * spacing
        if _takes_all_of_0(price, Span(middle, middle + wide), holds):
            highest = middle
        else:
            lowest = middle
    spans = (Span(lower, lower + wide) for lower in range(lowest, highest + 1, spacing))
    return max(spans, key=lambda span: _bought(price, span, holds))


def _within(lower: int, wide: int, first: int, last: int) -> Span:
    lower = min(max(lower, first), last - wide)
    return Span(lower, lower + wide)


def _takes_all_of_0(price: int, span: Span, holds: Amounts) -> bool:
    low, high = span.sqrt_prices
    of_0 = liquidity_for_amounts(price, price, high, holds.amount0, 0) if price < high else 0
    of_1 = liquidity_for_amounts(price, low, price, 0, holds.amount1) if low < price else 2**128
    return of_0 < of_1


def _bought(price: int, span: Span, holds: Amounts) -> int:
    return liquidity_for_amounts(price, *span.sqrt_prices, *holds)


async def action_to_migrate(
    sources: Sources, ref: PositionRef, owner: Address, wanted: str | None, fee: int | None
) -> Action:
    """Into a pool of the same pair of another protocol, at the same range.

    The deepest of the pair's usual pools, where none is named.
    """
    closing, held = await _closing(sources, ref, owner)
    into = _chosen(held, await _pools_elsewhere(sources, held, wanted), fee)
    key, spacing = into.state.key, into.state.key.tick_spacing
    pool = PoolFacts(key, into.state.sqrt_price_x96, into.state.lp_fee)
    lower, upper = (
        nearest_usable_tick(tick, spacing) for tick in (held.span.tick_lower, held.span.tick_upper)
    )
    span = Span(lower, max(upper, lower + spacing))
    where = f"{key.protocol} {pool_name(sources, pool)} at {range_prices(sources, pool, span)}"
    return replace(
        closing,
        plan_id=f"migrate_{ref}_{closing.subject.block.number}",
        headline=f"Migrate position {position_label(ref)} to {where}",
        request=ReRangeRequest(held, span, None, _most_of(held, pool, span), into=pool),
    )


def _most_of(held: PositionFacts, pool: PoolFacts, span: Span) -> int:
    """The liquidity that what is held buys there, but for what covers drift until it is bought."""
    from agents.numbers.inventory import MOVE_KEPT_BIPS

    price = held.pool.sqrt_price_x96
    holds = held.span.holds(price, held.liquidity, round_up=False).plus(held.fees)
    bought = affordable(span, pool.sqrt_price_x96, holds)
    return bought * (BIPS - MOVE_KEPT_BIPS) // BIPS


async def _pools_elsewhere(
    sources: Sources, held: PositionFacts, wanted: str | None
) -> Sequence[Depth]:
    own, network = held.pool.key, sources.network
    keys: list[PoolKey] = []
    for protocol in all_protocols():
        if protocol.name != own.protocol and wanted in (None, protocol.name):
            keys += protocol.candidates(network, pair_of(own))
    block = await sources.client.head()
    return await read_pools(sources, keys, block.hash)


def _chosen(held: PositionFacts, pools: Sequence[Depth], fee: int | None) -> Depth:
    own = held.pool.key
    there = [depth for depth in pools if fee is None or depth.state.key.fee == fee]
    if not there:
        which = "" if fee is None else f" at {fee / 10_000:g}%"
        raise GateRefusedError(
            f"No other protocol has a pool of this pair{which} that holds anything. "
            f"{position_label(held.ref)} stays on {own.protocol}. See pools: zuno pools"
        )
    return max(there, key=lambda depth: depth.state.liquidity)
