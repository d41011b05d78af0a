"""Scores made by hand, counted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

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
    assert (found.inside, found.below, found.above, found.judged) == (2, 1, 1, 4)


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
