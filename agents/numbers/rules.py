"""The three risk profiles, a move judged by their floors, and the choice between those left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from msgspec import Struct

from agents.numbers.survival import HOURS_PER_DAY, EntryChance, StressBuffers
from chain.base.units import hours, percent, times_words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class RiskProfile(StrEnum):
    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    AGGRESSIVE = "aggressive"


class Tiebreak(StrEnum):
    """What decides between candidates that judge alike."""

    STRESSED_BUFFER = "largest 2× volatility buffer"
    BUFFER_AND_YIELD = "largest min(buffer, 2 × floor) × yield"
    YIELD = "highest yield"


class ProfileRules(Struct, frozen=True):
    """One row of the table."""

    profile: RiskProfile
    buffer_floor_hours: float
    gas_yield_ceiling: float
    break_even_life_share: float
    """Of the median life within which a move must have paid for itself."""
    tiebreak: Tiebreak
    liked_room: float = 1.0
    """Of the floor: among moves that keep it, those that last so long come first."""


PROFILES = {
    rules.profile: rules
    for rules in (
        ProfileRules(RiskProfile.CONSERVATIVE, 36, 1.2, 0.5, Tiebreak.STRESSED_BUFFER, 1.5),
        ProfileRules(RiskProfile.BALANCED, 24, 1.6, 0.75, Tiebreak.BUFFER_AND_YIELD),
        ProfileRules(RiskProfile.AGGRESSIVE, 14, 2.4, 1.0, Tiebreak.YIELD),
    )
}


class CheckedAssumption(StrEnum):
    VOLATILITY_HALF = "volatility-half"
    VOLATILITY_TWICE = "volatility-twice"
    FEES_HALF = "fees-half"
    FEES_TWICE = "fees-twice"


class MarketMultiples(NamedTuple):
    """A market that differs from the one observed."""

    volatility: float = 1.0
    fees: float = 1.0


AS_OBSERVED = MarketMultiples()
MULTIPLES = {
    CheckedAssumption.VOLATILITY_HALF: MarketMultiples(volatility=0.5),
    CheckedAssumption.VOLATILITY_TWICE: MarketMultiples(volatility=2.0),
    CheckedAssumption.FEES_HALF: MarketMultiples(fees=0.5),
    CheckedAssumption.FEES_TWICE: MarketMultiples(fees=2.0),
}


class JudgmentVerdict(StrEnum):
    ACCEPT = "accept"
    REVISE = "revise"
    VETO = "veto"


class Decision(StrEnum):
    ACCEPT = "accept"
    REVISE = "revise"
    VETO_ALL = "veto_all"


class Rule(StrEnum):
    PRICE_INSIDE = "price-inside"
    BUFFER_FLOOR = "buffer-floor"
    GAS_YIELD = "gas-yield"
    BREAK_EVEN = "break-even"
    HOOK = "hook"
    OWN_SWAP = "own-swap"
    REPLAY = "replay"
    """What really happened, run through the range, against what is expected of it."""
    ENTERS = "enters"
    """Whether the price comes into a range beside it, which needs no swap."""
    GOAL = "goal"
    """What the person wants to keep."""


_EVEN = 0.5
"""A range that the price enters less often than not is waited for in vain."""
MOST_OWN_PRICE_MOVE = 0.01
"""Own swaps that move the price further are refused: the loss grows with the square of the move."""


_STRICTNESS = (JudgmentVerdict.ACCEPT, JudgmentVerdict.REVISE, JudgmentVerdict.VETO)


class MoveNumbers(NamedTuple):
    """What a move is judged by; None is unknown, infinity is never."""

    price_inside: bool
    buffers: StressBuffers
    median_life_hours: float
    fee_24h: float | None
    gas_yield: float | None
    break_even_hours: float | None
    dangers: tuple[str, ...] = ()
    """Sentences about the pool or its hook; one is enough to stay out."""
    price_moved: float = 0.0
    """By the swap it needs first, as a part of the price."""
    pool_fee: float = 0.0
    entry: EntryChance | None = None
    """Of a range beside the price, which takes what is held as it is."""


class RuleResult(NamedTuple):
    """What one rule says, with the number and the limit it was held to."""

    rule: Rule
    verdict: JudgmentVerdict
    value: float | None
    limit: float | None
    words: str


class RuleJudgment(NamedTuple):
    verdict: JudgmentVerdict
    findings: tuple[RuleResult, ...]

    @property
    def objections(self) -> tuple[RuleResult, ...]:
        """The findings that kept the move from being accepted."""
        return tuple(
            finding for finding in self.findings if finding.verdict is not JudgmentVerdict.ACCEPT
        )


def judge_move(move: MoveNumbers, rules: ProfileRules) -> RuleJudgment:
    """Veto, revise or accept: the strictest of what the rules find.

    A range beside the price is judged by gas alone, and by when the price comes in.
    """
    findings = (
        (_enters(move.entry), _gas_yield(move, rules), *_hook(move))
        if move.entry is not None
        else (
            _price_inside(move),
            _buffer_floor(move, rules),
            _gas_yield(move, rules),
            _break_even(move, rules),
            *_hook(move),
            *_own_swap(move),
        )
    )
    return RuleJudgment(strictest(finding.verdict for finding in findings), findings)


def with_findings(judged: RuleJudgment, more: tuple[RuleResult, ...]) -> RuleJudgment:
    """The same judgment with what a second method found; it can only harden."""
    findings = (*judged.findings, *more)
    return RuleJudgment(strictest(finding.verdict for finding in findings), findings)


def deserves_caution(findings: Iterable[RuleResult]) -> bool:
    """Whether an accepted move deserves a warning: its own swap moves the price beyond the fee."""
    return any(
        finding.rule is Rule.OWN_SWAP
        and finding.value is not None
        and finding.limit is not None
        and finding.value > finding.limit
        for finding in findings
    )


def strictest(verdicts: Iterable[JudgmentVerdict]) -> JudgmentVerdict:
    """The strictest of several; a model's verdict joined with the rules' can only harden."""
    return max(verdicts, key=_STRICTNESS.index)


def decide(verdicts: Iterable[JudgmentVerdict]) -> Decision:
    """Accept when any move passes, veto_all when none may be kept, else revise."""
    seen = set(verdicts)
    if JudgmentVerdict.ACCEPT in seen:
        return Decision.ACCEPT
    return Decision.REVISE if JudgmentVerdict.REVISE in seen else Decision.VETO_ALL


def _price_inside(move: MoveNumbers) -> RuleResult:
    if move.price_inside:
        words = "the price is inside the range"
        return RuleResult(Rule.PRICE_INSIDE, JudgmentVerdict.ACCEPT, None, None, words)
    words = "the price is outside the range: it would earn nothing"
    return RuleResult(Rule.PRICE_INSIDE, JudgmentVerdict.VETO, None, None, words)


def _enters(entry: EntryChance) -> RuleResult:
    chance = f"a {percent(entry.day)} chance within 24 h"
    words = f"the price comes in with {chance}, half the time within {hours(entry.median_hours)}"
    if entry.day >= _EVEN:
        verdict = JudgmentVerdict.ACCEPT
    else:
        verdict = JudgmentVerdict.REVISE if entry.week >= _EVEN else JudgmentVerdict.VETO
    return RuleResult(Rule.ENTERS, verdict, entry.median_hours, HOURS_PER_DAY, words)


def _hook(move: MoveNumbers) -> tuple[RuleResult, ...]:
    """Liquidity is not put where it may not be taken out again."""
    if not move.dangers:
        return ()
    words = f"the pool is dangerous: {' '.join(move.dangers).rstrip('.')}"
    return (RuleResult(Rule.HOOK, JudgmentVerdict.VETO, None, None, words),)


def _own_swap(move: MoveNumbers) -> tuple[RuleResult, ...]:
    """A swap that moves the price is paid for twice: by the swap, and by minting at that price."""
    if not move.price_moved:
        return ()
    moved = f"its own swap moves the price by {100 * move.price_moved:.2g}%"
    if move.price_moved > MOST_OWN_PRICE_MOVE:
        words = f"{moved}, over {100 * MOST_OWN_PRICE_MOVE:g}%: the pool is too small for it"
        verdict, limit = JudgmentVerdict.VETO, MOST_OWN_PRICE_MOVE
    else:
        beyond = move.price_moved > move.pool_fee
        words = f"{moved}, {'more' if beyond else 'no more'} than the pool's fee"
        verdict, limit = JudgmentVerdict.ACCEPT, move.pool_fee
    return (RuleResult(Rule.OWN_SWAP, verdict, move.price_moved, limit, words),)


def _buffer_floor(move: MoveNumbers, rules: ProfileRules) -> RuleResult:
    buffer_hours, floor = move.buffers.at_1x, rules.buffer_floor_hours
    only = " only" if buffer_hours < floor else ""
    words = f"it lasts{only} {hours(buffer_hours)} at 95% confidence; your floor is {floor:g} h"
    if buffer_hours < floor / 2:
        verdict = JudgmentVerdict.VETO
    else:
        verdict = JudgmentVerdict.REVISE if only else JudgmentVerdict.ACCEPT
    return RuleResult(Rule.BUFFER_FLOOR, verdict, buffer_hours, floor, words)


def _gas_yield(move: MoveNumbers, rules: ProfileRules) -> RuleResult:
    ratio, ceiling = move.gas_yield, rules.gas_yield_ceiling
    if ratio is None:
        verdict, words = (
            JudgmentVerdict.REVISE,
            "gas over yield is unknown, so nothing shows it pays",
        )
    elif ratio == inf:
        verdict, words = JudgmentVerdict.VETO, "no fees are expected to pay for the gas"
    else:
        cost = f"gas is {times_words(ratio)} a day's fees"
        if ratio > 2 * ceiling:
            verdict, words = JudgmentVerdict.VETO, f"{cost}, over twice the ceiling of {ceiling:g}"
        elif ratio > ceiling:
            verdict, words = JudgmentVerdict.REVISE, f"{cost}, over the ceiling of {ceiling:g}"
        else:
            verdict, words = JudgmentVerdict.ACCEPT, f"{cost}, within the ceiling of {ceiling:g}"
    return RuleResult(Rule.GAS_YIELD, verdict, ratio, ceiling, words)


def _break_even(move: MoveNumbers, rules: ProfileRules) -> RuleResult:
    needed = move.break_even_hours
    limit = rules.break_even_life_share * move.median_life_hours
    within = f"{rules.break_even_life_share:g} × its median life, {hours(limit)}"
    if needed is None:
        verdict, words = JudgmentVerdict.REVISE, "break-even against HOLD is unknown"
    elif needed == inf:
        verdict, words = JudgmentVerdict.REVISE, "it never earns its cost back against HOLD"
    elif needed > limit:
        verdict, words = (
            JudgmentVerdict.REVISE,
            f"break-even in {hours(needed)} is later than {within}",
        )
    else:
        verdict, words = JudgmentVerdict.ACCEPT, f"break-even in {hours(needed)} is within {within}"
    return RuleResult(Rule.BREAK_EVEN, verdict, needed, limit, words)


class PlanVerdict(StrEnum):
    APPROVE = "approve"
    APPROVE_WITH_CAUTION = "approve_with_caution"
    REJECT = "reject"


class JudgedMove(Struct, frozen=True):
    """A candidate of the latest proposal, by its place in it."""

    index: int
    numbers: MoveNumbers
    verdict: JudgmentVerdict
    net_7d: float | None
    """Fees − LVR − cost of the next seven days; None is unknown."""


# What follows is written for a number and for arrays of them alike: the desk asks it about one
# position, a backtest about many at once. Flags are one or nought.
N = TypeVar("N", float, "npt.NDArray[np.float64]")
NET_TIE_USD = 1.0
"""Nets that differ by no more than this are alike: the profile's axis decides between them."""
SCORES = {JudgmentVerdict.ACCEPT: 2.0, JudgmentVerdict.REVISE: 1.0, JudgmentVerdict.VETO: 0.0}
_NOTHING = -1e18
"""Under all that is compared; a net nobody knows is as little."""


class MoveStanding(NamedTuple, Generic[N]):
    """What decides between moves."""

    score: N
    """By its verdict; nothing that scores nought is chosen."""
    buffer_hours: N
    stressed_hours: N
    """Its buffer at twice the volatility."""
    net_7d: N
    fee_24h: N


def tiebreak_value(rules: ProfileRules, move: MoveStanding[N]) -> N:
    """How a move stands on the profile's axis; an unknown yield counts as none."""
    fees = move.fee_24h
    if rules.tiebreak is Tiebreak.STRESSED_BUFFER:
        return move.stressed_hours
    if rules.tiebreak is Tiebreak.BUFFER_AND_YIELD:
        # Uncapped, the product always picks the widest: buffers grow with the square of the width.
        most, buffer = 2 * rules.buffer_floor_hours, move.buffer_hours
        capped: N = (buffer * (buffer < most) + most * (buffer >= most)) * fees
        return capped
    return fees


def winners(
    rules: ProfileRules, moves: Sequence[MoveStanding[N]], most: Callable[[list[N]], N]
) -> list[N]:
    """One for the move that is made, nought for the others, and for all where none may be.

    Of the best judged those that last as long as the profile likes, if any do; of these the highest
    net of seven days, and between nets that are alike or unknown the profile's axis. `most` is the
    largest of several.
    """
    if not moves:
        return []
    roomy = rules.liked_room * rules.buffer_floor_hours
    # A number that is as good as another stays; only nets have room between them.
    stages: tuple[tuple[float, list[N]], ...] = (
        (0.0, [2 * move.score + (move.buffer_hours >= roomy) for move in moves]),
        (NET_TIE_USD, [move.net_7d for move in moves]),
        (0.0, [tiebreak_value(rules, move) for move in moves]),
        (0.0, [move.buffer_hours for move in moves]),
    )
    left = [_may_be(move) for move in moves]
    for alike, values in stages:
        held = [
            flag * value + (1.0 - flag) * _NOTHING for flag, value in zip(left, values, strict=True)
        ]
        least = most(held) - alike
        left = [flag * (value >= least) for flag, value in zip(left, held, strict=True)]
    # Of equal ones the first.
    for place, flag in enumerate(left):
        for later in range(place + 1, len(left)):
            left[later] = left[later] * (1.0 - flag)
    return left


def _may_be(move: MoveStanding[N]) -> N:
    flag: N = 1.0 * (move.score > 0)  # type: ignore[assignment]
    return flag


def arbiter_choice(rules: ProfileRules, moves: Sequence[JudgedMove]) -> JudgedMove | None:
    """The move that is made, or would be; a vetoed move is never chosen."""
    won = winners(rules, [_standing(move) for move in moves], max)
    return next((move for move, flag in zip(moves, won, strict=True) if flag), None)


def _standing(move: JudgedMove) -> MoveStanding[float]:
    numbers = move.numbers
    return MoveStanding(
        SCORES[move.verdict],
        numbers.buffers.at_1x,
        numbers.buffers.at_2x,
        _NOTHING if move.net_7d is None else move.net_7d,
        numbers.fee_24h or 0.0,
    )


def move_verdict(judgment: JudgmentVerdict, *, cautious: bool) -> PlanVerdict:
    """The verdict of a plan that moves; a doubt about what it rests on caps it at caution."""
    if judgment is JudgmentVerdict.VETO:
        return PlanVerdict.REJECT
    if judgment is JudgmentVerdict.REVISE or cautious:
        return PlanVerdict.APPROVE_WITH_CAUTION
    return PlanVerdict.APPROVE


def stay_verdict(verdicts: Sequence[JudgmentVerdict], *, cautious: bool) -> PlanVerdict:
    """The verdict of a plan that makes no move: reject when every move was vetoed."""
    if verdicts and all(verdict is JudgmentVerdict.VETO for verdict in verdicts):
        return PlanVerdict.REJECT
    return PlanVerdict.APPROVE_WITH_CAUTION if cautious else PlanVerdict.APPROVE
