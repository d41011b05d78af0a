"""From judged moves to a plan: who wins, how sure it is, and what the verdict says."""

from __future__ import annotations

import pytest

from agents.lp.conclude import rules_alone
from agents.lp.evaluation_context import evaluation_of
from agents.lp.plan import plan_identity
from agents.numbers.confidence import Contest, hold_confidence
from agents.numbers.rules import Decision
from tests.agents.made_up import DOLLAR_DOLLAR, TOKEN0, Market
from tests.agents.one_round import concluded, judged


def test_the_plan_is_named_by_its_content() -> None:
    context = Market(0.02, 1.3, off_centre=2.0).position()
    plan = concluded(context, judged(context))
    assert plan.plan_id == plan_identity(plan)
    assert plan.plan_id.startswith("plan_")
    other = concluded(context, judged(context)).model_copy(update={"block": 1})
    assert plan_identity(other) != plan.plan_id


def test_no_shape_a_model_chose_is_in_a_plan() -> None:
    context = Market(0.02, 1.3, off_centre=2.0).position()
    plan = concluded(context, judged(context))
    assert plan.choice.kind == "move"
    assert all(move.shape is None for move in plan.candidates)
    assert plan.recommended.shape is None


def test_a_healthy_position_is_moved_only_for_twice_as_much() -> None:
    wide = Market(0.01, 1.3, half_width=0.05).position()
    plan = concluded(wide, judged(wide))
    assert plan.choice.kind == "hold"
    assert "less than twice as much" in plan.choice.reasons[0]
    wider = Market(0.01, 1.3, half_width=0.2).position()
    plan = concluded(wider, judged(wider))
    assert plan.choice.kind == "move"
    assert plan.recommended.kind == "tighten"


@pytest.mark.parametrize(
    ("market", "verdict"),
    [
        (Market(0.02, 1.3, half_width=0.1, off_centre=2.5), "approve"),
        (Market(0.02, 1.3, half_width=0.1, off_centre=2.5, assumed=True), "approve_with_caution"),
        (Market(0.02, 1.3, half_width=0.03), "approve_with_caution"),
        (Market(0.02, 1.3, half_width=0.1), "approve"),
        (Market(0.02, 1.3, half_width=0.1, assumed=True), "approve_with_caution"),
        (Market(0.03, 1.3, off_centre=0.5, gwei=5_000), "reject"),
        (Market(0.03, 0.5, half_width=0.02), "approve"),
    ],
)
def test_the_verdict_says_how_sure_the_ground_is(market: Market, verdict: str) -> None:
    context = market.position()
    assert concluded(context, judged(context)).verdict == verdict


def test_leaving_is_advised_when_fees_do_not_pay_for_the_market_and_hold_is_thin() -> None:
    thin = Market(0.03, 0.7, half_width=0.02).position()
    plan = concluded(thin, judged(thin))
    assert (plan.choice.kind, plan.recommended) == ("exit", plan.exit)
    wide = Market(0.03, 0.7, half_width=0.2).position()
    assert concluded(wide, judged(wide)).choice.kind != "exit"
    paid = Market(0.03, 1.3, half_width=0.02).position()
    assert concluded(paid, judged(paid)).choice.kind != "exit"


def test_confidence_falls_where_volatility_decides() -> None:
    sure = Market(0.02, 3.0, half_width=0.1, off_centre=2.5).position()
    doubtful = Market(0.02, 1.1, half_width=0.1, off_centre=2.5).position()
    confident, hesitant = (concluded(one, judged(one)) for one in (sure, doubtful))
    assert confident.choice.kind == hesitant.choice.kind == "move"
    assert 0 < hesitant.confidence < confident.confidence <= 1


def test_a_move_that_may_not_be_made_casts_no_doubt_on_hold() -> None:
    """Each of these would beat HOLD in its long life, but costs too many days' fees in gas."""
    context = Market(0.0002, 1.3, half_width=0.0001, pair=DOLLAR_DOLLAR).position()
    round_ = judged(context)
    assert round_.decision is Decision.VETO_ALL
    evaluation = evaluation_of(context)
    moves = tuple((one.evaluated.stake, one.evaluated.cost or 0.0) for one in round_.moves)
    assert hold_confidence([Contest(evaluation.market, evaluation.hold, moves)]) < 0.1
    plan = concluded(context, round_)
    assert (plan.choice.kind, plan.confidence) == ("hold", 1.0)


def test_keeping_capital_is_judged_in_every_pools_own_market() -> None:
    """A dead pool in front must not make HOLD look sure when the next one would pay."""
    dead, lively = (
        Market(0.02, paid).opening((TOKEN0, 10**18)).surveyed_pools[0] for paid in (0.3, 0.9)
    )
    other_id = {"pool_id": "0x" + "77" * 32}
    lively = lively.model_copy(update={"pool": lively.pool.model_copy(update=other_id)})
    context = Market(0.02).opening((TOKEN0, 10**18))
    alone, both = (
        concluded(one, judged(one))
        for one in (
            context.model_copy(update={"surveyed_pools": (dead,)}),
            context.model_copy(update={"surveyed_pools": (dead, lively)}),
        )
    )
    assert alone.choice.kind == both.choice.kind == "hold"
    assert both.confidence < alone.confidence == 1.0


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_what_the_rules_alone_would_choose_needs_nobody_to_argue(rounds: int) -> None:
    context = Market(0.01, 1.5, half_width=0.01, off_centre=2.0).position()
    choice = rules_alone(context, rounds)
    assert choice.kind == ("hold" if rounds == 1 else "move")
