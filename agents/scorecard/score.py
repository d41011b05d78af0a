"""How a plan did over a horizon, kept for good once the horizon is over."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

HORIZON_DAYS = (1, 7, 30)

DecidedBy: TypeAlias = Literal["rules", "model"]


class AdviceKind(StrEnum):
    MOVE = "move"
    HOLD = "hold"
    EXIT = "exit"
    CREATE = "create"
    KEEP = "keep"
    """Not opening the position somebody asked for."""

    @property
    def acts(self) -> bool:
        """Whether there is anything to apply."""
        return self not in (AdviceKind.HOLD, AdviceKind.KEEP)


class JudgedBlock(NamedTuple):
    """Up to which block the chain was read."""

    number: int
    hash: str


class StayOutcome(NamedTuple):
    """A range's chance to hold the price for this long, and whether it did."""

    said: float
    stayed: bool


class FeeOutcome(NamedTuple):
    """The ends of a day's expected fees, and what they were, in dollars."""

    low: float
    high: float
    earned: float

    @property
    def is_inside(self) -> bool:
        return self.low <= self.earned <= self.high


class OptionWorths(Struct, frozen=True):
    """What each option came to be worth in units of currency1, after its cost; None is unknown."""

    choice: float | None
    hold: float | None
    exit: float | None
    wide: float | None
    rules: float | None


class HorizonScore(Struct, frozen=True):
    plan_id: str
    chain_id: int
    kind: AdviceKind
    decided_by: DecidedBy
    days: int
    made_at: int
    """Unix seconds, by the block the plan was made at."""
    read_at: JudgedBlock
    worth_before: float
    """Of what could be used, in units of currency1 at the plan's own price."""
    unit1_usd: float | None
    """What a unit of currency1 was worth then."""
    worths: OptionWorths
    rules_same: bool
    """Whether the rules alone chose the same."""
    stays: tuple[StayOutcome, ...]
    """Of the horizons the card gives a chance for."""
    fees: tuple[FeeOutcome, ...]
    """Of the horizon of a day."""

    def over(self, other: float | None) -> float | None:
        """By which part of its worth before the choice beat another option."""
        chosen = self.worths.choice
        if chosen is None or other is None or self.worth_before <= 0:
            return None
        return (chosen - other) / self.worth_before

    @property
    def over_hold(self) -> float | None:
        """None also where the choice is to hold."""
        return self.over(self.worths.hold) if self.kind.acts else None

    @property
    def over_exit(self) -> float | None:
        return None if self.kind is AdviceKind.EXIT else self.over(self.worths.exit)

    @property
    def over_wide(self) -> float | None:
        return self.over(self.worths.wide)

    @property
    def over_rules(self) -> float | None:
        return None if self.rules_same else self.over(self.worths.rules)

    def dollars(self, part: float) -> float | None:
        """A part of the worth before, in dollars."""
        return None if self.unit1_usd is None else part * self.worth_before * self.unit1_usd
