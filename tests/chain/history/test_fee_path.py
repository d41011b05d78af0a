"""What a unit of liquidity was paid along the price, against exact integers of each swap."""

import random
from itertools import pairwise

import pytest

from chain.history.events import FeeTerms
from chain.history.fee_rate import LiquidityRange
from chain.history.hours import growth_inside, joined_path, path_of_swap
from chain.math.fees import ProtocolFee
from chain.math.ticks import MAX_TICK, MIN_TICK, sqrt_price_at_tick
from tests.chain.history.exact_fees import range_fees
from tests.chain.history.market import swaps_through

pytestmark = pytest.mark.pure

RATIO = 3000 / (1_000_000 - 3000)


@pytest.mark.parametrize("spacing", [1, 10, 60])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_range_finds_its_fees_to_the_unit(seed: int, spacing: int) -> None:
    draw = random.Random(seed)
    prices = [sqrt_price_at_tick(draw.randint(-400, 400)) for _ in range(40)]
    pieces = [
        piece
        for start, end in pairwise(prices)
        for piece in path_of_swap(start, end, RATIO, spacing)
    ]
    path = joined_path(pieces)
    liquidity = 10**15
    for _ in range(50):
        # Where an hour went through more pieces than are kept, edges of kept ones are exact.
        edges = sorted(draw.sample([piece.lower for piece in path], 2))
        lower, upper = (sqrt_price_at_tick(tick) for tick in edges)
        held = LiquidityRange(lower, upper, liquidity)
        swaps = swaps_through(prices)
        exact = range_fees(swaps, held, FeeTerms(3000, ProtocolFee(0, 0)), included=True)
        growth = growth_inside(path, *edges)
        for told, fees in zip(growth, exact, strict=False):
            assert told * liquidity == pytest.approx(fees, rel=1e-9, abs=2)


def test_a_price_driven_through_everything_is_few_pieces() -> None:
    ends = sqrt_price_at_tick(MIN_TICK + 1), sqrt_price_at_tick(MAX_TICK - 1)
    path = joined_path([*path_of_swap(*ends, RATIO, 1), *path_of_swap(*ends[::-1], RATIO, 1)])
    assert len(path) <= 3
    low, high = 2**-0.5, 2**0.5
    inside = growth_inside(path, -6932, 6932)
    assert inside == pytest.approx((RATIO * (high - low),) * 2, rel=1e-3)
    assert growth_inside(path, 5, 5) == (0.0, 0.0)


def test_many_pieces_are_kept_as_fewer_that_pay_the_same() -> None:
    draw = random.Random(4)
    prices = [sqrt_price_at_tick(draw.randint(-2000, 2000)) for _ in range(300)]
    pieces = [
        piece for start, end in pairwise(prices) for piece in path_of_swap(start, end, RATIO, 1)
    ]
    path = joined_path(pieces)
    assert len(path) <= 96
    whole = [
        sum(growth_inside((piece,), -2001, 2001)[place] for piece in pieces) for place in (0, 1)
    ]
    assert growth_inside(path, -2001, 2001) == pytest.approx(whole, rel=1e-9)
