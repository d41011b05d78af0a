"""The rules about a position's range: out of it, near an edge of it, or not for long inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.numbers.edges import TickRange, edges_of, price_tick
from agents.numbers.regime import daily_ticks
from agents.numbers.survival import HOURS_PER_DAY, survival
from chain.base.number_words import hours, percent
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from agents.monitor.rules.risks import Situation
    from agents.monitor.rules.thresholds import Thresholds

_CALMER_EDGE = 1.5
"""A standing alert needs this much more distance from the edge before it is over."""
_CALMER_CHANCE = 0.1
"""And this much more chance to stay."""


def out_of_range(situation: Situation, thresholds: Thresholds, _: bool) -> Finding | None:
    """The excursion decides, not the moment: a price back by one tick is not back yet."""
    if not situation.standing.out:
        return None
    position = situation.position
    since = situation.out_since or float(position.block.timestamp)
    minutes = (position.block.timestamp - since) / 60
    identity = position.identity
    beyond = _beyond(position.pool.tick, identity.tick_lower, identity.tick_upper)
    widths = beyond / (identity.tick_upper - identity.tick_lower)
    critical = minutes >= thresholds.critical_minutes or widths >= thresholds.critical_distance
    price = situation.pair.price_text(position.pool.sqrt_price_x96)
    low, high = situation.pair.bounds(identity.tick_lower, identity.tick_upper)
    side, edge = ("below", low) if _is_low(situation, position.pool.tick) else ("above", high)
    where = "is out of range" if beyond else "is back at the edge, out"
    return Finding(
        AlertKind.OUT_OF_RANGE,
        Severity.CRITICAL if critical else Severity.WARNING,
        f"{situation.name} {where}{f' for {hours(minutes / 60)}' if minutes >= 1 else ''}:"
        f" {price}, {side if beyond else 'beside'} {edge}."
        f" The range is {low} – {high}; outside it earns nothing.",
        _left(situation, position.pool.tick),
        situation.command("recommend"),
        {
            "tick": position.pool.tick,
            "tickLower": identity.tick_lower,
            "tickUpper": identity.tick_upper,
            "minutesOut": round(minutes, 1),
            "widthsBeyond": round(widths, 3),
        },
    )


def leaving(situation: Situation, tick: int, block: int) -> Finding:
    """The beginning of an excursion, told by the swap that made it."""
    identity = situation.position.identity
    price = situation.pair.price_text(sqrt_price_at_tick(tick))
    low, high = situation.pair.bounds(identity.tick_lower, identity.tick_upper)
    side, edge = ("below", low) if _is_low(situation, tick) else ("above", high)
    return Finding(
        AlertKind.OUT_OF_RANGE,
        Severity.WARNING,
        f"{situation.name} left its range: {price}, {side} {edge}."
        f" It did so in block {block}; the range is {low} – {high}.",
        _left(situation, tick),
        situation.command("recommend"),
        {"tick": tick, "tickLower": identity.tick_lower, "tickUpper": identity.tick_upper},
    )


def near_boundary(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    position = situation.position
    if situation.standing.out:
        return None
    lower, upper = position.identity.tick_lower, position.identity.tick_upper
    tick = position.pool.tick
    share = min(tick - lower, upper - tick) / (upper - lower)
    if share >= thresholds.near_edge * (_CALMER_EDGE if standing else 1):
        return None
    low, high = situation.pair.bounds(lower, upper)
    price = situation.pair.price_text(position.pool.sqrt_price_x96)
    nearer_lower = (tick - lower < upper - tick) is not situation.pair.inverted
    edge, limit = ("lower", low) if nearer_lower else ("upper", high)
    return Finding(
        AlertKind.NEAR_BOUNDARY,
        Severity.WARNING,
        f"{situation.name} is near the {edge} edge: {price} of {limit}."
        f" The range is {low} – {high}.",
        f"the price is near the {edge} edge",
        situation.command("recommend"),
        {"tick": tick, "tickLower": lower, "tickUpper": upper, "shareToEdge": round(share, 4)},
    )


def likely_to_leave(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    volatility = situation.volatility
    if situation.standing.out or volatility is None:
        return None
    identity = situation.position.identity
    ticks = TickRange(identity.tick_lower, identity.tick_upper)
    edges = edges_of(price_tick(situation.position.pool.sqrt_price_x96), ticks)
    chance = survival(edges, daily_ticks(volatility.daily_sigma), HOURS_PER_DAY)
    if chance >= thresholds.survival + (_CALMER_CHANCE if standing else 0):
        return None
    return Finding(
        AlertKind.LIKELY_TO_LEAVE,
        Severity.INFO,
        f"{situation.name} has a {percent(chance)} chance to stay in range for 24 h. Its price"
        f" moves {percent(volatility.daily_sigma)} a day ({volatility.source}).",
        "the range is narrow for how much the price moves",
        situation.command("recommend"),
        {"survival24h": round(chance, 4), "dailySigma": round(volatility.daily_sigma, 6)},
    )


def _left(situation: Situation, tick: int) -> str:
    return f"the price is {'below' if _is_low(situation, tick) else 'above'} the range"


def _is_low(situation: Situation, tick: int) -> bool:
    """By the middle, so that a price dancing on an edge keeps its side."""
    identity = situation.position.identity
    return (2 * tick < identity.tick_lower + identity.tick_upper) is not situation.pair.inverted


def _beyond(tick: int, lower: int, upper: int) -> int:
    """Ticks past the nearer edge; 0 inside."""
    return max(lower - tick, tick - upper + 1, 0)
