"""The rule's reasons as sentences, each with its figures; moves by letter, as people type them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp
from string import ascii_uppercase
from typing import TYPE_CHECKING

from agents.numbers.advice import (
    COST_MULTIPLE,
    DECIDES_ALONE,
    ENTER_OVER,
    HOURS_BETWEEN_ACTIONS,
    LEAVE_UNDER,
    Advice,
    AdviceReason,
)
from agents.numbers.edges import TICK_LOG
from agents.numbers.rules import CheckedAssumption, JudgmentVerdict, ProfileRules, Rule, Tiebreak
from agents.numbers.survival import HOURS_PER_DAY
from chain.base.units import UNKNOWN, Quantity, Unknown, hours, hours_cell, usd

if TYPE_CHECKING:
    from agents.lp.advising import MoveAdvice
    from agents.lp.plan import AssumptionCheck, Candidate, MoveJudgment, RuleFinding


def option_letter(index: int) -> str:
    """A for the first move; a number beyond the alphabet stays a number."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else str(index)


def option_index(named: str) -> int | None:
    """Of a letter in either case, or of the move's number; None of anything else."""
    if named.isascii() and named.isdigit():
        return int(named)
    if len(named) == 1 and named.upper() in ascii_uppercase:
        return ascii_uppercase.index(named.upper())
    return None


_HUNDRED = 100
_FULL_RANGE = 10_000
"""Percent from which on a width says nothing."""


def move_name(move: Candidate, among: Sequence[Candidate]) -> str:
    """`B widen`; where several do the same, how wide it is: `B 17.8% wide`."""
    done: str = "open" if move.kind == "create" else move.kind
    alike = sum(other.kind == move.kind for other in among) > 1
    if alike and move.tick_lower is not None and move.tick_upper is not None:
        wide = 100 * (exp((move.tick_upper - move.tick_lower) * TICK_LOG) - 1)
        done = f"{wide:.3g}% wide" if wide < _HUNDRED else f"{wide:,.0f}% wide"
        done = done if wide < _FULL_RANGE else "all prices"
    return done if move.index is None else f"{option_letter(move.index)} {done}"


_TOO = {
    Rule.PRICE_INSIDE: "price outside",
    Rule.BUFFER_FLOOR: "too narrow",
    Rule.GAS_YIELD: "gas too high",
    Rule.BREAK_EVEN: "pays late",
    Rule.HOOK: "hook",
    Rule.OWN_SWAP: "moves price",
    Rule.REPLAY: "past differs",
    Rule.GOAL: "your goal",
}


def findings_against(judgment: MoveJudgment | None) -> list[RuleFinding]:
    """What speaks against it, vetoes first; nothing where every floor is kept, or nobody judged
    it."""
    if judgment is None or judgment.verdict is JudgmentVerdict.ACCEPT:
        return []
    findings = [each for each in judgment.findings if each.verdict is not JudgmentVerdict.ACCEPT]
    return sorted(findings, key=lambda each: each.verdict is not JudgmentVerdict.VETO)


def finding_against(judgment: MoveJudgment | None) -> RuleFinding | None:
    return next(iter(findings_against(judgment)), None)


ALLOWED, NEVER_PAYS = "allowed", "never pays"


def never_pays(move: Candidate) -> bool:
    """Nothing is earned back by what loses all the same, though it loses less than HOLD."""
    return not move.breaks_even or (move.net_7d is not None and move.net_7d < 0)


def judged_words(judgment: MoveJudgment, move: Candidate) -> str:
    """`allowed`, or why it is not, in a word or two: the same in debate and plan.

    What breaks no limit and loses all the same is no approval.
    """
    against = finding_against(judgment)
    if against is not None:
        late = against.rule is Rule.BREAK_EVEN and never_pays(move)
        return NEVER_PAYS if late else _TOO[against.rule]
    if judgment.verdict is not JudgmentVerdict.ACCEPT:
        return "ruled out"
    return NEVER_PAYS if never_pays(move) else ALLOWED


MOST_EDGE_SHOWN = 10.0

_PLAIN = {
    AdviceReason.WORTH_UNKNOWN: "what it is worth or brings is unknown, and nothing is moved on "
    "what is not known",
    AdviceReason.MOVE_UNKNOWN: "what the move brings or costs is unknown, and nothing is moved on "
    "what is not known",
    AdviceReason.LOSES_LITTLE: "what it loses is too little to pay for closing",
    AdviceReason.WIDE_RANGE: "a range as wide as ±20% loses little: closing is shown beside it",
    AdviceReason.IN_RANGE: "it is in range and earning: it is never moved just for yield",
    AdviceReason.THIN_BUFFER: "its buffer is under your floor, but out of range nothing is lost by "
    "waiting",
    AdviceReason.NO_CANDIDATE: "nothing held here can be moved",
    AdviceReason.WORSE_THAN_EXIT: "closing costs less than the move would lose",
}


WEIGHED_BY = {
    Tiebreak.STRESSED_BUFFER: "time in range at twice the volatility",
    Tiebreak.BUFFER_AND_YIELD: "fees at 95% confidence",
    Tiebreak.YIELD: "fees",
}
"""What decides between moves that keep every floor."""
SURE_FEES = "fees (95%)"
"""What a range earns in the time that it lasts at 95% confidence."""
PASSES_EVERY_LIMIT = "it passes every limit of the profile"
SHORT_REASONS = {
    AdviceReason.DANGER: "the hook can lock your tokens",
    AdviceReason.EDGE_UNKNOWN: "what the pool pays is unknown",
    AdviceReason.WORTH_UNKNOWN: "its worth is unknown",
    AdviceReason.MOVE_UNKNOWN: "what a move brings is unknown",
    AdviceReason.STAYING_LOSES: "staying loses too much",
    AdviceReason.LOSES_LITTLE: "it loses too little to pay for closing",
    AdviceReason.WIDE_RANGE: "it is wide enough to stay",
    AdviceReason.IN_RANGE: "it is in range and earning: it is never moved just for yield",
    AdviceReason.OUT_OF_RANGE: "the pool does not pay for coming back",
    AdviceReason.THIN_BUFFER: "its buffer is thin, but waiting costs nothing",
    AdviceReason.ACTED_RECENTLY: "it was made or moved less than 24 h ago",
    AdviceReason.IN_DEAD_BAND: "the pool pays too little to enter and too much to close",
    AdviceReason.NO_CANDIDATE: "each breaks a limit of your profile, or your goal",
    AdviceReason.GAIN_UNDER_COST: "after cost none gains more than it costs",
    AdviceReason.WORSE_THAN_EXIT: "closing is cheaper",
    AdviceReason.MOVE_PAYS: "nobody chose a move that pays",
}
"""Why nothing is moved, in half a sentence."""


def tiebreak_figure(rules: ProfileRules, move: Candidate) -> float | None:
    """How a move stands on the profile's own axis: hours, or dollars while it lasts or a day."""
    buffers, fees = move.buffer_hours, move.fee_yield_24h
    if rules.tiebreak is Tiebreak.YIELD:
        return fees
    if buffers is None or fees is None:
        return None
    if rules.tiebreak is Tiebreak.STRESSED_BUFFER:
        return buffers.at_2x
    return min(buffers.at_1x, 2 * rules.buffer_floor_hours) * fees / HOURS_PER_DAY


def tiebreak_words(rules: ProfileRules, move: Candidate) -> str:
    figure = tiebreak_figure(rules, move)
    if figure is None:
        return UNKNOWN
    if rules.tiebreak is Tiebreak.STRESSED_BUFFER:
        return hours_cell(figure)
    return f"{usd(figure)} a day" if rules.tiebreak is Tiebreak.YIELD else usd(figure)


def weighed_words(rules: ProfileRules, *moves: Candidate) -> str:
    """The figures that decided between them: `A $32.20, C $24.06, counting 48 h at most`."""
    told = ", ".join(
        f"{option_letter(move.index or 0)} {tiebreak_words(rules, move)}" for move in moves
    )
    most = 2 * rules.buffer_floor_hours
    capped = rules.tiebreak is Tiebreak.BUFFER_AND_YIELD and any(
        move.buffer_hours is not None and move.buffer_hours.at_1x > most for move in moves
    )
    return f"{told}, counting {most:g} h at most" if capped else told


def edge_words(edge_7d: float | None) -> str:
    """`paid 0.83 × its risk in the past 7 days`."""
    if edge_7d is None:
        return "what it pays over its risk is unknown"
    if edge_7d > MOST_EDGE_SHOWN:
        return f"paid > {MOST_EDGE_SHOWN:g} × its risk in the past 7 days"
    return f"paid {edge_7d:.2f} × its risk in the past 7 days"


def edge_figure(edge_7d: float | None) -> str:
    """The same for a column: `0.83 × risk`."""
    if edge_7d is None:
        return UNKNOWN
    if edge_7d > MOST_EDGE_SHOWN:
        return f"> {MOST_EDGE_SHOWN:g} × risk"
    return f"{edge_7d:.2f} × risk"


def edge_sentence(edge: Quantity[float]) -> str:
    """The same for a page: what is unknown with its reason."""
    if isinstance(edge, Unknown):
        return f"{UNKNOWN}: {edge.reason}"
    return f"the pool {edge_words(edge.value)}"


def standing_words(advice: Advice, *, inside: bool, since: float | None) -> tuple[str, ...]:
    """Why to stay or to leave, where no move decided it."""
    decided = _reason_words(advice.reasons[0], advice, inside=inside, since=since)
    if AdviceReason.POOL_DOES_NOT_PAY not in advice.reasons:
        return (decided,)
    return (unpaid_words(advice, inside=inside), decided)


def unpaid_words(advice: Advice, *, inside: bool) -> str:
    """A pool that does not pay, in one sentence with the figure."""
    words = f"the pool {edge_words(advice.edge_7d)}, which does not pay for it"
    if not inside or advice.week is None or advice.week >= 0:
        return words
    return f"{words}, and staying costs about {usd(-advice.week)} a week"


def move_words(move: MoveAdvice) -> str:
    """Why a move wins or does not, with its gain and its cost."""
    reason = move.advice.reasons[0]
    gain, span = move.gain, f"in {hours(move.hours)}"
    if gain is None or move.cost is None:
        return _PLAIN[AdviceReason.MOVE_UNKNOWN]
    if reason is AdviceReason.MOVE_PAYS:
        pays = edge_words(move.advice.edge_7d)
        return f"the move wins: {gain_words(move)}, and the pool {pays}"
    after = f"after its cost of {usd(move.cost)} the move"
    if gain <= 0:
        return f"HOLD wins: {after} loses {usd(-gain)} to HOLD {span}"
    if gain <= (COST_MULTIPLE - 1) * move.cost:
        return (
            f"HOLD wins: {after} gains {usd(gain)} over HOLD {span}, and must gain more than that "
            "cost"
        )
    return (
        f"HOLD wins: the pool {edge_words(move.advice.edge_7d)}, too little for a move that costs "
        f"{usd(move.cost)}"
    )


def gain_words(move: MoveAdvice) -> str:
    """What a move is for: `after its cost of $5.19 it gains $43.02 over HOLD in 7 d`."""
    cost, gain = usd(move.cost), usd(move.gain)
    return f"after its cost of {cost} it gains {gain} over HOLD in {hours(move.hours)}"


def closing_words(advice: Advice, more: float, *, inside: bool, since: float | None) -> str:
    """Why a position is not closed though that is expected to bring more than keeping it."""
    reason = advice.reasons[0]
    if reason in DECIDES_ALONE and reason is not AdviceReason.OUT_OF_RANGE:
        why = _reason_words(reason, advice, inside=inside, since=since)
    elif not inside:
        why = "being out of range is no reason to close: the price may come back"
    elif advice.edge_7d is not None and advice.edge_7d >= LEAVE_UNDER:
        why = f"it is closed only where the pool paid under {LEAVE_UNDER:g} × its risk"
    else:
        why = _PLAIN[AdviceReason.LOSES_LITTLE]
    return f"EXIT would bring {usd(more)} more than HOLD in 7 days, but {why}"


def beside_words(leave: Candidate, wide: Candidate | None) -> str:
    """EXIT and the widest range side by side, where a pool does not pay."""
    words = f"side by side: EXIT costs {usd(leave.cost_usd)}"
    if wide is None or wide.index is None:
        return words
    return (
        f"{words}; option {option_letter(wide.index)}, the widest, costs {usd(wide.cost_usd)} "
        f"and nets {usd(wide.net_7d)} in 7 days with that"
    )


def assumption_words(checks: Sequence[AssumptionCheck]) -> str:
    """`is the same if volatility halves or doubles; not if fees halve`."""
    kept = {check.assumption for check in checks if check.survives}
    lost = {check.assumption for check in checks if check.survives is False}
    if not kept and not lost:
        return "what it would survive is unknown"
    parts = []
    if kept:
        parts.append(f"is the same if {_supposed(kept)}")
    if lost:
        parts.append(f"not if {_supposed(lost)}")
    return "; ".join(parts)


def _supposed(assumptions: Iterable[CheckedAssumption]) -> str:
    found = set(assumptions)
    if found == set(CheckedAssumption):
        return "volatility or fees halve or double"
    words = []
    for half, twice, less, more in (
        (
            CheckedAssumption.VOLATILITY_HALF,
            CheckedAssumption.VOLATILITY_TWICE,
            "volatility halves",
            "doubles",
        ),
        (CheckedAssumption.FEES_HALF, CheckedAssumption.FEES_TWICE, "fees halve", "double"),
    ):
        what, _, _ = less.partition(" ")
        if {half, twice} <= found:
            words.append(f"{less} or {more}")
        elif half in found:
            words.append(less)
        elif twice in found:
            words.append(f"{what} {more}")
    return ", or ".join(words)


def _reason_words(
    reason: AdviceReason, advice: Advice, *, inside: bool, since: float | None
) -> str:
    match reason:
        case AdviceReason.EDGE_UNKNOWN:
            return (
                "what the pool pays over its risk is unknown, and nothing is moved on what is "
                "not known"
            )
        case AdviceReason.ACTED_RECENTLY:
            return (
                f"it was moved {hours(since)} ago, and nothing is done again within "
                f"{HOURS_BETWEEN_ACTIONS:g} h"
            )
        case AdviceReason.STAYING_LOSES:
            return "closing ends that: only a range of ±20% or wider is worth waiting in"
        case AdviceReason.IN_DEAD_BAND:
            line = (
                f"it is closed only below {LEAVE_UNDER:g} ×"
                if inside
                else f"a move needs more than {ENTER_OVER:g} ×"
            )
            return f"the pool {edge_words(advice.edge_7d)}: {line}"
        case AdviceReason.OUT_OF_RANGE:
            return "out of range nothing is lost by waiting"
        case _:
            return _PLAIN[reason]
