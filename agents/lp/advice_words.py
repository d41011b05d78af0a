"""What the rule decided in sentences: each is made from the figures that it claims."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from string import ascii_uppercase
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.statements import CLOSE, KEEP, Relation, Statement, claim
from agents.numbers.advice import (
    ENTER_OVER,
    HOURS_BETWEEN_ACTIONS,
    LEAVE_UNDER,
    MOST_EDGE_MEASURED,
    Advice,
    AdviceReason,
)
from agents.numbers.edges import TICK_LOG
from agents.numbers.rounding import gain_over
from agents.numbers.rules import CheckedAssumption, JudgmentVerdict, Rule, Tiebreak
from chain.base.units import UNKNOWN, Quantity, Unknown, hours, times_words, usd

if TYPE_CHECKING:
    from agents.lp.advising import MoveAdvice
    from agents.lp.plan import AssumptionCheck, Candidate, Dissent, MoveJudgment, RuleFinding


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


EVERY_PRICE = "all prices"
_HUNDRED = 100
_FULL_RANGE = 10_000
"""Percent from which on a width says nothing."""


def waits_for_price(move: Candidate) -> bool:
    """Beside the price: how long it lasts and when it earns its cost back nobody judges."""
    return move.judgment is not None and any(
        each.rule is Rule.ENTERS for each in move.judgment.findings
    )


def move_name(move: Candidate, among: Sequence[Candidate]) -> str:
    """`B widen`; where several do the same, how wide it is: `B 17.8% wide`."""
    done: str = "open" if move.kind == "create" else move.kind
    alike = sum(other.kind == move.kind for other in among) > 1
    if waits_for_price(move):
        done = "no swap"
    elif move.tick_lower is not None and move.tick_upper is not None:
        wide = 100 * (exp((move.tick_upper - move.tick_lower) * TICK_LOG) - 1)
        if wide >= _FULL_RANGE:
            done = EVERY_PRICE
        elif alike:
            done = f"{wide:.3g}% wide" if wide < _HUNDRED else f"{wide:,.0f}% wide"
    return done if move.index is None else f"{option_letter(move.index)} {done}"


_TOO = {
    Rule.PRICE_INSIDE: "price outside",
    Rule.BUFFER_FLOOR: "too narrow",
    Rule.GAS_YIELD: "gas too high",
    Rule.BREAK_EVEN: "pays late",
    Rule.HOOK: "hook",
    Rule.OWN_SWAP: "moves price",
    Rule.REPLAY: "past differs",
    Rule.ENTERS: "far away",
    Rule.GOAL: "your goal",
}


def findings_against(judgment: MoveJudgment | None) -> list[RuleFinding]:
    """What speaks against it, vetoes first; nothing where every floor is kept, or nobody judged
    it."""
    if judgment is None:
        return []
    findings = [each for each in judgment.findings if each.verdict is not JudgmentVerdict.ACCEPT]
    return sorted(findings, key=lambda each: each.verdict is not JudgmentVerdict.VETO)


def finding_against(judgment: MoveJudgment | None) -> RuleFinding | None:
    return next(iter(findings_against(judgment)), None)


ALLOWED, NEVER_PAYS, STILL_LOSES = "allowed", "never pays", "still loses"


def judged_words(judgment: MoveJudgment, move: Candidate) -> str:
    """`allowed`, or why it is not, in a word or two: the same in debate and plan.

    What breaks no limit and loses all the same, though less than Keep, is no approval.
    """
    against = finding_against(judgment)
    if against is not None:
        late = against.rule is Rule.BREAK_EVEN and not move.breaks_even
        return NEVER_PAYS if late else _TOO[against.rule]
    return STILL_LOSES if move.net_7d is not None and move.net_7d < 0 else ALLOWED


MOST_EDGE_SHOWN = 10.0

PASSES_EVERY_LIMIT = "it meets every limit of your profile"
AXES = {
    Tiebreak.STRESSED_BUFFER: "stays longest in range if volatility doubles",
    Tiebreak.BUFFER_AND_YIELD: "has the best fees for the time it lasts",
    Tiebreak.YIELD: "has the highest fees",
}
"""What decides between moves whose nets are alike or unknown."""
_SHORT = {
    AdviceReason.DANGER: "the hook can lock your tokens",
    AdviceReason.EDGE_UNKNOWN: "what the pool pays is unknown",
    AdviceReason.WORTH_UNKNOWN: "its worth is unknown",
    AdviceReason.MOVE_UNKNOWN: "what a move costs or brings is unknown",
    AdviceReason.STAYING_LOSES: "fees cover too little of what arbitrage takes",
    AdviceReason.NO_CANDIDATE: "every range breaks a limit of your profile, or your goal",
}
"""Why no option was made, where nothing is compared."""


def covered_words(edge_7d: float | None) -> str:
    """`fees covered 91.3% of what arbitrage took in the past 7 days`."""
    if edge_7d is None:
        return "how much of arbitrage losses fees cover is unknown"
    if edge_7d > MOST_EDGE_SHOWN:
        much = f"over {100 * MOST_EDGE_SHOWN:,.0f}%"
    else:
        much = f"{100 * edge_7d:.1f}%"
    return f"fees covered {much} of what arbitrage took in the past 7 days"


def coverage_statement(option: str, edge_7d: float | None) -> Statement:
    """The same, and whether that pays; what is above all that was measured is said to be cut."""
    words = covered_words(edge_7d)
    if edge_7d is None:
        return Statement(words)
    claims = (claim(option, Relation.PAID, edge_7d),)
    if edge_7d < 1:
        return Statement(f"{words}: a net loss for liquidity providers", claims)
    if edge_7d > MOST_EDGE_MEASURED:
        most = f"{100 * MOST_EDGE_MEASURED:.0f}%"
        words = f"{words}; we forecast with at most {most}"
    return Statement(words, claims)


def net_words(name: str, option: Candidate, hold: Candidate) -> Statement:
    """`it should net $9.68 in 7 days, $6.01 more than Keep, its cost of $5.17 paid`."""
    if option.net_7d is None:
        return Statement("what it nets is unknown")
    words, claims = _nets("it", name, option)
    more = gain_over(option.net_7d, hold.net_7d)
    if more is not None and more > 0:
        words = f"{words}, {usd(more)} {'more' if option.net_7d >= 0 else 'less'} than Keep"
        claims = (*claims, claim(name, Relation.NETS_MORE, more, than=KEEP))
    if option.cost_usd:
        words = f"{words}, its cost of {usd(option.cost_usd)} paid"
        claims = (*claims, claim(name, Relation.COSTS, option.cost_usd))
    return Statement(words, claims)


def _nets(subject: str, name: str, option: Candidate) -> Statement:
    assert option.net_7d is not None
    does = "lose" if option.net_7d < 0 else "net"
    return Statement(
        f"{subject} should {does} {usd(abs(option.net_7d))} in 7 days",
        (claim(name, Relation.NETS, option.net_7d),),
    )


class Rival(NamedTuple):
    """The option that should net more than Keep, and the rule that holds it back."""

    name: str
    option: Candidate
    rule: Statement


def keep_words(hold: Candidate, rival: Rival | None) -> Statement:
    """Why nothing is done: nothing beats it, or what looks better is held back by a rule."""
    if rival is None:
        return Statement(
            "nothing here should net more in 7 days", (claim(KEEP, Relation.NETS_MOST),)
        )
    more = gain_over(rival.option.net_7d, hold.net_7d)
    assert more is not None
    claims = [claim(rival.name, Relation.NETS_MORE, more, than=KEEP)]
    named, told = (rival.name, rival.option) if rival.name != CLOSE else (KEEP, hold)
    span = ""
    if told.net_low_7d is not None and told.net_high_7d is not None:
        span = f" (8 weeks in 10 {named} nets {usd(told.net_low_7d)} to {usd(told.net_high_7d)})"
        claims.append(claim(named, Relation.BETWEEN, told.net_low_7d, told.net_high_7d))
    return Statement(
        f"{rival.name} looks {usd(more)} better over 7 days{span}, but {rival.rule.words}",
        (*claims, *rival.rule.claims),
    )


def holds_back(
    name: str, advice: Advice, *, inside: bool, since: float | None, move: MoveAdvice | None
) -> Statement:
    """The rule that keeps an option from being made that breaks no limit; closing is no move."""
    reason = advice.reasons[0]
    if reason is AdviceReason.ACTED_RECENTLY:
        told = f"it was moved {hours(since)} ago: zuno waits {HOURS_BETWEEN_ACTIONS:g} h"
        return Statement(told)
    if move is None:
        return _not_closed(name, advice, inside=inside)
    if inside:
        words = "zuno does not move a position in range just for more yield"
        return Statement(words, (claim(KEEP, Relation.IN_RANGE),))
    return _not_moved(name, move)


def _not_closed(name: str, advice: Advice, *, inside: bool) -> Statement:
    edge = advice.edge_7d
    if not inside:
        out = (claim(KEEP, Relation.OUT_OF_RANGE),)
        return Statement("out of range it loses nothing while the price may come back", out)
    if edge is not None and edge >= LEAVE_UNDER:
        line = f"we advise closing only when fees cover less than {100 * LEAVE_UNDER:.0f}%"
        paid = (claim(name, Relation.PAID, edge),)
        return Statement(f"{line} of arbitrage losses: {covered_words(edge)}", paid)
    if advice.reasons[0] is AdviceReason.WIDE_RANGE:
        return Statement("a range of ±20% or wider loses too little to be closed")
    return Statement("it loses too little to pay for closing")


def _not_moved(name: str, move: MoveAdvice) -> Statement:
    edge, reason = move.advice.edge_7d, move.advice.reasons[0]
    if reason in (AdviceReason.OUT_OF_RANGE, AdviceReason.IN_DEAD_BAND) and edge is not None:
        line = f"a move needs fees over {100 * ENTER_OVER:.0f}% of arbitrage losses"
        paid = (claim(name, Relation.PAID, edge),)
        return Statement(f"{line}: {covered_words(edge)}", paid)
    if reason is AdviceReason.GAIN_UNDER_COST and move.gain is not None:
        gained = f"its gain of {usd(move.gain)} in {hours(move.hours)} is under twice its cost"
        return Statement(f"{gained} of {usd(move.cost)}")
    if reason is AdviceReason.WORSE_THAN_EXIT:
        return Statement("closing costs less than that would lose")
    return Statement(short_reason(reason))


SETTLED = {
    AdviceReason.ACTED_RECENTLY: f"it was moved less than {HOURS_BETWEEN_ACTIONS:g} h ago",
    AdviceReason.OUT_OF_RANGE: "fees do not cover arbitrage losses: coming back does not pay",
    AdviceReason.LOSES_LITTLE: "it loses too little to pay for closing",
    AdviceReason.WIDE_RANGE: "its range is wide enough to stay",
}
"""Why nobody argues, beside what was never known."""


WOULD = {"revise": "send it back", "veto": "refuse it", "choose": "have none of them"}


def dissent_words(dissent: Dissent) -> str:
    """`the Critic's model would veto it`, or what it wanted in its place."""
    who = f"the {dissent.role.capitalize()}'s model"
    if dissent.wanted is None:
        would = WOULD[dissent.verdict]
        return f"{who} would {would}, but a model cannot overrule the rules' own plan"
    return f"{who} wanted {option_letter(dissent.wanted)}, but {dissent.overruled}"


def short_reason(reason: AdviceReason) -> str:
    """Why nothing is moved, in half a sentence."""
    return _SHORT.get(reason, "no range here gains enough over what is held")


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
    return covered_words(edge.value)


def beside_words(leave: Candidate, wide: Candidate | None) -> Statement:
    """Close and the widest range side by side, where a pool does not pay."""
    words = f"{CLOSE} costs {usd(leave.cost_usd)}"
    claims = () if leave.cost_usd is None else (claim(CLOSE, Relation.COSTS, leave.cost_usd),)
    if wide is None or wide.index is None or wide.net_7d is None or wide.cost_usd is None:
        return Statement(words, claims)
    name = option_letter(wide.index)
    nets = _nets(f"{name}, the widest,", name, wide)
    return Statement(
        f"{words}; {nets.words} after its cost of {usd(wide.cost_usd)}",
        (*claims, *nets.claims, claim(name, Relation.WIDEST)),
    )


def assumption_words(checks: Sequence[AssumptionCheck]) -> str:
    """`The advice would change if volatility doubled or fees halved.`"""
    lost = [check.assumption for check in checks if check.survives is False]
    if any(check.survives is None for check in checks) and not lost:
        return "What the advice would survive is unknown."
    if not lost:
        return "The advice would be the same if volatility or fees halved or doubled."
    return f"The advice would change if {' or '.join(_IF[each] for each in lost)}."


_IF = {
    CheckedAssumption.VOLATILITY_HALF: "volatility halved",
    CheckedAssumption.VOLATILITY_TWICE: "volatility doubled",
    CheckedAssumption.FEES_HALF: "fees halved",
    CheckedAssumption.FEES_TWICE: "fees doubled",
}


def finding_words(finding: RuleFinding, move: Candidate) -> Statement:
    """Which limit a move breaks, with its figures as its column tells them."""
    name, value, limit = option_letter(move.index or 0), finding.value, finding.limit
    broken = claim(name, Relation.BREAKS, rule=finding.rule.value)
    if finding.rule is Rule.BREAK_EVEN and not move.breaks_even:
        return Statement(
            "it never earns its cost back against Keep", (broken, claim(name, Relation.NEVER))
        )
    if value is None or limit is None:
        return Statement(finding.words, (broken,))
    match finding.rule:
        case Rule.BUFFER_FLOOR:
            words = f"it lasts only {hours(value)} at 95% confidence; your floor is {hours(limit)}"
            return Statement(words, (broken, claim(name, Relation.LASTS, value)))
        case Rule.GAS_YIELD:
            words = f"gas is {times_words(value)} a day's fees, your ceiling is {limit:g} ×"
        case Rule.BREAK_EVEN:
            words = f"it earns its cost back in {hours(value)}; the profile allows {hours(limit)}"
            return Statement(words, (broken, claim(name, Relation.PAYS_BACK, value)))
        case _:
            words = finding.words
    return Statement(words, (broken,))
