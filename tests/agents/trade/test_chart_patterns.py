"""Patterns are named by the turns of the price, and upside down they have their opposite's name."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from agents.trade.geometry_rules import chart_shape, geometry_finding, price_turns
from chain.exchange.public.market import Candle
from tests.agents.trade.cases import context, hours, snapshot

MIRRORED = {
    "H&S": "inv_H&S",
    "double_top": "double_bottom",
    "bull_flag": "bear_flag",
    "ascending_triangle": "other",
}
_TOP = 6_000


def candles(*legs: tuple[int, int]) -> list[Candle]:
    """From one price to the next in so many candles, each ten dollars wide."""
    price, found = 3_000.0, []
    for bars, target in legs:
        step = (target - price) / bars
        for _ in range(bars):
            price += step
            found.append(Candle(0, price - step, price + 5, price - 5, price, 100.0, 50.0))
    return [one._replace(time=place * 3_600) for place, one in enumerate(found)]


def upside_down(path: list[Candle]) -> list[Candle]:
    return [
        one._replace(
            open=_TOP - one.open, high=_TOP - one.low, low=_TOP - one.high, close=_TOP - one.close
        )
        for one in path
    ]


SHAPES = {
    "H&S": candles((10, 3100), (8, 3040), (8, 3180), (8, 3045), (8, 3105), (6, 3030)),
    "double_top": candles((20, 3200), (8, 3100), (8, 3195), (6, 3110)),
    "bull_flag": candles((30, 2990), (6, 3250), (5, 3190), (5, 3215), (4, 3180)),
    "ascending_triangle": candles(
        (10, 3200), (8, 3050), (8, 3202), (8, 3130), (6, 3201), (4, 3170)
    ),
    "none": candles((60, 3_300)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_its_name_and_upside_down_its_opposite_s(name: str) -> None:
    assert chart_shape(SHAPES[name]).pattern == name
    assert chart_shape(upside_down(SHAPES[name])).pattern == MIRRORED.get(name, name)


def test_a_wedge_closes_in_on_one_side() -> None:
    rising = candles((10, 3050), (8, 3000), (8, 3120), (8, 3085), (8, 3160), (5, 3125))

    assert chart_shape(rising).pattern == "wedge"
    assert chart_shape(upside_down(rising)).pattern == "wedge"


def test_turns_alternate_and_are_extremes_of_what_lies_between() -> None:
    drawn = random.Random(7)
    for _ in range(40):
        path = candles(*((drawn.randint(2, 9), drawn.randint(2_800, 3_200)) for _ in range(14)))
        turns = price_turns(path)
        for before, after in pairwise(turns):
            between = path[before.place : after.place + 1]
            extreme = max(c.high for c in between) if after.is_high else min(c.low for c in between)
            assert before.is_high is not after.is_high
            assert before.place <= after.place
            assert after.price == extreme
        name, mirrored = chart_shape(path).pattern, chart_shape(upside_down(path)).pattern
        opposites = MIRRORED | {after: before for before, after in MIRRORED.items()}
        # A triangle that closes in from both sides has no name of its own either way.
        both = (name, mirrored) == ("other", "other")
        assert both or opposites.get(name, name) == mirrored


def test_lines_are_told_where_they_stand_at_the_last_candle() -> None:
    path = candles((10, 3100), (10, 3000), (10, 3120), (10, 3020), (5, 3080))
    shape = chart_shape(path)

    assert shape.resistance is not None
    assert shape.resistance.slope == pytest.approx(1.0)
    assert shape.resistance.here == pytest.approx(3125 + 15)
    said = geometry_finding(snapshot(path, mark=3080.0), context())
    assert "3,140.00" in said.rationale


def test_a_breakout_that_only_fetched_liquidations_is_a_trap() -> None:
    path = hours(80)
    fetched = [*path[:-1], path[-1]._replace(high=3_310.0, close=2_999.0)]
    plain = [*path[:-1], path[-1]._replace(high=3_006.0, close=2_999.0)]

    assert geometry_finding(snapshot(fetched), context()).anomaly == "geometric_trap"
    assert geometry_finding(snapshot(plain), context()).anomaly == "fake_breakout"


def test_a_busy_low_is_a_capitulation_and_a_sold_high_an_exhaustion() -> None:
    fall = candles((40, 3000), (20, 2800), (5, 2860))
    fall[59] = fall[59]._replace(volume=900.0, taker_buy=450.0)
    rise = [one._replace(taker_buy=40.0) for one in candles((40, 3000), (20, 3200), (5, 3150))]

    assert geometry_finding(snapshot(fall), context()).anomaly == "capitulation_bottom"
    assert geometry_finding(snapshot(rise), context()).anomaly == "exhaustion_top"
