"""What an order does that puts something back to work, and the most a thief of its key gains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

from msgspec import Struct

from chain.math.drift import Span
from chain.protocols.snapshot import PositionSnapshot
from chain.standing_orders.call import OrderCall
from chain.standing_orders.entries import (
    band_in,
    share_lost_by_growth,
    share_lost_by_shifts,
    span_of,
)
from chain.tokens.pair import Pair
from zuno_tui.gate.worth import ActionWorth

MUCH_OF_POOL = 0.1
"""From which part of its pool's liquidity on moving a position is warned of."""


class MoveEffect(Struct, frozen=True):
    """One move, in the pair's own prices."""

    low: str
    high: str
    went_at: float
    """At which price on average the one coin became the other in the old range."""
    back_at: float
    """And at which it becomes the one again in the new range."""


class EntryEffects(Struct, frozen=True):
    unit: str
    band: tuple[str, str]
    """The prices at which it is done; of a compound alone."""
    moves: tuple[MoveEffect, ...]
    share: float
    """The most that whoever steals the key destroys, of the fees put in or of the position."""
    dollars: float | None
    """The same of the whole position as it is worth at most; None of a compound."""
    of_pool: float
    """Its part of the pool's liquidity at the price now."""


def entry_effects(
    calls: Sequence[OrderCall],
    position: PositionSnapshot,
    pair: Pair,
    worth: ActionWorth,
    standing: int,
) -> EntryEffects | None:
    """`standing` is by how many ticks orders that stand move it besides."""
    entry = calls[0].entry
    if entry is None:
        return None
    span, liquidity = span_of(position), position.liquidity
    there = position.pool.liquidity + (0 if position.in_range else liquidity)
    unit = f"{pair.quote.label} per {pair.base.label}"
    of_pool = liquidity / there if there else 1.0
    if not calls[0].traits.shifts:
        band = band_in(entry, span)
        low, high = sorted(band, reverse=pair.inverted)
        told = pair.price_text(low), pair.price_text(high)
        return EntryEffects(unit, told, (), share_lost_by_growth(span, band), None, of_pool)
    spans = [span, *(call.entry.span for call in calls if call.traits.shifts and call.entry)]
    ranges = [each for each in spans if each is not None]
    moves = tuple(_move(before, after, pair) for before, after in pairwise(ranges))
    share = share_lost_by_shifts(standing + abs(ranges[-1].tick_lower - span.tick_lower))
    # The most that it is worth in the quote's coin: all of it once the price is past the range.
    held = span.holds(span.sqrt_prices[not pair.inverted], liquidity, round_up=True)
    rate = worth.usd_per_unit.get(pair.quote.address)
    most = held[not pair.inverted]
    dollars = None if rate is None else most * rate * share
    return EntryEffects(unit, ("", ""), moves, share, dollars, of_pool)


def _move(before: Span, after: Span, pair: Pair) -> MoveEffect:
    went_at, back_at = (_average(span, pair) for span in (before, after))
    low, high = pair.bounds(after.tick_lower, after.tick_upper)
    return MoveEffect(low, high, went_at, back_at)


def _average(span: Span, pair: Pair) -> float:
    """Of all that is traded from one end of a range to the other: the ends' geometric mean."""
    prices = [pair.price(edge) for edge in span.sqrt_prices]
    known = [price.value for price in prices if price is not None]
    return sqrt(known[0] * known[-1]) if known else 0.0
