"""Hedges and patterns by the trade agents."""

import json
import random
from decimal import Decimal, localcontext
from itertools import pairwise
from random import Random

import pytest

from agents.trade.geometry_rules import chart_shape, geometry_finding, price_turns
from agents.trade.opinions import (
    HEDGE_RATIOS,
    RangeExposure,
    floor_to_step,
    hedged_quantity,
)
from chain.exchange.public.market import Candle
from tests.agents.trade.cases import context, hours, snapshot
from tests.market_data import market_data
from tests.printed import printed


def _worth(exposure: RangeExposure, price: Decimal) -> Decimal:
    """V(P) = L·(2√P − P/√upper − √lower), counted anew with 50 digits."""
    liquidity = Decimal(exposure.liquidity)
    lower, upper = Decimal(exposure.lower).sqrt(), Decimal(exposure.upper).sqrt()
    return liquidity * (2 * price.sqrt() - price / upper - lower)


def _slope(exposure: RangeExposure, price: float) -> float:
    """dV/dP between two prices so near that nothing but the slope is left."""
    with localcontext(prec=50):
        step = Decimal(price) * Decimal("1e-15")
        above, below = Decimal(price) + step, Decimal(price) - step
        return float((_worth(exposure, above) - _worth(exposure, below)) / (2 * step))


def test_delta_is_the_coins_held_and_gamma_its_slope() -> None:
    draws = Random(5)
    for _ in range(300):
        price = 10 ** draws.uniform(0, 5)
        width = draws.uniform(0.02, 0.5)
        exposure = RangeExposure(
            10 ** draws.uniform(0, 6), price * (1 - width), price * (1 + width)
        )
        coins = exposure.coins(price)
        assert coins == pytest.approx(_slope(exposure, price), rel=1e-9)
        assert exposure.worth(price) == pytest.approx(float(_worth(exposure, Decimal(price))))
        step = price * 1e-4
        bent = (exposure.coins(price + step) - exposure.coins(price - step)) / (2 * step)
        assert exposure.gamma(price) == pytest.approx(bent, rel=1e-6)


def test_delta_identity_on_every_range_of_the_real_pool() -> None:
    """The v4 ETH/USDC pool of mainnet: each stretch between two of its 499 ticks is a range."""
    pool = json.loads(market_data("v4-eth-usdc-500-mainnet-24407242.json").read_bytes())
    ticks = sorted(int(tick) for tick in _ticks(pool))
    assert len(ticks) == 499
    checked, worst = 0, 0.0
    for low, high in pairwise(ticks):
        lower, upper = 1.0001**low * 10**12, 1.0001**high * 10**12
        exposure = RangeExposure(1_000.0, lower, upper)
        price = (lower * upper) ** 0.5
        assert _slope(exposure, price) == pytest.approx(exposure.coins(price), rel=1e-9)
        worst = max(worst, abs(_slope(exposure, price) / exposure.coins(price) - 1))
        checked += 1
    printed(f"G5: {checked} ranges of the real pool, dV/dP off the coins by at most {worst:.1e}")
    assert checked == 498


def _ticks(pool: object) -> dict[str, object]:
    """Wherever the file keeps them: the one mapping of 499 entries."""
    waiting = [pool]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if len(here) == 499:
                return here
            waiting += here.values()
        elif isinstance(here, list):
            if len(here) == 499:
                return {str(row[0] if isinstance(row, list) else row["tick"]): row for row in here}
            waiting += here
    raise LookupError("no mapping of 499 ticks")


def test_outside_its_range_a_position_bends_no_more() -> None:
    exposure = RangeExposure(1_000.0, 2_700.0, 3_300.0)

    assert exposure.coins(4_000.0) == 0.0
    assert exposure.coins(2_000.0) == exposure.coins(2_700.0)
    assert exposure.gamma(2_000.0) == exposure.gamma(4_000.0) == 0.0


def test_an_example_worked_by_hand() -> None:
    """$10,000 within 10 % of 2086.04, as read on mainnet: 2.28 ETH and a gamma of −0.0117."""
    unit = RangeExposure(1.0, 2086.04 * 0.9, 2086.04 * 1.1)
    exposure = RangeExposure(10_000 / unit.worth(2086.04), unit.lower, unit.upper)

    assert exposure.coins(2086.04) == pytest.approx(2.2798, abs=1e-3)
    assert exposure.gamma(2086.04) == pytest.approx(-0.01174, abs=1e-4)
    short = exposure.coins(2086.04)
    for move, alone, hedged in ((-0.1, -745, -269), (0.1, 232, -243)):
        price = 2086.04 * (1 + move)
        gained = exposure.worth(price) - 10_000
        assert gained == pytest.approx(alone, abs=2)
        assert gained - short * (price - 2086.04) == pytest.approx(hedged, abs=2)


@pytest.mark.parametrize("ratio", HEDGE_RATIOS)
def test_a_hedge_is_a_share_of_the_coins_in_whole_steps(ratio: float) -> None:
    found = hedged_quantity(2.2798, ratio, 0.001)

    assert found <= 2.2798 * ratio < found + 0.001 or ratio == 0
    assert found == pytest.approx(round(found, 3))


def test_a_share_beyond_the_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="share"):
        hedged_quantity(1.0, 1.3, 0.001)
    assert floor_to_step(0.3, 0.1) == 0.3


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
