"""What the tools say of a pool: counted from what Scout observed, every number with its id."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.observed_depth import depth_of
from agents.lp.path_steps import path_steps
from agents.model.numerals import Unit
from agents.numbers.edges import TICK_LOG

if TYPE_CHECKING:
    from agents.lp.facts import ObservedPool, ObservedPoolFacts
    from agents.lp.tools.arguments import DepthArguments, LastSwapsArguments, VolatilityArguments
    from agents.model.brief import Brief
    from agents.numbers.range_replay import PathStep

_HOUR = 3_600
_DAY_HOURS = 24
_ROOT_ONE = 1 << 96
_FEE_PARTS = 1_000_000
NO_SWAPS = "No swap of the pool is known."


class WindowMoves(NamedTuple):
    """How a price went within the last hours; parts of one."""

    hours: int
    """Fewer than were asked for where the known swaps do not reach back so far."""
    daily_sigma: float
    net: float
    lowest: float
    highest: float
    """Against the present price."""
    efficiency: float | None
    """None where the price did not move."""
    busy_hours: int


def window_moves(steps: Sequence[PathStep], hours: int) -> WindowMoves | None:
    """By the closes of hours; None where no swap is known."""
    if not steps:
        return None
    known = min(hours, ceil(steps[0].age / _HOUR) + 1)
    within = [step for step in steps if step.age < known * _HOUR]
    now = steps[-1].close
    if not within:
        return WindowMoves(known, 0.0, 0.0, 0.0, 0.0, None, 0)
    changes = [2 * log(step.close / step.opening) for step in within]
    travelled = sum(map(abs, changes))
    return WindowMoves(
        known,
        sqrt(_DAY_HOURS / known * sum(change * change for change in changes)),
        exp(sum(changes)) - 1,
        (min(step.low for step in within) / now) ** 2 - 1,
        (max(step.high for step in within) / now) ** 2 - 1,
        abs(sum(changes)) / travelled if travelled else None,
        len(within),
    )


def volatility_answer(brief: Brief, observed: ObservedPool, asked: VolatilityArguments) -> str:
    path = observed.week_path
    steps = () if path is None else path_steps(path, observed.pool.sqrt_price_x96)
    moved = window_moves(steps, asked.hours)
    if moved is None:
        return NO_SWAPS
    short = "" if moved.hours == asked.hours else ", which is as far back as its swaps are known"
    return (
        f"Over the last {brief.number(moved.hours, Unit.HOURS)}{short}, volatility a day "
        f"{brief.number(moved.daily_sigma, Unit.FRACTION)}; TOKEN0's price moved "
        f"{brief.number(moved.net, Unit.FRACTION)} in all, between "
        f"{brief.number(moved.lowest, Unit.FRACTION)} and "
        f"{brief.number(moved.highest, Unit.FRACTION)} of where it is now; path efficiency "
        f"{brief.number(moved.efficiency, Unit.FRACTION)}; hours with a swap "
        f"{brief.number(moved.busy_hours, Unit.COUNT)}."
    )


class BandDepth(NamedTuple):
    """The liquidity between two prices."""

    amount0: float
    amount1: float
    """What lies there, in smallest units."""
    mean: float
    """Liquidity there over what is active at the price."""
    whole: bool
    """Whether all of it is known."""


def band_depth(pool: ObservedPoolFacts, center: float, width: float) -> BandDepth | None:
    """Around a price that is so far above the present one; None where nothing is known there."""
    middle = 2 * log(pool.sqrt_price_x96 / _ROOT_ONE) + log(1 + center)
    lower, upper = ((middle + log(1 + side)) / TICK_LOG for side in (-width, width))
    root = pool.sqrt_price_x96 / _ROOT_ONE
    amount0 = amount1 = weighted = length = 0.0
    for start, end, liquidity in depth_of(pool).steps():
        low, high = max(lower, start), min(upper, end)
        if low >= high:
            continue
        below, above = exp(low * TICK_LOG / 2), exp(high * TICK_LOG / 2)
        held = min(max(root, below), above)
        amount0 += liquidity * (1 / held - 1 / above)
        amount1 += liquidity * (held - below)
        weighted += liquidity * (high - low)
        length += high - low
    if not length:
        return None
    active = float(pool.liquidity)
    whole = pool.lowest <= lower and upper <= pool.highest
    return BandDepth(amount0, amount1, weighted / length / active if active else 0.0, whole)


def depth_answer(brief: Brief, observed: ObservedPool, asked: DepthArguments) -> str:
    center, width = asked.center_percent / 100, asked.width_percent / 100
    found = band_depth(observed.pool, center, width)
    if found is None:
        return "What lies that far from the price is not known."
    worth0 = _worth(found.amount0, observed.token0.usd_per_unit)
    worth1 = _worth(found.amount1, observed.token1.usd_per_unit)
    side = "below" if center < 0 else "above"
    where = (
        f"a price {brief.number(abs(center), Unit.FRACTION)} {side} the present one"
        if center
        else "the present price"
    )
    within = f"Within {brief.number(width, Unit.FRACTION)} of {where} of TOKEN0"
    compared = (
        "unknown, since none is active at the price"
        if not observed.pool.liquidity
        else brief.number(found.mean, Unit.MULTIPLIER)
    )
    partly = "" if found.whole else " Only a part of this stretch was read."
    return (
        f"{within} lie {brief.number(worth0, Unit.USD)} of TOKEN0 and "
        f"{brief.number(worth1, Unit.USD)} of TOKEN1; liquidity there against the one at the "
        f"price: {compared}.{partly}"
    )


def last_swaps_answer(brief: Brief, observed: ObservedPool, asked: LastSwapsArguments) -> str:
    path = observed.day_path
    if path is None:
        return "No swap of the last 24 hours is known."
    steps = path_steps(path, observed.pool.sqrt_price_x96)[-asked.count :]
    together = "" if path.swaps == len(path.steps) else "; each line puts several in a row together"
    lines = [f"Swaps of the last day: {brief.number(path.swaps, Unit.COUNT)}{together}."]
    lines += [_swap(brief, observed, step) for step in reversed(steps)]
    return " ".join(lines)


def hook_answer(observed: ObservedPool, allowed: Sequence[str]) -> str:
    pool = observed.pool
    if not int(pool.hooks, 16):
        return "The pool has no hook."
    powers = " ".join(pool.hook_powers) or "It can do nothing to those who provide liquidity."
    trusted = " The person trusts this hook." if pool.hooks in allowed else ""
    return f"The hook's danger is {pool.hook_danger}. {powers}{trusted}"


def _swap(brief: Brief, observed: ObservedPool, step: PathStep) -> str:
    moved = (step.close / step.opening) ** 2 - 1
    paid1 = step.fee_rate * 2 * step.liquidity * step.close
    paid = _worth(paid1, observed.token1.usd_per_unit)
    fee = observed.pool.lp_fee / _FEE_PARTS
    volume = paid / fee if paid is not None and fee else None
    return (
        f"{brief.number(round(step.age / _HOUR, 2), Unit.HOURS)} ago TOKEN0's price moved "
        f"{brief.number(moved, Unit.FRACTION)}, fees {brief.number(paid, Unit.USD)}, volume about "
        f"{brief.number(volume, Unit.USD)}."
    )


def _worth(units: float, usd_per_unit: float | None) -> float | None:
    return None if usd_per_unit is None else units * usd_per_unit
