"""The Critic's second method: a proposed range taken along the way the price really went.

The Strategist's figures come from rates and a model of the price. Here nothing is modelled: the
last day's swaps, and the week by its hours, are run through the range as if it had been there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.lp.path_steps import path_steps
from agents.lp.plan import ReplayedRange
from agents.numbers.range_replay import replay_range
from agents.numbers.rules import JudgmentVerdict, Rule, RuleResult
from chain.base.number_words import percent, usd
from chain.base.once_per_object import once_per_object

if TYPE_CHECKING:
    from agents.lp.evaluation import Evaluated
    from agents.lp.evaluation_context import EvaluationContext
    from agents.lp.facts import PricePathFacts
    from agents.numbers.outlook import Stake
    from agents.numbers.range_replay import PathStep, RangeReplay

LEAST_SHARE = 0.2
"""Of the price's way: a range that was hardly visited says too little about what it earns."""
_DAYS = {"24 h": 1.0, "7 d": 7.0}


class WalkedPaths(Struct, frozen=True, eq=False):
    """The ways of one pool's price, ready to take ranges along."""

    day: tuple[PathStep, ...] | None
    week: tuple[PathStep, ...] | None


class ReplayOpinion(Struct, frozen=True):
    day: ReplayedRange | None
    week: ReplayedRange | None
    findings: tuple[RuleResult, ...]


@once_per_object
def walked_paths(evaluation: EvaluationContext) -> WalkedPaths:
    observed = evaluation.observed

    def walked(path: PricePathFacts | None) -> tuple[PathStep, ...] | None:
        return None if path is None else path_steps(path, observed.pool.sqrt_price_x96)

    return WalkedPaths(walked(observed.day_path), walked(observed.week_path))


def replay_opinion(
    evaluation: EvaluationContext, move: Evaluated, paths: WalkedPaths
) -> ReplayOpinion:
    """What the range would have earned, and where that is not what the Strategist expects."""
    along = _taken_along(paths, move.stake, evaluation.hold)
    day, week = (_in_dollars(one, evaluation.market.unit1_value) for one in along)
    told = (("24 h", day), ("7 d", week))
    findings = (_finding(span, one, move) for span, one in told if one is not None)
    return ReplayOpinion(day, week, tuple(one for one in findings if one is not None))


# The Arbiter judges again what the Critic has judged; paths are told apart as objects.
@lru_cache(maxsize=64)
def _taken_along(
    paths: WalkedPaths, stake: Stake, held: Stake | None
) -> tuple[RangeReplay | None, RangeReplay | None]:
    """The day's replay and the week's."""
    day, week = (
        None if steps is None else replay_range(steps, stake, held)
        for steps in (paths.day, paths.week)
    )
    return day, week


def _in_dollars(found: RangeReplay | None, unit1: float | None) -> ReplayedRange | None:
    if found is None or unit1 is None:
        return None
    return ReplayedRange(
        fees_usd=found.fees * unit1,
        lvr_usd=found.lvr * unit1,
        in_range_share=found.in_range_share,
        steps=found.steps,
    )


def _finding(span: str, replayed: ReplayedRange, move: Evaluated) -> RuleResult | None:
    """Fees a day while the price was inside, against the low end of what is expected there."""
    candidate = move.candidate
    share, low = candidate.in_range_share, candidate.fee_low_24h
    high = candidate.fee_high_24h
    if replayed.in_range_share < LEAST_SHARE or not share or low is None or high is None:
        return None
    paid = replayed.fees_usd / replayed.in_range_share / _DAYS[span]
    least, most = low / share, high / share
    told = f"replayed over {span} it earns {usd(paid)} a day inside"
    if paid < least:
        words = f"{told}, under the {usd(least)} that nine days in ten should pay"
        return RuleResult(Rule.REPLAY, JudgmentVerdict.REVISE, paid, least, words)
    if paid > most:
        words = f"{told}, over the {usd(most)} that nine days in ten stay under"
        return RuleResult(Rule.REPLAY, JudgmentVerdict.ACCEPT, paid, least, words)
    words = f"{told}, as expected, with {percent(replayed.in_range_share)} of the way inside"
    return RuleResult(Rule.REPLAY, JudgmentVerdict.ACCEPT, paid, least, words)
