"""What a range earns and loses along bars, against sums done another way."""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from agents.backtest.walking import (
    HeldRanges,
    bar_series,
    earned,
    held_ranges,
    realised_lvr,
    tokens_of,
)
from chain.history import fee_rate
from tests.agents.backtest.made_up_bars import bars_along, random_prices

if TYPE_CHECKING:
    from agents.backtest.hours import PoolBars


def _one(lower: float, upper: float, liquidity: float) -> HeldRanges:
    return held_ranges(np.array([lower]), np.array([upper]), np.array([liquidity]))


def _earned(bars: PoolBars, held: HeldRanges) -> tuple[float, float]:
    count = len(bars.times)
    found = earned(bar_series(bars, 1.0), np.array([0]), np.array([count]), held)
    return float(found.fees_usd[0]), float(found.bars_inside[0])


def test_a_price_that_stands_still_pays_its_share_of_every_fee() -> None:
    bars = bars_along(np.full(50, 100.0), fees=7.0, liquidity=2_000.0)
    own = 100.0  # 2·L·√100 = 2,000: as much as all others together
    held = _one(log(90), log(110), own)

    fees, inside = _earned(bars, held)

    assert fees == pytest.approx(50 * 7.0 / 2)
    assert inside == 50


@pytest.mark.parametrize(("lower", "upper"), [(101, 110), (90, 100), (90, 99)])
def test_a_price_outside_earns_nothing_and_the_upper_edge_is_outside(
    lower: float, upper: float
) -> None:
    bars = bars_along(np.full(5, 100.0))

    assert _earned(bars, _one(log(lower), log(upper), 1.0)) == (0, 0)


def test_a_bar_that_crosses_an_edge_counts_by_the_part_inside() -> None:
    bars = bars_along(np.array([100.0, 121.0]), fees=4.0, liquidity=1e9)
    held = _one(log(110), log(200), 1e12)

    found = earned(bar_series(bars, 1.0), np.array([1]), np.array([2]), held)

    # From 100 to 121 is twice the way from 110 to 121; nearly all liquidity is one's own.
    assert found.bars_inside[0] == pytest.approx(0.5)
    assert found.fees_usd[0] == pytest.approx(2.0, rel=1e-3)


def test_windows_of_different_lengths_earn_what_they_earn_alone() -> None:
    bars = bars_along(random_prices(300))
    series = bar_series(bars, 1.0)
    first, last = np.array([0, 10, 200, 40]), np.array([100, 15, 300, 40])
    held = held_ranges(np.full(4, log(1900)), np.full(4, log(2100)), np.array([1e3, 2e3, 5.0, 1.0]))

    together = earned(series, first, last, held)

    for place in range(4):
        part = HeldRanges(*(field[place : place + 1] for field in held))
        alone = earned(series, first[place : place + 1], last[place : place + 1], part)
        assert together.fees_usd[place] == pytest.approx(alone.fees_usd[0])
        assert together.bars_inside[place] == pytest.approx(alone.bars_inside[0])


def test_lvr_is_what_the_integers_of_the_chain_say() -> None:
    prices = random_prices(200) / 1000
    roots = [int(sqrt(price) * 2**96) for price in prices]
    lower, upper, liquidity = 1.9, 2.1, 10**24
    exact = fee_rate.realised_lvr(
        roots,
        fee_rate.LiquidityRange(int(sqrt(lower) * 2**96), int(sqrt(upper) * 2**96), liquidity),
    )

    found = realised_lvr(np.sqrt(prices[None, :]), _one(log(lower), log(upper), float(liquidity)))

    assert found[0] == pytest.approx(exact, rel=1e-9)


def test_over_the_full_range_a_trend_loses_the_textbook_loss() -> None:
    start, end, liquidity = 100.0, 144.0, 50.0
    held = _one(-inf, inf, liquidity)
    before0, before1 = tokens_of(held, np.sqrt([start]))
    after0, after1 = tokens_of(held, np.sqrt([end]))

    loss = before0 * end + before1 - after0 * end - after1

    ratio = end / start
    textbook = 1 - 2 * sqrt(ratio) / (1 + ratio)
    assert loss[0] == pytest.approx(textbook * (before0 * end + before1)[0])
    assert realised_lvr(np.sqrt(np.array([[start, end]])), held)[0] == pytest.approx(loss[0])


def test_below_its_range_a_position_is_token0_and_above_it_token1() -> None:
    held = _one(log(90), log(110), 10.0)

    below0, below1 = tokens_of(held, np.sqrt([exp(4)]))
    above0, above1 = tokens_of(held, np.sqrt([exp(5)]))

    assert (below0[0], below1[0]) == (pytest.approx(10 * (90**-0.5 - 110**-0.5)), 0)
    assert (above0[0], above1[0]) == (0, pytest.approx(10 * (110**0.5 - 90**0.5)))
