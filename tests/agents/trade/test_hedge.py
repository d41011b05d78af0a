"""A position's delta is the coins it holds: an identity, on real pools and drawn ones."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from itertools import pairwise
from random import Random

import pytest

from agents.trade.opinions import (
    HEDGE_RATIOS,
    HedgeChange,
    RangeExposure,
    floored,
    hedged_quantity,
)
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
    assert floored(0.3, 0.1) == 0.3


def test_drift_is_told_as_a_share_of_what_is_wanted() -> None:
    assert HedgeChange(0.69, 1.0).drift() == pytest.approx(0.31)
    assert HedgeChange(1.0, 0.0).drift() is None
    assert HedgeChange(1.0, 0.25).difference == -0.75
