"""Where HOLD and EXIT stand before a move is judged, and what the plan is after the last word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.advice_words import edge_words, option_letter
from agents.lp.advising import MoveAdvice, hours_since_action, move_advice, settled, standing_advice
from agents.lp.briefing import AXES
from agents.lp.conclude import by_critic, is_permitted, outcome_by_rules
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.spoken_tables import listed, range_prices
from agents.numbers.advice import ENTER_OVER, HOURS_BETWEEN_ACTIONS, LEAVE_UNDER, AdviceReason
from agents.numbers.outlook import HOURS_PER_WEEK
from agents.numbers.profiles import PROFILES
from agents.numbers.rules import JudgmentVerdict
from chain.base.units import hours, usd

if TYPE_CHECKING:
    from agents.lp.evaluation import Evaluated
    from agents.lp.judge import JudgedRound
    from agents.lp.payloads import Debate
    from agents.lp.plan import Candidate, Plan

    Context = MarketContext | CreateContext

_SHORTLY = {
    AdviceReason.DANGER: "the hook can keep what is inside",
    AdviceReason.EDGE_UNKNOWN: "what the pool pays is not known",
    AdviceReason.WORTH_UNKNOWN: "its worth is not known",
    AdviceReason.MOVE_UNKNOWN: "what a move brings is not known",
    AdviceReason.STAYING_LOSES: "staying loses too much",
    AdviceReason.LOSES_LITTLE: "it loses too little to be left",
    AdviceReason.WIDE_RANGE: "it is wide enough to stay",
    AdviceReason.IN_RANGE: "what is in range and paid is not moved, even where that would net more",
    AdviceReason.OUT_OF_RANGE: "the pool does not pay for coming back",
    AdviceReason.ACTED_RECENTLY: "a day passes between two actions",
    AdviceReason.IN_DEAD_BAND: "the pool pays too little to enter and too much to leave",
    AdviceReason.NO_CANDIDATE: "a floor forbids each of them",
    AdviceReason.GAIN_UNDER_COST: "none gains twice what it costs",
    AdviceReason.WORSE_THAN_EXIT: "leaving is cheaper",
}


def standing_sentence(debate: Debate) -> str:
    """Where HOLD and EXIT stand, by the numbers of the rule."""
    context, hold, leave = debate.context, debate.hold, debate.exit
    if not isinstance(context, MarketContext) or leave is None:
        return (
            "HOLD keeps the capital as it is, for no cost and no fees; a pool is entered when it "
            f"pays over {ENTER_OVER:g} × its risk and the gain is over twice the cost."
        )
    return f"{_hold_words(context, hold)}; EXIT costs {usd(leave.cost_usd)}. {_line_words(context)}"


def stance_sentence(
    number: int, context: Context, moves: tuple[Evaluated, ...], judged: JudgedRound
) -> str:
    """What the rules would make of a proposal: the one they would take, or why none."""
    choice = outcome_by_rules(context, judged).choice
    if choice.kind != "move" or choice.index is None:
        other = choice.kind.upper()
        if number > 1:
            return f"In round {number}, too, the rules take none of these over {other}."
        return f"The rules take none of these over {other}: {_SHORTLY[choice.codes[0]]}."
    move = moves[choice.index]
    shape = move.candidate.shape
    told = move_advice(
        context, evaluation_of(context, 0 if shape is None else shape.pool_index), move
    )
    letter = option_letter(choice.index)
    would_be = f"By the rules it would be {letter}"
    if number > 1:
        would_be = f"In round {number} it would be {letter} by the rules"
    return f"{would_be}: {usd(told.gain)} more than HOLD in {_span(told)}, for {usd(told.cost)}."


def _span(move: MoveAdvice) -> str:
    """The hours a gain is counted for, which are not the card's week where a range lives less."""
    lasts = hours(move.hours)
    return lasts if move.hours >= HOURS_PER_WEEK else f"the {lasts} its range should last"


def closing_sentence(context: Context, plan: Plan, judged: JudgedRound) -> str:
    """What the plan is, and the rule that made it so, where others spoke for something else."""
    choice = plan.choice
    reason = choice.reasons[0].removeprefix("the move wins: ").removeprefix("HOLD wins: ")
    if choice.codes[0] is AdviceReason.DANGER:
        reason = f"its hook is dangerous, {reason[:1].lower()}{reason[1:]}"
    what = f"{_plan_words(context, plan)}{_tiebreak_words(context, plan, judged)}"
    accepted = [
        option_letter(index)
        for index, move in enumerate(judged.moves)
        if move.judgment.verdict is JudgmentVerdict.ACCEPT
    ]
    though = ""
    if choice.kind != "move" and accepted and settled(context) is None:
        keeps = "keeps" if len(accepted) == 1 else "keep"
        though = f", though {listed(accepted)} {keeps} every floor"
    return f"The plan is {what}{though}: {reason.rstrip('.')}."


def _tiebreak_words(context: Context, plan: Plan, judged: JudgedRound) -> str:
    """Why this of several moves that may be made, where the profile's own axis chose it."""
    chosen = by_critic(context, judged)
    if chosen is None or chosen.evaluated.candidate.index != plan.choice.index:
        return ""
    others = [
        option_letter(index)
        for index, move in enumerate(judged.moves)
        if move is not chosen
        and move.judgment.verdict is JudgmentVerdict.ACCEPT
        and is_permitted(context, move)
    ]
    if not others:
        return ""
    return f", before {listed(others)} by {AXES[PROFILES[context.profile].tiebreak]}"


def settled_sentence(context: Context, codes: tuple[AdviceReason, ...], *, asked: bool) -> str:
    """Why nobody argues: the rule has decided already."""
    unasked = ", and no model is asked" if asked else ""
    why = _SHORTLY[codes[0]]
    if codes[0] is AdviceReason.NO_CANDIDATE:
        why = "there is nothing to move"
    if not isinstance(context, MarketContext):
        why = "no pool here is both safe and paid enough to enter"
    return f"The rule decides before anybody argues{unasked}: {why}."


def _plan_words(context: Context, plan: Plan) -> str:
    choice = plan.choice
    if choice.kind != "move" or choice.index is None:
        return choice.kind.upper()
    return f"{option_letter(choice.index)}, {range_prices(context, plan.recommended)}"


def _hold_words(context: MarketContext, hold: Candidate) -> str:
    net = f"nets about {usd(hold.net_7d)} in 7 days"
    if hold.net_7d is None:
        net = "nets nobody knows how much"
    if not context.position.liquidity:
        return "HOLD is an empty position that earns nothing"
    if evaluation_of(context).in_range:
        buffer = hours(None if hold.buffer_hours is None else hold.buffer_hours.at_1x)
        return f"HOLD is in range with a buffer of {buffer} and {net}"
    return f"HOLD is out of range; with the chance that the price comes back it {net}"


def _line_words(context: MarketContext) -> str:
    """The line of the rule that the position stands at."""
    evaluation = evaluation_of(context)
    advice = standing_advice(context, evaluation)
    match advice.reasons[0]:
        case AdviceReason.DANGER:
            return "A hook that can keep what is inside is left at any price."
        case AdviceReason.ACTED_RECENTLY:
            since = hours(hours_since_action(context))
            return f"It was made or moved {since} ago; {HOURS_BETWEEN_ACTIONS:g} h must pass."
    pays = f"The pool {edge_words(advice.edge_7d)}"
    if advice.edge_7d is None:
        pays = "What the pool pays over its risk is unknown"
    if evaluation.in_range:
        return f"{pays}; it is left under {LEAVE_UNDER:g} ×."
    return f"{pays}; it is entered again over {ENTER_OVER:g} ×."
