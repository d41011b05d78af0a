"""First exit from a range: known values, exact scaling, and where the two series meet."""

from math import exp, log, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.numbers import survival as model
from agents.numbers.edges import TICK_LOG, Edges, TickRange, edges_of, price_tick
from agents.numbers.survival import (
    SIGMA_SCATTER,
    RangeExit,
    StressBuffers,
    buffer_hours,
    half_width_for_buffer,
    mean_hours,
    median_hours,
    range_exit,
    stress_buffers,
    stress_buffers_of,
    survival,
)
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick

# A price of 3000 in the range 2850–3210 at 65 % a year, worked out independently.
CHECKED = Edges(log(3000 / 2850) / TICK_LOG, log(3210 / 3000) / TICK_LOG)
CHECKED_TICKS = 0.65 / sqrt(365) / TICK_LOG

distances = st.floats(0.01, 50_000)
volatilities = st.floats(0.5, 3_000)
scatters = st.sampled_from((0.0, SIGMA_SCATTER))


def test_the_worked_example() -> None:
    exit_ = range_exit(CHECKED, CHECKED_TICKS, scatter=0.0)
    assert exit_.mean_hours == pytest.approx(71.96, abs=0.005)
    assert exit_.median_hours == pytest.approx(54.16, abs=0.005)
    assert exit_.buffers.at_1x == pytest.approx(13.26, abs=0.005)
    assert 1 - exit_.survival_24h == pytest.approx(0.1784, abs=0.00005)


@pytest.mark.parametrize(
    ("sigmas", "chance"), [(1.0, 0.37), (1.15, 0.50), (1.64, 0.80), (1.96, 0.90), (2.24, 0.95)]
)
def test_a_day_survived_by_half_width_in_daily_sigmas(sigmas: float, chance: float) -> None:
    assert survival(Edges(sigmas, sigmas), 1.0, 24, scatter=0.0) == pytest.approx(chance, abs=0.005)


@pytest.mark.parametrize(
    ("hours", "known", "estimated"),
    [(36, 2.745, 3.683), (24, 2.241, 3.007), (14, 1.712, 2.297), (12, 1.585, 2.126)],
)
def test_the_half_width_each_floor_asks_for(hours: float, known: float, estimated: float) -> None:
    assert half_width_for_buffer(hours, 1.0, scatter=0.0) == pytest.approx(known, abs=0.0006)
    assert half_width_for_buffer(hours, 1.0) == pytest.approx(estimated, abs=0.0006)


def test_median_life_of_a_centred_range() -> None:
    assert median_hours(Edges(1, 1), 1.0, scatter=0.0) / 24 == pytest.approx(0.756, abs=0.002)


@given(distances, distances, volatilities, scatters)
def test_stress_divides_every_buffer_by_its_square_exactly(
    below: float, above: float, ticks: float, scatter: float
) -> None:
    edges = Edges(below, above)
    base = buffer_hours(edges, ticks, scatter=scatter)
    assert stress_buffers(edges, ticks, scatter) == (base, base / 4, base / 9)
    assert buffer_hours(edges, ticks, 2, scatter) == base / 4
    assert buffer_hours(edges, ticks, 3, scatter) == base / 9
    # The same statement without the shortcut: a doubled volatility, computed from scratch.
    assert buffer_hours(edges, 2 * ticks, scatter=scatter) == base / 4
    assert buffer_hours(edges, 3 * ticks, scatter=scatter) == pytest.approx(base / 9, rel=1e-14)


@given(distances, distances, volatilities, scatters)
def test_a_quantile_is_where_survival_reaches_it(
    below: float, above: float, ticks: float, scatter: float
) -> None:
    edges = Edges(below, above)
    buffer = buffer_hours(edges, ticks, scatter=scatter)
    median = median_hours(edges, ticks, scatter)
    assert survival(edges, ticks, buffer, scatter) == pytest.approx(0.95, abs=1e-7)
    assert survival(edges, ticks, median, scatter) == pytest.approx(0.50, abs=1e-7)


def test_the_nodes_are_those_of_gauss_and_hermite() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(len(model._NODES))
    assert [node for node, _ in model._NODES] == pytest.approx(nodes, rel=1e-12)
    assert [weight for _, weight in model._NODES] == pytest.approx(weights / sum(weights), rel=1e-9)


@pytest.mark.parametrize("hours", [6, 24, 168])
def test_seven_nodes_are_as_good_as_a_whole_lognormal(hours: float) -> None:
    edges, deviations = Edges(700, 500), np.linspace(-8, 8, 4_001)
    density = np.exp(-deviations * deviations / 2)
    known = [survival(edges, 300 * exp(SIGMA_SCATTER * z), hours, 0.0) for z in deviations]
    whole = float(np.dot(density, known) / density.sum())
    assert survival(edges, 300, hours, SIGMA_SCATTER) == pytest.approx(whole, abs=0.004)
    assert mean_hours(edges, 300, SIGMA_SCATTER) == pytest.approx(
        mean_hours(edges, 300, 0.0) * exp(2 * SIGMA_SCATTER**2), rel=1e-4
    )


@pytest.mark.parametrize("scatter", [-0.1, 2.1, float("nan")])
def test_a_scatter_that_cannot_be_is_refused(scatter: float) -> None:
    with pytest.raises(ValueError, match="scatter"):
        survival(CHECKED, CHECKED_TICKS, 24, scatter)


@given(distances, distances, volatilities, st.floats(0.001, 10_000), st.floats(1.0, 3.0))
def test_survival_only_falls_and_ignores_which_edge_is_which(
    below: float, above: float, ticks: float, hours: float, later: float
) -> None:
    edges = Edges(below, above)
    chance = survival(edges, ticks, hours)
    assert 0 <= chance <= 1
    assert survival(edges, ticks, hours * later) <= chance + 1e-12
    assert survival(Edges(above, below), ticks, hours) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("scaled", [0.02, 0.09, 0.0999, 0.1, 0.1001, 0.3])
def test_it_is_the_whole_series_of_sines(scaled: float) -> None:
    """On both sides of where two short series meet."""
    width = 1_000.0
    hours = scaled * width * width / 300**2 * 24
    for fraction in (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75):
        edges = Edges(fraction * width, (1 - fraction) * width)
        whole = sum(
            4 / (n * pi) * sin(n * pi * fraction) * exp(-n * n * pi * pi * scaled / 2)
            for n in range(1, 200, 2)
        )
        assert survival(edges, 300, hours, 0.0) == pytest.approx(whole, abs=1e-12), fraction


@pytest.mark.parametrize("edges", [Edges(-1, 100), Edges(100, -1), Edges(0, 100), Edges(100, 0)])
def test_outside_nothing_survives(edges: Edges) -> None:
    nothing = StressBuffers(0, 0, 0)
    assert range_exit(edges, 300, 300) == RangeExit(nothing, 0, 0, 0, 0)
    assert range_exit(edges, 300).survival_7d is None
    assert stress_buffers_of([(*edges, 300)]) == [nothing]


@given(st.lists(st.tuples(distances, distances, volatilities), max_size=30), scatters)
def test_many_at_once_are_the_same_as_one_by_one(
    ranges: list[tuple[float, float, float]], scatter: float
) -> None:
    found = stress_buffers_of(ranges, scatter)
    for (below, above, ticks), each in zip(ranges, found, strict=True):
        one = stress_buffers(Edges(below, above), ticks, scatter)
        assert each == pytest.approx(one, rel=1e-13)


@given(st.floats(0.5, 500), volatilities, st.floats(-3_000, 3_000), scatters)
def test_the_needed_half_width_gives_the_buffer(
    hours: float, ticks: float, offset: float, scatter: float
) -> None:
    half = half_width_for_buffer(hours, ticks, offset, scatter)
    reached = buffer_hours(Edges(half - offset, half + offset), ticks, scatter=scatter)
    assert reached == pytest.approx(hours, rel=1e-6)


@pytest.mark.parametrize("ticks", [0.0, -1.0, float("nan")])
def test_a_volatility_that_says_nothing_is_refused(ticks: float) -> None:
    for function in (mean_hours, median_hours, buffer_hours):
        with pytest.raises(ValueError, match="volatility"):
            function(CHECKED, ticks)
    with pytest.raises(ValueError, match="volatility"):
        survival(CHECKED, ticks, 1)
    with pytest.raises(ValueError, match="volatility"):
        stress_buffers_of([(*CHECKED, 300), (*CHECKED, ticks)])


@given(st.integers(MIN_TICK, MAX_TICK))
def test_a_price_stands_on_its_tick(tick: int) -> None:
    price = price_tick(sqrt_price_at_tick(tick))
    # Near the lowest tick a whole unit of the square root is a good part of 10⁻⁴ of a tick.
    assert price == pytest.approx(tick, abs=1e-4)
    edges = edges_of(price, TickRange(tick - 10, tick + 30))
    assert edges == pytest.approx((10, 30), abs=1e-4)


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        edges_of(0.0, TickRange(10, 10))
