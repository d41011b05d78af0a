"""The rule for many positions at once is the rule for one."""

from math import inf, isnan, nan

import numpy as np
import pytest

from agents.backtest.advice_arrays import (
    ACTIONS,
    AdviceArrays,
    advise_all,
    advised_half_widths,
    expected_edges,
    expected_nets,
    horizons,
    times_in_range,
)
from agents.numbers.advice import (
    DEAD_BAND,
    WITHOUT_DEAD_BAND,
    AdviceInputs,
    AdviceLines,
    AdvisedMove,
    advise,
    advised_half_width,
    expected_edge,
    horizon_days,
)
from agents.numbers.edges import Edges
from agents.numbers.outlook import time_in_range

COUNT = 10_000


def _drawn() -> AdviceArrays:
    random = np.random.default_rng(11)

    def some(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Uniform numbers, one in twenty unknown."""
        values = random.uniform(low, high, COUNT)
        values[random.random(COUNT) < 0.05] = nan
        return values

    since = random.uniform(0, 60, COUNT)
    since[random.random(COUNT) < 0.5] = inf
    return AdviceArrays(
        inside=random.random(COUNT) < 0.5,
        half_width=random.uniform(0.02, 0.3, COUNT),
        edge_7d=some(0.5, 2.5),
        worth=some(1_000, 20_000),
        hold_net=some(-60, 30),
        exit_cost=some(0.01, 15),
        week_again=some(-80, 30),
        has_move=random.random(COUNT) < 0.9,
        move_half_width=random.uniform(0.02, 0.4, COUNT),
        move_net=some(-20, 150),
        move_cost=some(0.05, 40),
        hours_since_action=since,
        dangerous=random.random(COUNT) < 0.02,
    )


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _inputs(drawn: AdviceArrays, place: int) -> AdviceInputs:
    row = AdviceArrays(*(field[place] for field in drawn))
    move = AdvisedMove(
        float(row.move_half_width), _known(float(row.move_net)), _known(float(row.move_cost))
    )
    since = float(row.hours_since_action)
    return AdviceInputs(
        inside=bool(row.inside),
        half_width=float(row.half_width),
        edge_7d=_known(float(row.edge_7d)),
        worth=_known(float(row.worth)),
        hold_net=_known(float(row.hold_net)),
        exit_cost=_known(float(row.exit_cost)),
        week_again=_known(float(row.week_again)),
        move=move if row.has_move else None,
        hours_since_action=None if since == inf else since,
        dangerous=bool(row.dangerous),
    )


@pytest.mark.parametrize("lines", [DEAD_BAND, WITHOUT_DEAD_BAND, AdviceLines(0.7, 1.1, 0)])
def test_ten_thousand_positions_are_told_the_same_one_by_one(lines: AdviceLines) -> None:
    drawn = _drawn()

    at_once = [ACTIONS[number] for number in advise_all(drawn, lines)]

    assert at_once == [advise(_inputs(drawn, place), lines).action for place in range(COUNT)]
    assert {action.value for action in at_once} == {"hold", "move", "exit"}


def test_edges_widths_horizons_and_nets_are_the_same_one_by_one() -> None:
    random = np.random.default_rng(5)
    edges, costs = random.uniform(0.1, 4, 500), random.uniform(0, 0.02, 500)
    sigmas, worths = random.uniform(0.005, 0.1, 500), random.uniform(1e3, 1e6, 500)
    expected = expected_edges(edges)
    widths = advised_half_widths(costs, expected, sigmas, 2.95)
    lives = horizons(widths, sigmas)
    nets = expected_nets(expected, sigmas**2 / 8, worths, lives, np.full(500, 0.9))

    for place in range(500):
        edge, sigma = float(edges[place]), float(sigmas[place])
        assert expected_edge(edge) == pytest.approx(expected[place])
        width = advised_half_width(float(costs[place]), edge, sigma, 2.95)
        assert width == pytest.approx(widths[place])
        assert horizon_days(width, sigma) == pytest.approx(lives[place])
        risk = sigma * sigma / 8 * float(worths[place]) * float(lives[place])
        net = (expected_edge(edge) * 0.9 - 1) * risk
        assert net == pytest.approx(nets[place])


def test_the_time_in_range_is_the_same_one_by_one() -> None:
    random = np.random.default_rng(6)
    below, above = random.uniform(-0.1, 0.3, 300), random.uniform(-0.1, 0.3, 300)
    above = np.maximum(above, 0.01 - below)
    sigmas, days = random.uniform(0.005, 0.1, 300), random.uniform(0.2, 7, 300)

    shares = times_in_range(below, above, sigmas, days)

    for place in range(300):
        edges = Edges(float(below[place]), float(above[place]))
        share = time_in_range(edges, float(sigmas[place]), 24 * float(days[place]))
        assert share == pytest.approx(shares[place], abs=1e-12)
    everywhere = np.array([np.inf])
    assert times_in_range(everywhere, everywhere, sigmas[:1], days[:1]) == [1.0]
