"""Cases in which the advice once lost money, or claimed what it did not know."""

from dataclasses import replace

import pytest

from agents.lp.facts import MarketContext
from agents.lp.plan import Candidate, Plan
from agents.numbers.advice import AdviceReason
from agents.numbers.rules import JudgmentVerdict, RiskProfile
from agents.numbers.survival import estimate_sigma
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up import TOKEN1, Market

DOLLAR = 10**6


async def test_a_large_opening_is_refused_for_what_its_own_swap_would_cost() -> None:
    """Three millions move this pool by over four per cent; once that was advised, at a loss."""
    context = Market(0.02, 1.6, pool_dollars=60_000_000).opening((TOKEN1, 3_000_000 * DOLLAR))
    plan = (await argue_over(context)).plan
    assert plan.choice.kind == "hold"
    assert all(_verdict(move) is JudgmentVerdict.VETO for move in _swapping(plan))
    for move in _swapping(plan):
        swap = move.prep_action
        assert swap is not None
        assert swap.price_moved > 0.01
        assert swap.minting_loss_usd is not None
        assert swap.cost_usd is not None
        assert swap.minting_loss_usd > swap.cost_usd / 4


async def test_a_move_in_a_small_pool_is_not_advised() -> None:
    """$20,000 in a pool of $200,000: the cost was shown as $133 and was $362."""
    context = Market(
        0.03, 1.6, pool_dollars=200_000, half_width=0.122, off_centre=1.05, gwei=0.0
    ).position()
    plan = (await argue_over(context)).plan
    assert plan.choice.kind == "hold"


@pytest.mark.parametrize("paid", [0.8, 0.95])
async def test_there_is_no_ladder_of_ever_wider_ranges(paid: float) -> None:
    """σ 3 %, fees that pay for 2.4 %, ±10 %: once five widenings in a row, each at a loss."""
    for half_width in (0.1, 0.14, 0.21, 0.3, 0.44):
        plan = (await argue_over(Market(0.03, paid, half_width=half_width).position())).plan
        assert plan.choice.kind in ("exit", "hold")
        assert AdviceReason.POOL_DOES_NOT_PAY in plan.choice.codes
        assert (plan.choice.kind == "exit") == (paid == 0.8 and half_width < 0.2)


@pytest.mark.parametrize("profile", RiskProfile)
@pytest.mark.parametrize("paid", [0.0, 0.5, 0.9, 1.0, 1.1, 1.3, 2.0])
async def test_no_move_with_a_loss_is_approved(paid: float, profile: RiskProfile) -> None:
    for half_width, place, dollars in ((0.05, 2.5, 2_000), (0.1, 0.0, 20_000), (0.02, 1.2, 200)):
        market = Market(0.03, paid, half_width, place, dollars=dollars, profile=profile, gwei=0.05)
        plan = (await argue_over(market.position())).plan
        if plan.choice.kind == "move":
            assert plan.recommended.net_7d is not None
            assert plan.recommended.net_7d > 0 or plan.verdict != "approve"


async def test_a_position_that_loses_fast_is_not_held_in_silence() -> None:
    """A stake far larger than its pool: once "HOLD, confidence 100 %" at $10,590 LVR a day."""
    context = Market(0.03, 0.3, dollars=2_000_000, pool_dollars=100_000).position()
    plan = (await argue_over(context)).plan
    assert plan.choice.kind == "exit"
    idle = Market(0.03, 0.0, half_width=0.3).position()
    plan = (await argue_over(idle)).plan
    assert AdviceReason.POOL_DOES_NOT_PAY in plan.choice.codes
    assert plan.hold.net_7d is not None
    assert plan.hold.net_7d < 0


async def test_a_quiet_day_after_a_wild_week_tightens_nothing() -> None:
    """σ of the day 0.8 %, of the week 3 %: once ±3.2 % was advised, that stays a week 0.1 %."""
    estimate = estimate_sigma(0.008, 0.03)
    assert estimate is not None
    sigma = estimate.daily_sigma
    assert sigma > 0.02
    for place in (0.0, 2.5):
        context = Market(sigma, 1.4, half_width=0.1, off_centre=place, gwei=0.05).position()
        market = context.observed.market.model_copy(update={"sigma_24h": 0.008, "sigma_7d": 0.03})
        observed = context.observed.model_copy(update={"market": market})
        plan = (await argue_over(context.model_copy(update={"observed": observed}))).plan
        if plan.choice.kind == "move":
            assert plan.recommended.survival is not None
            assert plan.recommended.survival.day > 0.9
            assert plan.recommended.tick_lower is not None
            assert plan.recommended.tick_upper is not None
            assert plan.recommended.tick_upper - plan.recommended.tick_lower > 2 * 500
        else:
            assert plan.choice.kind == "hold"


@pytest.mark.parametrize(("paid", "place"), [(0.7, 0.0), (1.0, 0.0), (1.6, 2.5), (1.05, 2.5)])
async def test_a_thin_second_changes_nothing(paid: float, place: float) -> None:
    """A tenth of the liquidity is active just now: once that turned EXIT into MOVE."""
    market = Market(0.03, paid, off_centre=place, dollars=800, gwei=0.05)
    usual = market.position()
    thin = _thinned(usual)
    held, now = (await argue_over(usual)).plan, (await argue_over(thin)).plan
    assert (now.choice.kind, now.choice.codes) == (held.choice.kind, held.choice.codes)
    assert now.hold.fee_yield_24h == held.hold.fee_yield_24h
    assert now.hold.net_7d == held.hold.net_7d


@pytest.mark.parametrize("profile", RiskProfile)
async def test_whoever_holds_the_full_range_is_not_told_to_concentrate(
    profile: RiskProfile,
) -> None:
    context = Market(0.02, 1.1, half_width=1e9, profile=profile).position()
    plan = (await argue_over(context)).plan
    assert plan.choice.codes == (AdviceReason.IN_RANGE,)


async def test_gas_dearer_than_the_gain_leaves_the_position_where_it_is() -> None:
    context = Market(
        0.03, 2.0, off_centre=2.5, gwei=52, profile=RiskProfile.CONSERVATIVE
    ).position()
    plan = (await argue_over(context)).plan
    assert plan.choice.kind == "hold"
    assert plan.choice.reasons


async def test_unknown_is_neither_never_nor_certain() -> None:
    context = replace(Market(0.03, off_centre=2.5), fees_known=False, assumed=True).position()
    plan = (await argue_over(context)).plan
    assert plan.choice.codes == (AdviceReason.EDGE_UNKNOWN,)
    assert plan.verdict == "approve_with_caution"
    assert all(one.survives is None for one in plan.assumptions)
    assert all(move.breaks_even for move in plan.candidates)


def _swapping(plan: Plan) -> list[Candidate]:
    return [move for move in plan.candidates if move.prep_action is not None]


def _verdict(move: Candidate) -> JudgmentVerdict | None:
    return None if move.judgment is None else move.judgment.verdict


def _thinned(context: MarketContext) -> MarketContext:
    pool = context.observed.pool
    own = context.position.liquidity
    inside = context.position.tick_lower <= pool.tick < context.position.tick_upper
    others = pool.liquidity - (own if inside else 0)
    less = others - others // 10
    near = pool.tick // pool.tick_spacing * pool.tick_spacing
    changes = dict(pool.changes)
    # A hole of a hundred spacings around the price.
    for tick, net in (
        (near - 100 * pool.tick_spacing, -less),
        (near + 100 * pool.tick_spacing, less),
    ):
        changes[tick] = changes.get(tick, 0) + net
    hollow = pool.model_copy(
        update={"liquidity": pool.liquidity - less, "changes": tuple(sorted(changes.items()))}
    )
    observed = context.observed.model_copy(update={"pool": hollow})
    return context.model_copy(update={"observed": observed})
