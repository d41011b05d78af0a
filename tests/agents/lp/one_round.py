"""A single round, judged and concluded with nobody on a bus."""

from agents.lp.conclude import chosen_move, plan_of
from agents.lp.evaluation import exit_candidate, hold_candidate
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.judge import JudgedRound, Opinion, judged_round
from agents.lp.payloads import Critique, DebateRound, context_hash
from agents.lp.plan import Plan
from agents.lp.propose import candidates_of, shapes_by_rules

ROUND = DebateRound(number=1, candidates=(), rationale="", answers=(), proposed_by="rules")


def judged(
    context: MarketContext | CreateContext, opinions: dict[int, Opinion] | None = None
) -> JudgedRound:
    moves = candidates_of(context, shapes_by_rules(context, ()))
    return judged_round(context, moves, opinions or {})


def concluded(context: MarketContext | CreateContext, round_: JudgedRound) -> Plan:
    last = ROUND.model_copy(
        update={
            "candidates": tuple(move.candidate for move in round_.moves),
            "decision": round_.decision,
        }
    )
    debate = Critique(
        context=context,
        context_hash=context_hash(context),
        max_rounds=1,
        hold=hold_candidate(context),
        exit=exit_candidate(context),
        rounds=(last,),
    )
    return plan_of(debate, round_, chosen_move(context, round_), decided_by="critic")
