"""A move that nobody argues about: to a range that needs no swap."""

from __future__ import annotations

from msgspec.structs import replace

from chain.contracts.networks import Address
from chain.execution.plan.facts import PositionFacts, position_facts
from chain.execution.plan.requests import CloseRequest, ReRangeRequest
from chain.math.drift import Span
from chain.math.liquidity import Amounts, liquidity_for_amounts
from chain.math.ticks import (
    tick_at_sqrt_price,
    usable_ticks,
)
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label, position_name
from zuno_tui.gate.actions.action import Action, owned_position, pair_of, subject_of
from zuno_tui.gate.actions.range_prices import range_prices
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
            f"Position {position_label(ref)} is in range: at this width only the range it has "
            "takes what it holds. Name another width by two prices, like: "
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
