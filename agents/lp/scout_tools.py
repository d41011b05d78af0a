"""The tools by name, what each is for, and what it may be asked."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from math import ceil, exp, log, sqrt
from typing import NamedTuple

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from agents.bus.worker import StageFailedError
from agents.lp import facts
from agents.model.claims import Unit
from agents.model.speaking import Brief
from agents.model.tools import MOST_CALLS, OfferedTool, ToolError
from agents.numbers.edges import TICK_LOG
from agents.numbers.outlook import PathStep
from agents.numbers.shapes import MAX_SURVEYED_POOLS
from chain.protocols.reference import PositionRef

ReadPast = Callable[[PositionRef], Awaitable[facts.PastFacts]]
SayPast = Callable[[facts.PastFacts | None], Awaitable[None]]

WEEK_HOURS = 168
MOST_SWAPS = 12


class ToolName(StrEnum):
    VOLATILITY = "volatility"
    DEPTH = "depth"
    LAST_SWAPS = "last_swaps"
    HOOK = "hook"
    POSITION_PAST = "position_past"


class ToolArguments(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class OfPool(ToolArguments):
    pool: int = Field(
        default=0,
        ge=0,
        lt=MAX_SURVEYED_POOLS,
        description="the pool's number as the facts name it; 0 where there is one",
    )


class VolatilityArguments(OfPool):
    hours: int = Field(ge=2, le=WEEK_HOURS, description="how far back the window reaches")


class DepthArguments(OfPool):
    center_percent: float = Field(
        default=0.0,
        ge=-60,
        le=150,
        description="where to look, in percent above the present price of TOKEN0 in TOKEN1",
    )
    width_percent: float = Field(
        gt=0, le=50, description="how far to either side of that, in percent of it"
    )


class LastSwapsArguments(OfPool):
    count: int = Field(default=6, ge=1, le=MOST_SWAPS)


class NoArguments(ToolArguments):
    """For a tool that has nothing to be told."""


OF_A_POOL = (
    OfferedTool(
        ToolName.VOLATILITY,
        "How much the price moved within a window of your choice, by the hour.",
        VolatilityArguments,
    ),
    OfferedTool(
        ToolName.DEPTH,
        "How much liquidity lies around a price, and how that compares with where the price is.",
        DepthArguments,
    ),
    OfferedTool(
        ToolName.LAST_SWAPS,
        "The latest swaps of the last 24 hours: when, how far each moved the price, what it paid.",
        LastSwapsArguments,
    ),
    OfferedTool(
        ToolName.HOOK, "What the pool's hook can do to those who provide liquidity.", OfPool
    ),
)
OF_A_POSITION = OfferedTool(
    ToolName.POSITION_PAST,
    "What became of the position since it was opened: changes, fees, result against holding.",
    NoArguments,
)


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


def volatility_answer(
    brief: Brief, observed: facts.ObservedPool, asked: VolatilityArguments
) -> str:
    path = observed.week_path
    steps = () if path is None else facts.path_steps(path, observed.pool.sqrt_price_x96)
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


def band_depth(pool: facts.ObservedPoolFacts, center: float, width: float) -> BandDepth | None:
    """Around a price that is so far above the present one; None where nothing is known there."""
    middle = 2 * log(pool.sqrt_price_x96 / _ROOT_ONE) + log(1 + center)
    lower, upper = ((middle + log(1 + side)) / TICK_LOG for side in (-width, width))
    root = pool.sqrt_price_x96 / _ROOT_ONE
    amount0 = amount1 = weighted = length = 0.0
    for start, end, liquidity in facts.depth_of(pool).steps():
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


def depth_answer(brief: Brief, observed: facts.ObservedPool, asked: DepthArguments) -> str:
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


def last_swaps_answer(brief: Brief, observed: facts.ObservedPool, asked: LastSwapsArguments) -> str:
    path = observed.day_path
    if path is None:
        return "No swap of the last 24 hours is known."
    steps = facts.path_steps(path, observed.pool.sqrt_price_x96)[-asked.count :]
    together = "" if path.swaps == len(path.steps) else "; each line puts several in a row together"
    lines = [f"Swaps of the last day: {brief.number(path.swaps, Unit.COUNT)}{together}."]
    lines += [_swap(brief, observed, step) for step in reversed(steps)]
    return " ".join(lines)


def hook_answer(observed: facts.ObservedPool, allowed: Sequence[str]) -> str:
    pool = observed.pool
    if not int(pool.hooks, 16):
        return "The pool has no hook."
    powers = " ".join(pool.hook_powers) or "It can do nothing to those who provide liquidity."
    trusted = " The person trusts this hook." if pool.hooks in allowed else ""
    return f"The hook's danger is {pool.hook_danger}. {powers}{trusted}"


def _swap(brief: Brief, observed: facts.ObservedPool, step: PathStep) -> str:
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


_LATEST = 5


def past_answer(brief: Brief, past: facts.PastFacts, observed: facts.ObservedPool) -> str:
    def worth(units: float | None) -> str:
        each = observed.token1.usd_per_unit
        known = None if units is None or each is None else units * each
        return brief.number(known, Unit.USD)

    age = None if past.age_seconds is None else past.age_seconds / _HOUR
    latest = "; ".join(_change(brief, change) for change in past.changes[-_LATEST:])
    changes = f" The latest: {latest}." if latest else ""
    return (
        f"Opened {brief.number(age, Unit.HOURS)} ago; changes since then "
        f"{brief.number(past.changes_in_all, Unit.COUNT)}. At present prices: put in "
        f"{worth(past.deposited)}, taken out {worth(past.withdrawn)}, fees earned "
        f"{worth(past.fees_earned)}, of these collected {worth(past.fees_collected)}; better than "
        f"just holding by {worth(past.against_holding)}; without fees "
        f"{brief.number(past.impermanent_loss, Unit.FRACTION)} against holding.{changes}"
    )


def _change(brief: Brief, change: facts.PastChange) -> str:
    when = brief.number(round(change.age_seconds / _HOUR, 2), Unit.HOURS)
    if not change.liquidity_delta:
        return f"fees collected {when} ago"
    return f"liquidity {'added' if change.liquidity_delta > 0 else 'removed'} {when} ago"


READ_SECONDS = 20.0
"""For the chain to tell a position's past."""


class ScoutTools(Struct, eq=False):
    """For one debate; what is read of the chain is said to the record at once."""

    seen: facts.ScoutContext
    brief: Brief
    read_past: ReadPast
    say_past: SayPast
    most: int = MOST_CALLS
    beside_form: bool = False
    _past: facts.PastFacts | None = None
    _asked_past: bool = False

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        of_a_position = (OF_A_POSITION,) if isinstance(self.seen, facts.MarketContext) else ()
        return (*OF_A_POOL, *of_a_position)

    async def answer(self, _name: str, arguments: BaseModel) -> str:
        match arguments:
            case VolatilityArguments():
                return volatility_answer(self.brief, self._pool(arguments), arguments)
            case DepthArguments():
                return depth_answer(self.brief, self._pool(arguments), arguments)
            case LastSwapsArguments():
                return last_swaps_answer(self.brief, self._pool(arguments), arguments)
            case OfPool():
                return hook_answer(self._pool(arguments), self.seen.allowed_hooks)
            case _:
                return await self._past_answer()

    def _pool(self, asked: OfPool) -> facts.ObservedPool:
        seen = self.seen
        pools = seen.pools
        if asked.pool >= len(pools):
            raise ToolError(f"pool: there are {len(pools)}, counted from 0.")
        return pools[asked.pool]

    async def _past_answer(self) -> str:
        seen = self.seen
        if not isinstance(seen, facts.MarketContext):
            raise ToolError("there is no position yet.")
        if not self._asked_past:
            self._asked_past = True
            self._past = await self._read(seen.position.token_id)
            await self.say_past(self._past)
        if self._past is None:
            raise ToolError("it could not be read from the chain.")
        return past_answer(self.brief, self._past, seen.observed)

    async def _read(self, ref: PositionRef) -> facts.PastFacts | None:
        limit = asyncio.timeout(READ_SECONDS)
        try:
            async with limit:
                return await self.read_past(ref)
        except StageFailedError:
            return None
        except TimeoutError:
            if not limit.expired():
                raise
            return None
