"""Past plans and debates judged by what followed."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.bus.plan_store import PlanDocument, PlanStore
from agents.lp import FLOW
from agents.lp.plan import Plan, plan_identity
from agents.scorecard.debate_check import CheckedSituation, DebateRun, debate_check, decision_of
from agents.scorecard.judging import SkipReason, past_plans
from agents.scorecard.score import (
    AdviceKind,
    DecidedBy,
    FeeOutcome,
    HorizonScore,
    JudgedBlock,
    OptionWorths,
    ScoreStore,
    StayOutcome,
    summarise,
)
from chain.base.store import Store
from tests.agents.lp.made_up import Market
from tests.agents.lp.one_round import concluded, judged

READ_AT = JudgedBlock(9, "0x" + "99" * 32)


def scored(
    number: int,
    over_hold: float | None,
    *,
    kind: AdviceKind = AdviceKind.MOVE,
    decided_by: DecidedBy = "rules",
    days: int = 7,
    rules: float | None = None,
    stays: tuple[StayOutcome, ...] = (),
    fees: tuple[FeeOutcome, ...] = (),
) -> HorizonScore:
    """A plan of 1,000 units at two dollars each, and what it did against HOLD."""
    return HorizonScore(
        plan_id=f"plan_{number:016x}",
        chain_id=31337,
        kind=kind,
        decided_by=decided_by,
        days=days,
        made_at=number,
        read_at=READ_AT,
        worth_before=1_000.0,
        unit1_usd=2.0,
        worths=OptionWorths(choice=1_300.0, hold=1_200.0, exit=1_250.0, wide=None, rules=None),
        hedged=OptionWorths(
            choice=0.0,
            hold=None if over_hold is None else -1_000.0 * over_hold,
            exit=-5.0,
            wide=2.0,
            rules=None if rules is None else rules - 1_000.0,
        ),
        rules_same=rules is None,
        stays=stays,
        fees=fees,
    )


def test_what_beat_is_counted_by_kind_and_horizon() -> None:
    moves = [scored(one, part) for one, part in enumerate((0.01, -0.02, 0.03, None))]
    summary = summarise([*moves, scored(9, 0.01, days=1), scored(10, 0.0, kind=AdviceKind.EXIT)])
    found = {(one.kind, one.days): one for one in summary.advice}
    week = found[AdviceKind.MOVE, 7]
    assert (week.plans, week.hold.beat, week.hold.judged) == (4, 2, 3)
    assert week.hold.median == pytest.approx(0.01)
    assert week.hold.median_usd == pytest.approx(20.0)
    assert (week.exit.beat, week.exit.judged, week.wide.beat) == (4, 4, 0)
    leaving = found[AdviceKind.EXIT, 7]
    assert (leaving.hold.beat, leaving.hold.judged, leaving.exit.judged) == (0, 1, 0)
    assert summary.plans == 6
    # The price did the rest: a tenth more for the choice, less what it earned over Keep.
    assert week.price == pytest.approx(0.09)


def test_how_many_more_plans_a_claim_needs_follows_from_mean_and_spread() -> None:
    few = summarise([scored(1, 0.01)]).advice[0].hold
    assert few.more_needed is None
    noisy = summarise([scored(one, part) for one, part in enumerate((0.11, -0.09) * 5)])
    clear = summarise([scored(one, part) for one, part in enumerate((0.011, 0.009) * 5)])
    # Mean .01, deviation .105: (2.8 × 10.5)² plans; a tenth of that spread needs one already.
    assert noisy.advice[0].hold.more_needed == pytest.approx(861, abs=12)
    assert clear.advice[0].hold.more_needed == 0


def test_a_score_of_before_has_no_verdict_and_is_read_all_the_same() -> None:
    old = replace(scored(1, 0.1), hedged=None)
    assert (old.over_hold, old.price_part("hold")) == (None, None)
    assert summarise([old]).advice[0].hold.judged == 0


def test_plans_by_rules_and_by_models_are_kept_apart() -> None:
    summary = summarise([scored(1, 0.1), scored(2, 0.1, decided_by="model", rules=990.0)])
    assert [one.decided_by for one in summary.advice] == ["rules", "model"]
    (debate,) = summary.debates
    assert (debate.better, debate.worse, debate.same, debate.unknown) == (1, 0, 0, 0)
    assert debate.median == pytest.approx(0.01)


def test_chances_are_scored_and_binned() -> None:
    stays = (StayOutcome(0.9, True), StayOutcome(0.9, False), StayOutcome(0.2, False))
    (found,) = summarise([scored(1, 0.1, days=1, stays=stays)]).stays
    assert (found.days, found.ranges, found.stayed) == (1, 3, 1)
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.04) / 3)
    assert [one.windows for one in found.bins] == [1, 2]
    assert found.ece == pytest.approx((0.2 + 2 * 0.4) / 3)


def test_fees_fall_inside_below_or_above() -> None:
    fees = tuple(FeeOutcome(1.0, 2.0, earned) for earned in (0.5, 1.0, 1.5, 2.5))
    found = summarise([scored(1, 0.1, days=1, fees=fees)]).fees
    assert (found.inside, found.below, found.above, found.judged_count) == (2, 1, 1, 4)


def test_scores_are_kept_by_network_and_what_is_unreadable_is_as_if_unwritten() -> None:
    with Store.in_memory() as store:
        here = ScoreStore(store, 31337, lambda: 0.0)
        here.keep([scored(1, 0.1), scored(1, 0.1, days=1), scored(2, 0.1)])
        assert len(here.scores()) == 3
        assert ScoreStore(store, 1, lambda: 0.0).scores() == []
        store.put("scorecard", f"31337/plan_{1:016x}/7", {"planId": "x"}, now=0.0)
        assert {(one.plan_id[-1], one.days) for one in here.scores()} == {("1", 1), ("2", 7)}
        here.forget([scored(2, 0.1)])
        assert len(here.scores()) == 1


CHAIN = 31337


def made(sigma: float, chain_id: int = CHAIN) -> Plan:
    context = Market(sigma=sigma).position()
    plan = concluded(context, judged(context)).model_copy(update={"chain_id": chain_id})
    return plan.model_copy(update={"plan_id": plan_identity(plan)})


def document(plan: Plan, **beside: object) -> PlanDocument:
    return {**plan.model_dump(mode="json", by_alias=True), "flow": FLOW, "budget": None, **beside}


def test_plans_by_rules_and_by_models_are_found(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    ruled, argued = made(0.02), made(0.03)
    store.keep(document(ruled))
    store.keep(document(argued, budget={"tokens": 3}))
    found = past_plans(store, CHAIN)
    assert {one.plan.plan_id: one.decided_by for one in found.plans} == {
        ruled.plan_id: "rules",
        argued.plan_id: "model",
    }
    assert found.skipped == ()


def test_what_cannot_be_judged_is_named_and_left_where_it_is(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    elsewhere, changed, older = made(0.02, chain_id=1), made(0.03), made(0.025)
    store.keep(document(elsewhere))
    store.keep({**document(changed), "rounds": 9})
    without = document(older)
    del without["rulesMove"]
    store.keep(without)
    store.keep({"planId": "plan_" + "a" * 16, "flow": "trade"})
    damaged = tmp_path / f"plan_{'b' * 16}.json"
    damaged.write_text("{", "utf-8")
    found = past_plans(store, CHAIN)
    assert found.plans == ()
    assert dict(found.skipped) == {
        elsewhere.plan_id: SkipReason.OTHER_NETWORK,
        changed.plan_id: SkipReason.EDITED,
        older.plan_id: SkipReason.OTHER_VERSION,
        "plan_" + "a" * 16: SkipReason.OTHER_FLOW,
        "plan_" + "b" * 16: SkipReason.DAMAGED,
    }
    assert damaged.read_text("utf-8") == "{"
    assert json.loads((tmp_path / f"{changed.plan_id}.json").read_bytes())["rounds"] == 9


def _move() -> Plan:
    context = Market(0.03, 1.2).position()
    plan = concluded(context, judged(context))
    move = plan.candidates[0]
    chosen = plan.choice.model_copy(update={"kind": "move", "index": 0})
    alone = {"rules_alone": chosen, "rules_move": plan.candidates[1]}
    return plan.model_copy(update={"choice": chosen, "recommended": move, **alone})


MOVE = _move()
HOLD, EXIT = (
    MOVE.model_copy(update={"choice": MOVE.choice.model_copy(update={"kind": kind})})
    for kind in ("hold", "exit")
)
BY_RULES = MOVE.model_copy(update={"recommended": MOVE.candidates[1]})
ELSEWHERE = MOVE.model_copy(update={"recommended": MOVE.candidates[2]})


def run(
    plan: Plan | None, *, questions: int = 3, answers: int = 3, nano_usd: int | None = 1_000
) -> DebateRun:
    return DebateRun(plan, 2.0, 500, nano_usd, questions, answers)


def situation(rules: Plan, *runs: DebateRun) -> CheckedSituation:
    return CheckedSituation("req", "position #7", run(rules, answers=0), runs)


def test_a_move_is_the_same_move_by_its_pool_and_its_range_alone() -> None:
    dearer = MOVE.recommended.model_copy(update={"cost_usd": 99.0})
    assert decision_of(MOVE) == decision_of(MOVE.model_copy(update={"recommended": dearer}))
    assert len({decision_of(one) for one in (MOVE, HOLD, EXIT, BY_RULES, ELSEWHERE)}) == 5


def test_what_to_do_and_the_very_range_are_told_apart() -> None:
    check = debate_check([situation(MOVE, run(MOVE), run(ELSEWHERE), run(EXIT))])
    assert (check.agreed.count, check.agreed_exactly.count, check.agreed.of) == (2, 1, 3)
    assert (check.flipped.count, check.flipped_range.count, check.flipped.of) == (1, 2, 2)


def test_silent_debates_are_in_no_share_and_in_every_bill() -> None:
    check = debate_check(
        [
            situation(HOLD, run(HOLD), run(MOVE), run(HOLD)),
            situation(EXIT, run(None, answers=0), run(EXIT), run(EXIT, nano_usd=None)),
            situation(HOLD, run(HOLD, questions=0, answers=0)),
        ]
    )
    assert (check.agreed.count, check.agreed.of) == (4, 5)
    # Against the first that spoke of the same facts.
    assert (check.flipped.count, check.flipped.of) == (1, 3)
    assert (check.silent.count, check.silent.of) == (1, 6)
    assert (check.settled.count, check.settled.of) == (1, 7)
    assert (check.tokens, check.nano_usd, check.debates) == (3_500, None, 7)
    assert debate_check(()).agreed.part is None
