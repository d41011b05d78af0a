"""What Strategist, Critic and Arbiter may look up before they speak, by code's own figures."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import log

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, Field

from agents.lp.advice_words import option_letter
from agents.lp.advising import move_advice
from agents.lp.briefing import describe_record
from agents.lp.evaluation import Evaluated, evaluate, move_numbers
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import DeskMemory, ScoutContext, path_steps
from agents.lp.plan import ShapeChoice
from agents.lp.scout_tools import NO_SWAPS, NoArguments, OfPool, ToolArguments
from agents.model.claims import Unit
from agents.model.speaking import Brief
from agents.model.tools import OfferedTool, ToolError
from agents.numbers.edges import TICK_LOG
from agents.numbers.outlook import HOURS_PER_WEEK, PoolMarket, net_over
from agents.numbers.rules import PROFILES, judge_move
from agents.numbers.shapes import (
    MAX_CANDIDATES,
    MAX_CENTER_OFFSET_TICKS,
    MAX_WIDTH_MULTIPLIER,
    MIN_WIDTH_MULTIPLIER,
)
from chain.math.liquidity import LiquidityError

FEW_CALLS = 2


class RangeArguments(OfPool):
    width_multiplier: float = Field(ge=MIN_WIDTH_MULTIPLIER, le=MAX_WIDTH_MULTIPLIER)
    center_offset_ticks: int = Field(
        default=0, ge=-MAX_CENTER_OFFSET_TICKS, le=MAX_CENTER_OFFSET_TICKS
    )


class Stress(StrEnum):
    VOLATILITY_TWICE = "volatility_twice"
    FEES_HALF = "fees_half"
    GAS_THREEFOLD = "gas_threefold"
    PRICE_A_DAY_AGO = "price_a_day_ago"


class StressArguments(ToolArguments):
    candidate: int = Field(ge=0, lt=MAX_CANDIDATES, description="its index in this round")
    what: Stress


RANGE_FIGURES = OfferedTool(
    "range_figures",
    "What code computes of a shape before you propose it: buffer, fees, LVR, cost, net of 7 days.",
    RangeArguments,
)
STRESSED = OfferedTool(
    "stressed",
    "One candidate's buffer and net of 7 days if one thing were otherwise.",
    StressArguments,
)
PAST_PLANS = OfferedTool(
    "past_plans", "How this desk's earlier plans of each kind came out.", NoArguments
)


class StrategistTools(Struct):
    context: ScoutContext
    brief: Brief
    tools: tuple[OfferedTool, ...] = (RANGE_FIGURES,)
    most: int = FEW_CALLS
    beside_form: bool = True

    async def answer(self, _name: str, arguments: BaseModel) -> str:
        assert isinstance(arguments, RangeArguments)
        pools = len(self.context.pools)
        if arguments.pool >= pools:
            raise ToolError(f"pool: there are {pools}, counted from 0.")
        evaluation = evaluation_of(self.context, arguments.pool)
        shape = ShapeChoice(
            width_multiplier=arguments.width_multiplier,
            center_offset_ticks=arguments.center_offset_ticks,
            pool_index=arguments.pool,
        )
        try:
            move = evaluate(evaluation, shape, 0)
        except LiquidityError:
            raise ToolError("so much in so narrow a range is more than a pool can hold.") from None
        judged = judge_move(move.numbers, PROFILES[self.context.profile])
        permitted = move_advice(self.context, evaluation, move).permits
        brief, found = self.brief, move.candidate
        return (
            f"Buffer {brief.number(move.numbers.buffers.at_1x, Unit.HOURS)}, fees a day "
            f"{brief.number(found.fee_yield_24h, Unit.USD)}, LVR a day "
            f"{brief.number(found.lvr_24h, Unit.USD)}, cost "
            f"{brief.number(found.cost_usd, Unit.USD)}, nets "
            f"{brief.number(found.net_7d, Unit.USD)} in a week; the floors say "
            f"{judged.verdict.value}, the rule {'lets' if permitted else 'does not let'} it win."
        )


class CriticTools(Struct):
    context: ScoutContext
    moves: Sequence[Evaluated]
    brief: Brief
    tools: tuple[OfferedTool, ...] = (STRESSED,)
    most: int = FEW_CALLS
    beside_form: bool = True

    async def answer(self, _name: str, arguments: BaseModel) -> str:
        assert isinstance(arguments, StressArguments)
        if arguments.candidate >= len(self.moves):
            raise ToolError(f"candidate: there are {len(self.moves)}, counted from 0.")
        move = self.moves[arguments.candidate]
        shape = move.candidate.shape
        evaluation = evaluation_of(self.context, 0 if shape is None else shape.pool_index)
        market = _otherwise(evaluation, arguments.what)
        price = move.price
        if arguments.what is Stress.GAS_THREEFOLD and price.gas is not None:
            price = price._replace(gas=3 * price.gas)
        numbers = move_numbers(evaluation, market, move.stake, price)
        net, cost = net_over(market, move.stake, HOURS_PER_WEEK).total, price.total
        left = None if net is None or cost is None else net - cost
        where = "" if numbers.price_inside else ", with the price outside of it"
        return (
            f"Candidate {option_letter(arguments.candidate)} under "
            f"{arguments.what.value.replace('_', ' ')}: buffer "
            f"{self.brief.number(numbers.buffers.at_1x, Unit.HOURS)}, nets "
            f"{self.brief.number(left, Unit.USD)} in a week{where}."
        )


def _otherwise(evaluation: EvaluationContext, what: Stress) -> PoolMarket:
    market = evaluation.market
    match what:
        case Stress.VOLATILITY_TWICE:
            return market.at_multiples(volatility=2.0)
        case Stress.FEES_HALF:
            return market.at_multiples(fees=0.5)
        case Stress.GAS_THREEFOLD:
            return market
        case Stress.PRICE_A_DAY_AGO:
            path = evaluation.observed.day_path
            if path is None:
                raise ToolError(NO_SWAPS)
            steps = path_steps(path, evaluation.observed.pool.sqrt_price_x96)
            since = 2 * log(steps[-1].close / steps[0].opening) / TICK_LOG
            return replace(market, price=market.price - since)


class ArbiterTools(Struct):
    memory: DeskMemory
    brief: Brief
    tools: tuple[OfferedTool, ...] = (PAST_PLANS,)
    most: int = FEW_CALLS
    beside_form: bool = True

    async def answer(self, _name: str, _arguments: BaseModel) -> str:
        told = [describe_record(self.brief, record) for record in self.memory.advice_records]
        return " ".join(told) or "No plan of this desk is old enough to be judged."
