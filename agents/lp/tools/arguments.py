"""The tools by name, what each is for, and what it may be asked."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from agents.model.tools import OfferedTool
from agents.numbers.shapes import MAX_SURVEYED_POOLS

WEEK_HOURS = 168
MOST_SWAPS = 12


class ToolName(StrEnum):
    VOLATILITY = "volatility"
    DEPTH = "depth"
    LAST_SWAPS = "last_swaps"
    HOOK = "hook"
    POSITION_PAST = "position_past"


class _Arguments(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class OfPool(_Arguments):
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


class NoArguments(_Arguments):
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
        ToolName.HOOK,
        "What the pool's hook can do to those who provide liquidity.",
        OfPool,
    ),
)
OF_A_POSITION = OfferedTool(
    ToolName.POSITION_PAST,
    "What became of the position since it was opened: changes, fees, result against holding.",
    NoArguments,
)
