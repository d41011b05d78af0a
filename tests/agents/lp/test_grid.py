"""Ranges of ±1 … 20 %, volatilities of 1 … 5 % a day and a stable pair: always an argued plan."""

import sys
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from agents.numbers.rules import RiskProfile
from tests.agents.lp.debating import Argued, argue_over
from tests.agents.lp.made_up import DOLLAR_DOLLAR, TOKEN0, TOKEN1, Market
from tests.agents.lp.second_opinion import check_argued, waits_beside
from tests.samples import some_of

HALF_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2)
SIGMAS = (0.01, 0.02, 0.03, 0.04, 0.05)
PLACES = {"centred": 0.0, "at its edge": 0.97, "left behind": 2.5}
PAID = (0.7, 1.3)
"""Fees pay for less than the volatility there is, or for more."""


ALL = pytest.mark.parametrize("all_of_them", [False, pytest.param(True, marks=pytest.mark.soak)])


@ALL
async def test_no_range_and_no_volatility_ends_without_an_argued_plan(
    capsys: pytest.CaptureFixture[str], *, all_of_them: bool
) -> None:
    """In every market with each profile, or in some with one of them."""
    rows, outcomes = [], Counter[str]()
    chance = Random(1)
    markets = [*product(HALF_WIDTHS, SIGMAS, PLACES, PAID)]
    for half_width, sigma, place, paid in markets if all_of_them else chance.sample(markets, 75):
        told = []
        for profile in RiskProfile if all_of_them else chance.sample(tuple(RiskProfile), 1):
            market = Market(sigma, paid, half_width, PLACES[place], profile=profile)
            context = market.position()
            argued = await argue_over(context)
            check_argued(context, argued)
            told.append(_told(argued))
            outcomes[argued.plan.choice.kind] += 1
        rows.append(f"±{half_width:4.0%}  {sigma:4.0%}  {place:12} {paid:3}  {'  '.join(told)}")
    with capsys.disabled():
        head = "range  σ/day  price        paid  by profile: conservative, balanced, aggressive"
        sys.stdout.write("\n".join(("", head, *rows, str(dict(outcomes)), "")))
    assert len(rows) == (150 if all_of_them else 75)
    assert all(outcomes[kind] > outcomes.total() / 25 for kind in ("hold", "move", "exit"))


@ALL
async def test_a_stable_pair_gets_no_nonsense_width(
    capsys: pytest.CaptureFixture[str], *, all_of_them: bool
) -> None:
    rows, chance = [], Random(2)
    for ticks, sigma, place, paid in product((1, 5, 10), (0.0002, 0.001), PLACES, PAID):
        told = []
        for profile in RiskProfile if all_of_them else chance.sample(tuple(RiskProfile), 1):
            half_width = 1.0001**ticks - 1
            market = Market(
                sigma, paid, half_width, PLACES[place], pair=DOLLAR_DOLLAR, profile=profile
            )
            context = market.position()
            argued = await argue_over(context)
            check_argued(context, argued)
            for move in argued.plan.candidates[paid < 1 :]:
                if waits_beside(move):
                    continue
                assert move.tick_lower is not None
                assert move.tick_upper is not None
                # Nine daily deviations at most, 3.5 times over, is still within four per cent.
                widest = max(31.5 * sigma / 0.0001, 2)
                assert move.tick_lower < context.observed.pool.tick < move.tick_upper
                assert move.tick_upper - move.tick_lower <= 2 * widest + 2
            told.append(_told(argued))
        rows.append(f"±{ticks:2} ticks  {sigma:.2%}  {place:12} {paid:3}  {'  '.join(told)}")
    with capsys.disabled():
        sys.stdout.write("\n".join(("", "a stable pair", *rows, "")))


@pytest.mark.parametrize(("profile", "sigma"), some_of(product(RiskProfile, SIGMAS), 5, seed=44))
async def test_opening_a_position_always_ends_in_an_argued_plan(
    profile: RiskProfile, sigma: float
) -> None:
    for paid in (*PAID, 3.0):
        market = Market(sigma, paid, profile=profile)
        for capital in (
            ((TOKEN0, 10**18),),
            ((TOKEN1, 10**9),),
            ((TOKEN0, 10**17), (TOKEN1, 10**9)),
        ):
            context = market.opening(*capital)
            argued = await argue_over(context)
            check_argued(context, argued)
            assert argued.plan.choice.kind in ("move", "hold")


@ALL
@pytest.mark.parametrize(
    "odd",
    [
        {"fees_known": False},
        {"assumed": True},
        {"gwei": 5_000},
        {"gwei": 0},
        {"paid": 0.0},
        {"dollars": 1},
        {"dollars": 10**9},
        {"pool_dollars": 1},
        {"sigma": 0.5},
        {"sigma": 1e-6},
        {"half_width": 50.0},
        {"off_centre": 40.0},
        {"danger": "caution"},
        {"danger": "dangerous"},
    ],
    ids=str,
)
async def test_an_odd_market_ends_in_an_argued_plan(
    odd: dict[str, object], *, all_of_them: bool
) -> None:
    pairs = product(RiskProfile, PLACES.values())
    each_once = zip(RiskProfile, PLACES.values(), strict=True)
    for profile, place in pairs if all_of_them else each_once:
        market = Market(0.03, off_centre=place, profile=profile)
        context = replace(market, **odd).position()  # type: ignore[arg-type]
        argued = await argue_over(context)
        check_argued(context, argued)
        if "assumed" in odd:
            assert argued.plan.verdict != "approve"


def _told(argued: Argued) -> str:
    plan = argued.plan
    return (
        f"{plan.recommended.kind:7} {plan.decided_by[:3]} {plan.rounds} {plan.choice.codes[0]:16}"
    )
