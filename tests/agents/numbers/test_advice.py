"""Hold, move or leave: each reason on its own, the dead band, and the width that pays best."""

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers.advice import (
    DEAD_BAND,
    HORIZON_DAYS,
    MOST_EDGE_MEASURED,
    WIDE_HALF_WIDTH,
    WITHOUT_DEAD_BAND,
    AdviceInputs,
    AdviceReason,
    AdvisedAction,
    AdvisedMove,
    advise,
    advised_half_width,
    edge_ratio,
    enter_line,
    expected_edge,
    horizon_days,
)

INSIDE = AdviceInputs(
    inside=True,
    half_width=0.1,
    edge_7d=0.7,
    worth=10_000,
    hold_net=-40,
    exit_cost=0.05,
    week_again=-60,
)
"""Is expected to lose $40 a week, lost $60 in the last, and costs cents to leave."""
MOVE = AdvisedMove(half_width=0.1, net=60, cost=10)
OUTSIDE = AdviceInputs(
    inside=False, half_width=0.1, edge_7d=1.6, worth=10_000, hold_net=5, exit_cost=0.05, move=MOVE
)
"""Earns $5 a week where it is and $60 where it would go."""


@pytest.mark.parametrize(
    ("asked", "action", "reason"),
    [
        (INSIDE, "exit", "staying_loses"),
        (INSIDE._replace(edge_7d=0.85), "hold", "in_dead_band"),
        (INSIDE._replace(edge_7d=1.0), "hold", "in_range"),
        (INSIDE._replace(edge_7d=3.0, move=MOVE), "hold", "in_range"),
        (INSIDE._replace(half_width=WIDE_HALF_WIDTH), "hold", "wide_range"),
        (INSIDE._replace(week_again=-12.5), "hold", "loses_little"),
        (INSIDE._replace(exit_cost=30), "hold", "loses_little"),
        (INSIDE._replace(hours_since_action=23.9), "hold", "acted_recently"),
        (INSIDE._replace(hours_since_action=24), "exit", "staying_loses"),
        (INSIDE._replace(edge_7d=None), "hold", "edge_unknown"),
        (INSIDE._replace(worth=None), "hold", "worth_unknown"),
        (INSIDE._replace(week_again=None), "hold", "worth_unknown"),
        (INSIDE._replace(exit_cost=None), "hold", "worth_unknown"),
        (OUTSIDE, "move", "move_pays"),
        (OUTSIDE._replace(edge_7d=0.5), "hold", "out_of_range"),
        (OUTSIDE._replace(edge_7d=1.25), "hold", "in_dead_band"),
        (OUTSIDE._replace(move=None), "hold", "no_candidate"),
        (OUTSIDE._replace(move=MOVE._replace(net=25)), "hold", "gain_under_cost"),
        (OUTSIDE._replace(hold_net=40), "hold", "gain_under_cost"),
        (OUTSIDE._replace(move=MOVE._replace(net=5000, cost=200)), "hold", "gain_under_cost"),
        (OUTSIDE._replace(move=MOVE._replace(net=None)), "hold", "move_unknown"),
        (OUTSIDE._replace(move=MOVE._replace(cost=None)), "hold", "move_unknown"),
        (OUTSIDE._replace(move=MOVE._replace(net=0), hold_net=-30), "hold", "worse_than_exit"),
        (OUTSIDE._replace(hours_since_action=1), "hold", "acted_recently"),
        (OUTSIDE._replace(edge_7d=None, dangerous=True), "exit", "danger"),
        (INSIDE._replace(hours_since_action=1, dangerous=True), "exit", "danger"),
    ],
)
def test_each_reason_decides_alone(asked: AdviceInputs, action: str, reason: str) -> None:
    advice = advise(asked)

    assert (advice.action, advice.reasons[0]) == (action, reason)
    assert advice.is_known == (not reason.endswith("unknown"))


@given(st.floats(0, 0.999), st.booleans(), st.floats(0.01, 3))
def test_a_pool_that_does_not_pay_is_always_told(edge: float, inside: bool, half: float) -> None:
    advice = advise(INSIDE._replace(edge_7d=edge, inside=inside, half_width=half))

    assert AdviceReason.POOL_DOES_NOT_PAY in advice.reasons
    assert (advice.edge_7d, advice.week) == (edge, -40)
    assert advice.exit_beside == (inside and advice.action is AdvisedAction.HOLD)


@given(st.floats(0.85, 1.25))
def test_between_leaving_and_entering_nothing_is_touched(edge: float) -> None:
    assert advise(INSIDE._replace(edge_7d=edge)).action is AdvisedAction.HOLD
    assert advise(OUTSIDE._replace(edge_7d=edge)).action is AdvisedAction.HOLD


def test_without_the_dead_band_both_sides_of_one_act() -> None:
    assert advise(INSIDE._replace(edge_7d=0.99), WITHOUT_DEAD_BAND).action is AdvisedAction.EXIT
    assert advise(OUTSIDE._replace(edge_7d=1.1), WITHOUT_DEAD_BAND).action is AdvisedAction.MOVE


def test_the_edge_is_fees_over_an_eighth_of_the_squared_returns() -> None:
    assert edge_ratio(0.001, 0.008) == pytest.approx(1.0)
    assert edge_ratio(0.001, 0.0) is None


def test_what_a_week_showed_is_drawn_towards_the_usual() -> None:
    usual = 2.718281828459045**-0.13
    assert expected_edge(usual) == pytest.approx(usual)
    assert log(expected_edge(1.2)) == pytest.approx(-0.13 + 0.25 * (log(1.2) + 0.13))
    assert expected_edge(1.6) == pytest.approx(expected_edge(1.25) * 1.28**0.6)
    assert expected_edge(2.5) == expected_edge(MOST_EDGE_MEASURED) == expected_edge(1e9)
    assert expected_edge(0.0) == 0.0


def test_a_gain_is_counted_for_the_mean_life_and_a_week_at_most() -> None:
    assert horizon_days(0.08, 0.04) == pytest.approx(4.0)
    assert horizon_days(0.5, 0.04) == HORIZON_DAYS


def test_dear_moves_raise_the_line_above_the_dead_band() -> None:
    assert enter_line(0.0005, 0.1) == DEAD_BAND.enter_over
    assert enter_line(0.01, 0.1) == pytest.approx(1.4)


@pytest.mark.parametrize("edge", [1.4, 2.0, 4.0])
def test_the_advised_width_pays_best_of_all_widths(edge: float) -> None:
    sigma, cost = 0.04, 0.01
    kappa = (expected_edge(edge) - 1) * sigma**2 / 8

    def a_day(half: float) -> float:
        return 2 * kappa / half - cost * sigma**2 / half**2

    best = advised_half_width(cost, edge, sigma, base_sigmas=0.0)

    if best < 9 * sigma:
        assert a_day(best) > max(a_day(best * 0.99), a_day(best * 1.01))
    assert advised_half_width(cost, edge, sigma, base_sigmas=8.0) >= 8 * sigma
    assert advised_half_width(inf, edge, sigma, base_sigmas=2.95) == 9 * sigma


def test_a_pool_that_is_not_expected_to_pay_gets_the_widest() -> None:
    assert advised_half_width(0.001, 1.0, 0.04, base_sigmas=2.95) == pytest.approx(0.36)
