"""Shapes a model may choose, within bounds, and the snapped ticks code makes of them."""

from enum import StrEnum
from math import exp, floor, isfinite, log, sqrt
from typing import NamedTuple

from msgspec import Struct

from agents.numbers.edges import TICK_LOG, TickRange
from agents.numbers.rules import PROFILES, RiskProfile
from agents.numbers.survival import half_width_for_buffer
from chain.math.liquidity import Amounts
from chain.math.ticks import MAX_TICK, MIN_TICK, nearest_usable_tick, usable_ticks

MIN_WIDTH_MULTIPLIER = 0.3
MAX_WIDTH_MULTIPLIER = 3.5
MAX_CENTER_OFFSET_TICKS = 2400
MIN_CANDIDATES = 2
MAX_CANDIDATES = 5
MAX_SURVEYED_POOLS = 12

MOST_BASE_SIGMAS = 9.0

REBALANCE_MULTIPLIERS = (1.4, 0.65, 1.0)
"""What the Strategist proposes without a model, beside the range that needs no swap."""
REVISION_MARGIN = 1.05
"""A revision without a model takes this much more than the width a floor asked for."""
LONG_TOKEN_SHIFT = 0.25
"""How much of its half-width a range moves to hold more of the capital's own token."""

_WIDER = 1.2
_TIGHTER = 0.85


class ShapeError(ValueError):
    """A shape outside the bounds; nothing is built from it."""


class MoveKind(StrEnum):
    TIGHTEN = "tighten"
    WIDEN = "widen"
    SHIFT = "shift"


class ExposureBias(StrEnum):
    NEUTRAL = "neutral"
    LONG_TOKEN = "long-token"  # noqa: S105


class Shape(Struct, frozen=True):
    """A range relative to the base half-width and the price; refuses what is out of bounds."""

    width_multiplier: float
    center_offset_ticks: int

    def __post_init__(self) -> None:
        if not MIN_WIDTH_MULTIPLIER <= self.width_multiplier <= MAX_WIDTH_MULTIPLIER:
            raise ShapeError(
                f"A width multiplier of {self.width_multiplier} is outside "
                f"{MIN_WIDTH_MULTIPLIER}–{MAX_WIDTH_MULTIPLIER}."
            )
        if not -MAX_CENTER_OFFSET_TICKS <= self.center_offset_ticks <= MAX_CENTER_OFFSET_TICKS:
            raise ShapeError(
                f"A centre {self.center_offset_ticks} ticks from the price is beyond "
                f"±{MAX_CENTER_OFFSET_TICKS}."
            )


class NeededWidth(NamedTuple):
    """What a buffer floor would take, as the Critic tells the Strategist."""

    half_width_ticks: float
    daily_sigmas: float
    multiplier: float
    """Of the base half-width, with room for what snapping may take away."""

    @property
    def reachable(self) -> bool:
        return self.multiplier <= MAX_WIDTH_MULTIPLIER


def bounded_multiplier(multiplier: float) -> float:
    """The nearest multiplier a shape may have."""
    if not isfinite(multiplier):
        raise ShapeError(f"A width multiplier of {multiplier} has no nearest bound.")
    return min(max(multiplier, MIN_WIDTH_MULTIPLIER), MAX_WIDTH_MULTIPLIER)


def create_base(profile: RiskProfile, daily_ticks: float, spacing: int) -> float:
    """The half-width multipliers apply to when nothing is held yet: what keeps the floor."""
    half = half_width_for_buffer(PROFILES[profile].buffer_floor_hours, daily_ticks)
    return half + lost_to_snapping(spacing)


def rebalance_base(
    current: TickRange, profile: RiskProfile, daily_ticks: float, spacing: int
) -> float:
    """The current half-width, held between the one that keeps the floor and 9 daily σ."""
    least = create_base(profile, daily_ticks, spacing)
    return max(min(current.width / 2, MOST_BASE_SIGMAS * daily_ticks), least)


def snapped_range(tick: int, shape: Shape, base_half_width: float, spacing: int) -> TickRange:
    """The usable ticks nearest to a shape around the pool's tick.

    No half-width is under one spacing: half of it could else put an edge onto the price.
    """
    half = max(floor(base_half_width * shape.width_multiplier + 0.5), spacing)
    center = tick + shape.center_offset_ticks
    lower = nearest_usable_tick(_held(center - half), spacing)
    upper = nearest_usable_tick(_held(center + half), spacing)
    if lower < upper:
        return TickRange(lower, upper)
    # Only at the ends of all prices does clamping leave nothing between the edges.
    lowest, highest = usable_ticks(spacing)
    lower = min(max(lower, lowest), highest - spacing)
    return TickRange(lower, lower + spacing)


def move_kind(current: TickRange, proposed: TickRange) -> MoveKind:
    """What to call a move, by how the width changes."""
    ratio = proposed.width / current.width
    if ratio > _WIDER:
        return MoveKind.WIDEN
    return MoveKind.TIGHTEN if ratio < _TIGHTER else MoveKind.SHIFT


def exposure_offset(bias: ExposureBias, half_width: float, *, capital_is_currency0: bool) -> int:
    """How far to move a centre so that more of the capital stays what it is.

    A range above the price holds currency0, one below it currency1.
    """
    if bias is ExposureBias.NEUTRAL:
        return 0
    shift = min(floor(LONG_TOKEN_SHIFT * half_width + 0.5), MAX_CENTER_OFFSET_TICKS)
    return shift if capital_is_currency0 else -shift


def needed_width(
    floor_hours: float, daily_ticks: float, base_half_width: float, spacing: int, offset: int = 0
) -> NeededWidth:
    """The half-width whose 1× buffer reaches a floor, centred this far off the price."""
    half = half_width_for_buffer(floor_hours, daily_ticks, offset)
    snapped = half + lost_to_snapping(spacing)
    return NeededWidth(half, half / daily_ticks, snapped / base_half_width)


def no_swap_shape(
    price: float, held: Amounts, base_half_width: float, spacing: int, multiplier: float = 1.0
) -> Shape | None:
    """The shape of this width whose two sides take just what is held, if the price fits inside.

    With q = value0/value1 and W the width in log price, the lower edge at distance d solves
    (1 − e^(−(W−d)/2)) / (1 − e^(−d/2)) = q, a quadratic in e^(−d/2).
    """
    if held.amount0 <= 0 or held.amount1 <= 0:
        return None
    ratio = held.amount0 * exp(price * TICK_LOG) / held.amount1
    half = base_half_width * multiplier
    narrowing = exp(-half * TICK_LOG)
    linear = 1 - ratio
    # Of the root's two forms, the one that subtracts nothing nearly equal.
    root = sqrt(linear * linear + 4 * ratio * narrowing)
    solved = 2 * narrowing / (linear + root) if linear > 0 else (root - linear) / (2 * ratio)
    below = -2 * log(solved) / TICK_LOG
    above = 2 * half - below
    offset = floor((above - below) / 2 + 0.5)
    if min(below, above) < spacing or abs(offset) > MAX_CENTER_OFFSET_TICKS:
        return None
    return Shape(multiplier, offset)


def range_beside(tick: int, width: float, spacing: int, *, holds_currency0: bool) -> TickRange:
    """So wide and next to the price, on the side that takes the one token which is held."""
    wide = max(spacing, round(width / spacing) * spacing)
    lowest, highest = usable_ticks(spacing)
    below = tick // spacing * spacing
    lower = below + spacing if holds_currency0 else below - wide
    lower = min(max(lower, lowest), highest - wide)
    return TickRange(lower, lower + wide)


def lost_to_snapping(spacing: int) -> float:
    """Each edge may snap inwards by half a spacing, and the price stand a tick off its tick."""
    return spacing / 2 + 1


def _held(tick: int) -> int:
    return min(max(tick, MIN_TICK), MAX_TICK)
