"""A swap through another pool than the one entered, and prices that moved since the approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.contracts.pool_key import DecodedPoolKey, PoolKey
from chain.execution.plan.facts import PoolFacts
from chain.execution.plan.records import Execute
from chain.execution.plan.requests import QuotedSwap
from chain.execution.plan.sizing import least_paid, price_band
from chain.execution.policy.policy import Allowed, PolicyRefused, check
from chain.execution.v4.records import ModifyLiquidities
from chain.execution.v4.shapes import swap_and_enter
from tests.chain.execution.policy_bench import Bench, altered, reasons, setting, spoil

if TYPE_CHECKING:
    from chain.execution.plan.context import PolicyContext
    from chain.execution.plan.records import DecodedStep
    from chain.execution.v4.records import Action


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def _through(bench: Bench, percent: int) -> tuple[DecodedStep, PolicyContext]:
    """The swap led through a plain pool of the same pair that pays this share of the price."""
    step, context = bench.alone("swap")
    assert isinstance(step.call, Execute)
    recipe = swap_and_enter(step.call)
    assert recipe is not None
    entered = recipe.mint.pool
    other = DecodedPoolKey(entered.currency0, entered.currency1, 10_000, 200, entered.hooks)
    (quote,) = context.quotes
    squared = context.pools[entered].sqrt_price_x96 ** 2
    at_price = (
        quote.amount_in * squared >> 192
        if quote.zero_for_one
        else (quote.amount_in << 192) // squared
    )
    pays = at_price * percent // 100

    def led(action: Action) -> Action:
        if hasattr(action, "amount_out_minimum"):
            return altered(action, pool=other, amount_out_minimum=pays)
        return action

    facts = PoolFacts(PoolKey(*other), context.pools[entered].sqrt_price_x96, other.fee)
    told = QuotedSwap(
        PoolKey(*other), quote.zero_for_one, quote.amount_in, pays, quote.sqrt_price_after
    )
    return (
        replace(step, call=spoil(step.call, led)),
        replace(context, pools={**context.pools, other: facts}, quotes=(told,)),
    )


def test_a_pool_that_pays_the_price_may_be_swapped_in(bench: Bench) -> None:
    step, context = _through(bench, 98)

    assert isinstance(check([step], context), Allowed)


@pytest.mark.parametrize("percent", [33, 90, 96])
def test_a_pool_opened_at_a_price_of_its_own_is_not(bench: Bench, percent: int) -> None:
    step, context = _through(bench, percent)

    assert "price of the position's pool" in reasons([step], context)


def _leaving(context: PolicyContext, times: int) -> PolicyContext:
    """The swap leaves its pool at so many times the price."""
    (quote,) = context.quotes
    return replace(
        context, quotes=(replace(quote, sqrt_price_after=quote.sqrt_price_after * times),)
    )


def test_amounts_are_judged_at_the_price_that_a_swap_leaves_in_the_pool_entered(
    bench: Bench,
) -> None:
    step, context = bench.alone("swap")
    assert isinstance(check([step], _leaving(context, 1)), Allowed)
    assert "the maximums" in reasons([step], _leaving(context, 4))
    # What a swap elsewhere leaves behind there moves nothing here.
    step, context = _through(bench, 98)
    assert isinstance(check([step], _leaving(context, 4)), Allowed)


@pytest.mark.parametrize("name", ["close", "decrease"])
def test_minimums_may_be_as_old_as_the_drift_that_is_allowed(bench: Bench, name: str) -> None:
    step, context = bench.alone(name)
    (position,) = context.positions.values()
    assert isinstance(step.call, ModifyLiquidities)
    liquidity = getattr(step.call.actions[0], "liquidity", position.liquidity)
    band = price_band(position.pool.sqrt_price_x96, 150)
    floor = least_paid(position.span, liquidity, band)

    def judged(amount0: int, drift_bips: int) -> Allowed | PolicyRefused:
        call = spoil(step.call, setting("amount0_min", lambda _: amount0))
        call = spoil(call, setting("amount1_min", lambda _: floor.amount1))
        return check([replace(step, call=call)], replace(context, drift_bips=drift_bips))

    assert isinstance(judged(floor.amount0, 0), PolicyRefused)
    assert isinstance(judged(floor.amount0, 50), Allowed)
    assert isinstance(judged(floor.amount0 - 1, 50), PolicyRefused)
