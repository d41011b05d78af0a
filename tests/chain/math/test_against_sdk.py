"""Ticks, prices and the rest of the arithmetic against Uniswap's own SDK and contracts."""

import random
from collections.abc import Callable, Iterator

import pytest

from chain.contracts import abi
from chain.devnet.world.deployment import contract_codes
from chain.math import ticks
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed
from chain.math.liquidity import LiquidityError, liquidity_for_amounts
from chain.math.sqrt_price import (
    SqrtPriceError,
    amount0_delta,
    amount1_delta,
    next_sqrt_price_from_input,
    next_sqrt_price_from_output,
    swap_step,
)
from tests.chain.math.random_prices import random_price
from tests.chain_view import bare_chain
from tests.sdk.reference import Sdk

PARTS = 32
PRICES = 1_000_000
CASES = 4_000
# Every part reaches from end to end, so the small one that always runs sees all sizes of numbers.
EACH_PART = pytest.mark.parametrize(
    ("part", "parts"),
    [
        (0, 16 * PARTS),
        *(pytest.param(part, PARTS, marks=pytest.mark.soak) for part in range(PARTS)),
    ],
)


@EACH_PART
def test_every_tick(sdk: Sdk, part: int, parts: int) -> None:
    asked = range(ticks.MIN_TICK + part, ticks.MAX_TICK + 1, parts)
    answers = sdk.answers(f"sqrtPriceAtTick {tick}" for tick in asked)
    for tick, answer in zip(asked, answers, strict=True):
        sqrt_price = ticks.sqrt_price_at_tick(tick)
        assert f"{sqrt_price:x}" == answer, tick
        assert abs(ticks.estimated_tick(sqrt_price) - tick) < 0.00001, tick
        if tick < ticks.MAX_TICK:
            assert ticks.tick_at_sqrt_price(sqrt_price) == tick
        if tick > ticks.MIN_TICK:
            assert ticks.tick_at_sqrt_price(sqrt_price - 1) == tick - 1


@EACH_PART
def test_a_million_prices(sdk: Sdk, part: int, parts: int) -> None:
    draw = random.Random(part)
    prices = [random_price(draw) for _ in range(PRICES // parts)]
    answers = sdk.answers(f"tickAtSqrtPrice {price:#x}" for price in prices)
    for price, answer in zip(prices, answers, strict=True):
        assert str(ticks.tick_at_sqrt_price(price)) == answer, price


def magnitude(draw: random.Random, bits: int) -> int:
    """A number of any size below 2^bits, small ones as likely as large."""
    return draw.getrandbits(draw.randint(1, bits))


def or_refused(compute: Callable[..., int], *arguments: int, zero_for_one: bool) -> str:
    try:
        return f"{compute(*arguments, zero_for_one=zero_for_one):x}"
    except SqrtPriceError:
        return "refused"


def two_prices(draw: random.Random) -> tuple[int, int]:
    """Two prices, often within one tick of each other as in a real swap."""
    price = random_price(draw)
    if draw.random() < 0.5:
        return price, random_price(draw)
    near = price + draw.randint(-(price // 1000), price // 1000)
    return price, min(max(near, ticks.MIN_SQRT_PRICE), ticks.MAX_SQRT_PRICE - 1)


def compare(sdk: Sdk, cases: list[tuple[str, str]]) -> None:
    answers = sdk.answers(question for question, _ in cases)
    for (question, ours), theirs in zip(cases, answers, strict=True):
        assert ours == theirs, question


def test_amounts_between_prices(sdk: Sdk) -> None:
    draw = random.Random("amounts")
    cases = []
    for _ in range(CASES):
        a, b = two_prices(draw)
        liquidity, up = magnitude(draw, 128), draw.random() < 0.5
        arguments = f"{a:#x} {b:#x} {liquidity:#x} {up:d}"
        amount0 = amount0_delta(a, b, liquidity, round_up=up)
        amount1 = amount1_delta(a, b, liquidity, round_up=up)
        cases.append((f"amount0Delta {arguments}", f"{amount0:x}"))
        cases.append((f"amount1Delta {arguments}", f"{amount1:x}"))
    compare(sdk, cases)


def test_prices_after_amounts(sdk: Sdk) -> None:
    draw = random.Random("next price")
    cases: list[tuple[str, str]] = []
    for _ in range(CASES):
        price, liquidity = random_price(draw), magnitude(draw, 128)
        amount, zero_for_one = magnitude(draw, 256), draw.random() < 0.5
        arguments = f"{price:#x} {liquidity:#x} {amount:#x} {zero_for_one:d}"
        for name, compute in (
            ("priceFromInput", next_sqrt_price_from_input),
            ("priceFromOutput", next_sqrt_price_from_output),
        ):
            ours = or_refused(compute, price, liquidity, amount, zero_for_one=zero_for_one)
            cases.append((f"{name} {arguments}", ours))
    answers = sdk.answers(question for question, _ in cases)
    refused = 0
    for (question, ours), theirs in zip(cases, answers, strict=True):
        # The contract refuses prices beyond 160 bits; the SDK has no such bound.
        beyond = theirs != "refused" and int(theirs, 16) >= 1 << 160
        assert ours == ("refused" if beyond else theirs), question
        refused += ours == "refused"
    assert 0 < refused < len(cases) // 2


def test_nearest_usable_ticks(sdk: Sdk) -> None:
    draw = random.Random("usable")
    cases = []
    for _ in range(CASES):
        spacing = draw.choice((1, 10, 60, 200, draw.randint(1, 32767)))
        tick = draw.randint(ticks.MIN_TICK, ticks.MAX_TICK)
        if draw.random() < 0.3:
            tick = min(max(tick // spacing * spacing + spacing // 2, ticks.MIN_TICK), tick)
        ours = ticks.nearest_usable_tick(tick, spacing)
        cases.append((f"nearestUsableTick {tick} {spacing}", str(ours)))
    compare(sdk, cases)


def test_liquidity_for_amounts(sdk: Sdk) -> None:
    draw = random.Random("liquidity")
    cases = []
    for _ in range(CASES):
        lower, upper = sorted(two_prices(draw))
        if lower == upper:
            continue
        price = draw.choice((random_price(draw), draw.randint(lower, upper), lower, upper))
        amount0, amount1 = magnitude(draw, 128), magnitude(draw, 128)
        question = f"liquidityForAmounts {price:#x} {lower:#x} {upper:#x} {amount0:#x} {amount1:#x}"
        try:
            ours = f"{liquidity_for_amounts(price, lower, upper, amount0, amount1):x}"
        except LiquidityError:
            ours = "too much"
        cases.append((question, ours))
    answers = sdk.answers(question for question, _ in cases)
    for (question, ours), theirs in zip(cases, answers, strict=True):
        # The contract refuses more than 128 bits of liquidity; the SDK has no such bound.
        assert ours == (theirs if int(theirs, 16) < 1 << 128 else "too much"), question


def test_fee_growth(sdk: Sdk) -> None:
    draw = random.Random("fee growth")
    cases = []
    for _ in range(CASES):
        lower, upper = sorted(draw.sample(range(ticks.MIN_TICK, ticks.MAX_TICK + 1), 2))
        tick = draw.choice((lower - 1, lower, upper - 1, upper, draw.randint(lower, upper)))
        whole, below, above, last = (magnitude(draw, 256) for _ in range(4))
        inside = fee_growth_inside(
            tick,
            lower,
            upper,
            global_growth=FeeGrowth(whole, 0),
            outside_lower=FeeGrowth(below, 0),
            outside_upper=FeeGrowth(above, 0),
        )
        question = f"feeGrowthInside {tick} {lower} {upper} {whole:#x} {below:#x} {above:#x}"
        cases.append((question, f"{inside.growth0:x}"))
        liquidity = magnitude(draw, 128)
        owed = fees_owed(inside, FeeGrowth(last, 0), liquidity)
        question = f"feesOwed {inside.growth0:#x} {last:#x} {liquidity:#x}"
        cases.append((question, f"{owed.fees0:x}"))
    compare(sdk, cases)


def test_swap_steps(sdk: Sdk) -> None:
    draw = random.Random("swap step")
    cases = []
    for _ in range(CASES):
        price, target = two_prices(draw)
        liquidity, amount = magnitude(draw, 128) + 1, magnitude(draw, 127) + 1
        spend, fee = draw.random() < 0.5, draw.choice((0, 100, 500, 3000, draw.randrange(10**6)))
        step = swap_step(price, target, liquidity, -amount if spend else amount, fee)
        # v4 counts what rounding leaves over as input where v3 counted it as fee.
        question = f"swapStep {price:#x} {target:#x} {liquidity:#x} {spend:d} {amount:#x} {fee}"
        cases.append((question, (step.sqrt_price, step.amount_in + step.fee, step.amount_out)))
    answers = sdk.answers(question for question, _ in cases)
    for (question, ours), line in zip(cases, answers, strict=True):
        sqrt_price, amount_in, amount_out, fee = (int(word, 16) for word in line.split())
        assert ours == (sqrt_price, amount_in + fee, amount_out), question


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
