"""Which way a token is followed to dollars through the pools that are held."""

import pytest
from msgspec.structs import replace

from chain.base.units import HOUR
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.history.volatility import PricePoint
from chain.math.ticks import sqrt_price_at_tick
from tests.agents.monitor.made_up_positions import NETWORK, position
from zuno_tui.present.past_day import HeldCourse, dollar_courses

DOLLAR = NETWORK.stable or ""
OTHER = "0x" + "03" * 20


def followed(number: int, first: str, second: str, went: int, liquidity: int) -> HeldCourse:
    """A pool whose price of currency0 rose by so many ticks in the last hour."""
    held = position(went, number=number)
    pool = replace(held.pool, key=PoolKey(first, second, 500, 10, NATIVE), liquidity=liquidity)
    points = [PricePoint(HOUR, sqrt_price_at_tick(went)), PricePoint(0, sqrt_price_at_tick(0))]
    return HeldCourse(replace(held, pool=pool), points)


def test_the_deepest_pool_of_a_pair_says_how_far_it_went() -> None:
    shallow = followed(1, NATIVE, DOLLAR, 450, 10**17)
    deep = followed(2, NATIVE, DOLLAR, 430, 10**18)
    for held in ([shallow, deep], [deep, shallow]):
        assert dollar_courses(NETWORK, held)[NATIVE][1] == pytest.approx(1.0001**-430)


def test_a_pool_with_dollars_counts_before_a_deeper_one_without() -> None:
    ether = followed(1, NATIVE, DOLLAR, 400, 10**18)
    by_ether = followed(2, OTHER, NATIVE, 300, 10**17)
    by_dollars = followed(3, OTHER, DOLLAR, 650, 10**6)
    courses = dollar_courses(NETWORK, [ether, by_ether, by_dollars])
    assert courses[OTHER][1] == pytest.approx(1.0001**-650)
    assert dollar_courses(NETWORK, [ether, by_ether])[OTHER][1] == pytest.approx(1.0001**-700)
