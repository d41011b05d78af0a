"""Which way a token is followed to dollars through the pools that are held."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from chain.base.units import DAY, HOUR, Known
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.history.hours import HourRow, PoolHours
from chain.history.volatility import PricePoint
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import HourlyPrices
from chain.prices.price import DollarPrice, PriceBook
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import KEY, NETWORK, block, position
from zuno_tui.present.past_day import HeldCourse, dollar_courses, past_prices

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


def test_a_past_hour_keeps_its_price_when_the_price_of_now_moves() -> None:
    """Of a token whose only pool is with ether, as ether's pool with dollars tells."""

    def priced(ticks: int) -> HourlyPrices:
        pools = [
            (pool_of(NATIVE, DOLLAR, ticks), hours_that_end(now_at=ticks, closed_at=100)),
            (pool_of(OTHER, NATIVE, ticks), hours_that_end(now_at=ticks, closed_at=200)),
        ]
        ether, other = Fraction(1.0001**ticks), Fraction(1.0001 ** (2 * ticks))
        known = {OTHER: other, NATIVE: ether, DOLLAR: Fraction(1)}
        book = PriceBook(
            {token: DollarPrice(Known(price, "made up"), None) for token, price in known.items()},
            Known(ether, "made up"),
        )
        token = Token(OTHER, "OTHER", 0, verified=True, suspicious=False)
        return past_prices(NETWORK, book, NOW, pools).of(token)

    before, after = priced(300), priced(430)
    assert before.usd.at(NOW - 2 * HOUR) == pytest.approx(1.0001**300)
    assert after.usd.at(NOW - 2 * HOUR) == pytest.approx(1.0001**300)
    assert after.eth.at(NOW - 2 * HOUR) == pytest.approx(1.0001**200)
    assert after.usd.at(NOW) == pytest.approx(1.0001**860)


NOW = 1_768_003_200


def pool_of(first: str, second: str, ticks: int) -> PositionSnapshot:
    held = position(ticks)
    return replace(held, pool=replace(held.pool, key=PoolKey(first, second, 500, 10, NATIVE)))


def hours_that_end(*, now_at: int, closed_at: int) -> PoolHours:
    """Hours that closed at one price, and one that goes on at another."""
    rows = [
        HourRow(hour, price, price, price, 0, 0, 0.0, 0.0, 0.0, 1, 0)
        for hour, ticks in ((NOW - 2 * HOUR, closed_at), (NOW, now_at))
        for price in (sqrt_price_at_tick(ticks),)
    ]
    return PoolHours(KEY.pool_id, NOW - DAY, block(100), tuple(rows), (), NOW)
