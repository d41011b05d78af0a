"""A single round, judged and concluded with nobody on a bus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.concluding import by_arbiter, by_critic, plan_of
from agents.evaluation import exit_candidate, hold_candidate
from agents.judging import Opinion, judged_round
from agents.payloads import Critique, Round, context_hash
from agents.proposing import candidates_of, shapes_by_rules

if TYPE_CHECKING:
    from agents.facts import CreateContext, MarketContext
    from agents.judging import JudgedRound
    from agents.plan import Plan

ROUND = Round(number=1, candidates=(), rationale="", answers=(), proposed_by="rules")


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
    chosen = by_critic(context, round_) or by_arbiter(context, round_)
    return plan_of(debate, round_, chosen, decided_by="critic")
