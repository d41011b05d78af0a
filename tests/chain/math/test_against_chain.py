"""Tick arithmetic against Uniswap's own `TickMathTest`, run by the EVM."""

import random
from collections.abc import Callable, Iterator

import pytest

from chain.contracts import abi
from chain.devnet.world.deployment import contract_codes
from chain.math import ticks
from tests.chain.math.random_prices import random_price
from tests.chain_view import bare_chain

COUNT = 2_000
PRICE = "getSqrtPriceAtTick(int24)"
TICK = "getTickAtSqrtPrice(uint160)"
ANYONE = "0x" + "a1" * 20

Ask = Callable[[str, int], int | None]
"""Puts one argument to one function of the deployed contract; None when it reverts."""


@pytest.fixture(scope="module")
def tick_math_test() -> Iterator[Ask]:
    with bare_chain() as chain:
        deployed = chain.apply(ANYONE, None, contract_codes()["TickMathTest"]).created
        assert deployed is not None

        def ask(signature: str, argument: int) -> int | None:
            outcome = chain.call(deployed, abi.encode_call(signature, argument))
            if not outcome.success:
                return None
            kind = "int24" if signature == TICK else "uint160"
            answer: int = abi.decode([kind], outcome.output)[0]
            return answer

        yield ask


def test_prices_of_ticks(tick_math_test: Ask) -> None:
    draw = random.Random("chain ticks")
    edges = [ticks.MIN_TICK, ticks.MIN_TICK + 1, -1, 0, 1, ticks.MAX_TICK - 1, ticks.MAX_TICK]
    sample = edges + draw.sample(range(ticks.MIN_TICK, ticks.MAX_TICK + 1), COUNT - len(edges))
    for tick in sample:
        assert tick_math_test(PRICE, tick) == ticks.sqrt_price_at_tick(tick), tick


def test_ticks_of_prices(tick_math_test: Ask) -> None:
    draw = random.Random("chain prices")
    edges = [ticks.MIN_SQRT_PRICE, 2**96 - 1, 2**96, 2**96 + 1, ticks.MAX_SQRT_PRICE - 1]
    for price in edges + [random_price(draw) for _ in range(COUNT - len(edges))]:
        assert tick_math_test(TICK, price) == ticks.tick_at_sqrt_price(price), price


@pytest.mark.parametrize(
    ("signature", "argument", "ours"),
    [
        (PRICE, ticks.MIN_TICK - 1, ticks.sqrt_price_at_tick),
        (PRICE, ticks.MAX_TICK + 1, ticks.sqrt_price_at_tick),
        (TICK, ticks.MIN_SQRT_PRICE - 1, ticks.tick_at_sqrt_price),
        (TICK, ticks.MAX_SQRT_PRICE, ticks.tick_at_sqrt_price),
    ],
)
def test_both_refuse_the_same(
    tick_math_test: Ask, signature: str, argument: int, ours: Callable[[int], int]
) -> None:
    assert tick_math_test(signature, argument) is None
    with pytest.raises(ticks.TickError):
        ours(argument)
