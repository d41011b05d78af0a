"""Scout's tools at work: the pool's from what was observed, the position's past by one read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agents.bus.worker import StageFailedError
from agents.lp.facts import CreateContext, MarketContext, ObservedPool, PastChange, PositionPast
from agents.lp.tools.arguments import (
    OF_A_POOL,
    OF_A_POSITION,
    DepthArguments,
    LastSwapsArguments,
    OfPool,
    VolatilityArguments,
)
from agents.lp.tools.pool_answers import (
    depth_answer,
    hook_answer,
    last_swaps_answer,
    volatility_answer,
)
from agents.model.numerals import Unit
from agents.model.tool_questions import ToolError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agents.model.brief import Brief
    from agents.model.tools import OfferedTool

    ReadPast = Callable[[int], Awaitable[PositionPast]]
    SayPast = Callable[[PositionPast | None], Awaitable[None]]

_HOUR = 3_600
_LATEST = 5


def past_answer(brief: Brief, past: PositionPast, observed: ObservedPool) -> str:
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


def _change(brief: Brief, change: PastChange) -> str:
    when = brief.number(round(change.age_seconds / _HOUR, 2), Unit.HOURS)
    if not change.liquidity_delta:
        return f"fees collected {when} ago"
    return f"liquidity {'added' if change.liquidity_delta > 0 else 'removed'} {when} ago"


READ_SECONDS = 20.0
"""For the chain to tell a position's past."""


class ScoutTools:
    """For one debate; what is read of the chain is said to the record at once."""

    def __init__(
        self,
        seen: MarketContext | CreateContext,
        brief: Brief,
        read_past: ReadPast,
        say_past: SayPast,
    ) -> None:
        self._seen = seen
        self._brief = brief
        self._read_past = read_past
        self._say_past = say_past
        self._past: PositionPast | None = None
        self._asked_past = False

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        of_a_position = (OF_A_POSITION,) if isinstance(self._seen, MarketContext) else ()
        return (*OF_A_POOL, *of_a_position)

    async def answer(self, _name: str, arguments: BaseModel) -> str:
        match arguments:
            case VolatilityArguments():
                return volatility_answer(self._brief, self._pool(arguments), arguments)
            case DepthArguments():
                return depth_answer(self._brief, self._pool(arguments), arguments)
            case LastSwapsArguments():
                return last_swaps_answer(self._brief, self._pool(arguments), arguments)
            case OfPool():
                return hook_answer(self._pool(arguments), self._seen.allowed_hooks)
            case _:
                return await self._past_answer()

    def _pool(self, asked: OfPool) -> ObservedPool:
        seen = self._seen
        pools = (seen.observed,) if isinstance(seen, MarketContext) else seen.surveyed_pools
        if asked.pool >= len(pools):
            raise ToolError(f"pool: there are {len(pools)}, counted from 0.")
        return pools[asked.pool]

    async def _past_answer(self) -> str:
        seen = self._seen
        if not isinstance(seen, MarketContext):
            raise ToolError("there is no position yet.")
        if not self._asked_past:
            self._asked_past = True
            self._past = await self._read(int(seen.position.token_id))
            await self._say_past(self._past)
        if self._past is None:
            raise ToolError("it could not be read from the chain.")
        return past_answer(self._brief, self._past, seen.observed)

    async def _read(self, token_id: int) -> PositionPast | None:
        limit = asyncio.timeout(READ_SECONDS)
        try:
            async with limit:
                return await self._read_past(token_id)
        except StageFailedError:
            return None
        except TimeoutError:
            if not limit.expired():
                raise
            return None
