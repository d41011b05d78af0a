"""The arithmetic of a debate, piece by piece: shapes, candidates, judgments."""

from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.lp.evaluation import evaluate, exit_candidate, hold_candidate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.judge import Opinion
from agents.lp.plan import ShapeChoice
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.numbers.rules import PROFILES, Decision, JudgmentVerdict, RiskProfile, Rule
from agents.numbers.shapes import MAX_CANDIDATES, MIN_CANDIDATES, ExposureBias
from chain.contracts.networks import NATIVE
from chain.math.liquidity import Amounts
from tests.agents.lp.made_up import DOLLAR_DOLLAR, HOOK_POWER, TOKEN0, TOKEN1, Market
from tests.agents.lp.one_round import ROUND, concluded, judged

ACCEPT, REVISE, VETO = JudgmentVerdict
HELD = Market(0.02, 1.3, half_width=0.1, off_centre=0.6)

# --- proposing ---


def test_the_standing_shapes_are_wider_tighter_and_centred() -> None:
    shapes = shapes_by_rules(HELD.position(), ())
    assert [shape.width_multiplier for shape in shapes[:3]] == [1.4, 0.65, 1.0]
    assert all(shape.center_offset_ticks == 0 for shape in shapes[:3])


def test_a_fourth_shape_needs_no_swap_where_there_is_one() -> None:
    context = HELD.position()
    (*_, skewed) = shapes_by_rules(context, ())
    assert skewed.center_offset_ticks != 0
    move = evaluate(evaluation_of(context), skewed, 3).candidate
    assert move.prep_action is None
    one_sided = replace(HELD, off_centre=2.0).position()
    assert not any(shape.center_offset_ticks for shape in shapes_by_rules(one_sided, ()))


@pytest.mark.parametrize("profile", RiskProfile)
@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.08])
def test_a_revision_keeps_the_floor_and_little_more(profile: RiskProfile, sigma: float) -> None:
    context = replace(HELD, sigma=sigma, half_width=0.01, profile=profile).position()
    first, *wider = candidates_of(context, shapes_by_rules(context, (ROUND,)))
    floor = PROFILES[profile].buffer_floor_hours
    assert floor <= first.numbers.buffers.at_1x < 1.35 * floor
    assert all(
        move.numbers.buffers.at_1x > first.numbers.buffers.at_1x
        for move in wider
        if move.candidate.shape and not move.candidate.shape.center_offset_ticks
    )


@pytest.mark.parametrize("profile", RiskProfile)
def test_a_new_position_is_as_wide_as_the_profiles_floor_asks(profile: RiskProfile) -> None:
    market = replace(HELD, profile=profile)
    shapes = shapes_by_rules(market.opening((TOKEN0, 10**18), pools=5), ())
    # As wide as it has to be to last as long as the profile likes: life is the width squared.
    width = sqrt(PROFILES[profile].liked_room)
    assert [shape.pool_index for shape in shapes] == [0, 1, 2]
    assert [shape.width_multiplier for shape in shapes] == pytest.approx([width] * 3, rel=1e-4)


def test_a_dangerous_pool_takes_no_better_pools_place() -> None:
    safe, dangerous = HELD.opening((TOKEN0, 10**18)), replace(HELD, danger="dangerous")
    (bad,) = dangerous.opening((TOKEN0, 10**18)).surveyed_pools
    (good,) = safe.surveyed_pools
    context = safe.model_copy(update={"surveyed_pools": (bad, good, bad, good, good)})
    assert [shape.pool_index for shape in shapes_by_rules(context, ())] == [1, 3, 4]


def test_shapes_that_snap_onto_each_other_become_one_and_spares_fill_up() -> None:
    context = Market(1e-5, pair=DOLLAR_DOLLAR, half_width=0.0001).position()
    moves = candidates_of(context, shapes_by_rules(context, ()))
    places = [(move.candidate.tick_lower, move.candidate.tick_upper) for move in moves]
    assert MIN_CANDIDATES <= len(places) <= MAX_CANDIDATES
    assert len(set(places)) == len(places)
    assert (context.position.tick_lower, context.position.tick_upper) not in places


def test_no_more_than_five_and_none_of_the_range_held() -> None:
    context = Market(0.02, half_width=0.05).position()
    shapes = [
        ShapeChoice(width_multiplier=1 + step / 10, center_offset_ticks=0) for step in range(9)
    ]
    moves = candidates_of(context, shapes)
    assert [move.candidate.index for move in moves] == [0, 1, 2, 3, 4]


def test_of_nothing_no_move_can_be_made() -> None:
    context = HELD.position()
    nothing = {"liquidity": 0, "amount0": 0, "amount1": 0, "fees0": 0, "fees1": 0}
    empty = context.model_copy(update={"position": context.position.model_copy(update=nothing)})
    assert candidates_of(empty, shapes_by_rules(empty, ())) == ()
    owed = {**nothing, "fees1": 10**6}
    with_fees = context.model_copy(update={"position": context.position.model_copy(update=owed)})
    assert len(candidates_of(with_fees, shapes_by_rules(with_fees, ()))) >= MIN_CANDIDATES


# --- evaluation ---


def test_the_coin_enters_a_pool_of_its_wrapped_form_whole() -> None:
    market = HELD.opening((NATIVE, 10**18), (TOKEN1, 10**9))
    wrapping = market.model_copy(update={"wrapped_native": TOKEN0})
    evaluation = evaluation_of(wrapping)
    assert evaluation.available == Amounts(10**18, 10**9)
    assert evaluation.capital_is_currency0
    (observed,) = market.surveyed_pools
    native = observed.model_copy(
        update={"pool": observed.pool.model_copy(update={"currency0": NATIVE})}
    )
    in_coin = wrapping.model_copy(update={"surveyed_pools": (native,)})
    assert evaluation_of(in_coin).available == Amounts(10**18, 10**9)


def test_two_sided_capital_is_taken_as_it_is() -> None:
    context = HELD.opening((TOKEN0, 10**17), (TOKEN1, 5 * 10**9))
    for move in candidates_of(context, shapes_by_rules(context, ())):
        assert move.candidate.prep_action is None
        assert move.candidate.residual1 > 0


def test_staying_long_moves_the_range_towards_the_capital() -> None:
    centres = {}
    for token, amount in ((TOKEN0, 10**18), (TOKEN1, 10**9)):
        context = HELD.opening((token, amount))
        long = context.goal.model_copy(update={"exposure": ExposureBias.LONG_TOKEN})
        context = context.model_copy(update={"goal": long})
        (shape,) = shapes_by_rules(context, ())
        move = evaluate(evaluation_of(context), shape, 0).candidate
        assert move.tick_lower is not None
        assert move.tick_upper is not None
        centres[token] = (move.tick_lower + move.tick_upper) // 2
    pool = HELD.opening((TOKEN0, 1)).surveyed_pools[0].pool
    assert centres[TOKEN1] < pool.tick < centres[TOKEN0]


def test_hold_and_exit_stand_beside_the_moves_with_their_own_numbers() -> None:
    context = HELD.position()
    hold, leave = hold_candidate(context), exit_candidate(context)
    assert leave is not None
    position = context.position
    assert (hold.kind, hold.index, hold.cost_usd, hold.judgment) == ("hold", None, 0.0, None)
    assert (hold.tick_lower, hold.tick_upper) == (position.tick_lower, position.tick_upper)
    assert hold.liquidity == position.liquidity
    assert hold.fee_yield_24h
    assert (leave.kind, leave.liquidity, leave.fee_yield_24h, leave.lvr_24h) == ("exit", 0, 0, 0)
    assert leave.amount0 == position.amount0 + position.fees0
    assert leave.amount1 == position.amount1 + position.fees1
    assert leave.gas_usd == leave.cost_usd == pytest.approx(180_000 * 1e9 * 3_000 / 1e18)
    opening = HELD.opening((TOKEN0, 10**18))
    assert exit_candidate(opening) is None
    assert hold_candidate(opening).amount0 == 10**18


def test_a_move_without_a_swap_costs_its_gas_alone() -> None:
    context = HELD.position()
    (*_, skewed) = shapes_by_rules(context, ())
    plain = evaluate(evaluation_of(context), skewed, 0).candidate
    swapping = evaluate(evaluation_of(context), shapes_by_rules(context, ())[0], 1).candidate
    assert plain.prep_action is None
    assert plain.cost_usd == plain.gas_usd == pytest.approx(409_000 * 1e9 * 3_000 / 1e18)
    assert swapping.prep_action is not None
    assert swapping.prep_action.cost_usd is not None
    assert swapping.gas_usd is not None
    assert swapping.prep_action.minting_loss_usd is not None
    assert swapping.cost_usd == pytest.approx(
        swapping.gas_usd + swapping.prep_action.cost_usd + swapping.prep_action.minting_loss_usd,
        rel=1e-4,
    )
    # What the swap costs is at least its fee, here a twentieth of a per cent of what it sells.
    sold = swapping.prep_action.amount_in * 1e-6
    assert not swapping.prep_action.zero_for_one
    assert 1 <= swapping.prep_action.cost_usd / (sold * 0.0005) < 20


def test_what_is_unknown_stays_unknown_and_is_never_accepted() -> None:
    context = replace(HELD, fees_known=False).position()
    round_ = judged(context)
    for move in round_.moves:
        assert move.candidate.fee_yield_24h is None
        assert move.candidate.gas_yield is None
        assert move.candidate.break_even_hours is None
        assert move.judgment.verdict is not ACCEPT
    plan = concluded(context, round_)
    assert plan.choice.kind == "hold"
    assert "is unknown" in plan.choice.reasons[0]


def test_a_price_nobody_knows_leaves_costs_unknown_and_the_position_held() -> None:
    context = HELD.position()
    observed = context.observed
    unpriced = observed.token1.model_copy(update={"usd_per_unit": None})
    gas = context.gas.model_copy(update={"usd_per_wei": None})
    context = context.model_copy(
        update={"observed": observed.model_copy(update={"token1": unpriced}), "gas": gas}
    )
    round_ = judged(context)
    assert all(move.candidate.cost_usd is None for move in round_.moves)
    plan = concluded(context, round_)
    assert plan.choice.kind == "hold"
    assert plan.hold.value_usd is None


@settings(max_examples=60)
@given(
    st.floats(0.3, 3.5),
    st.integers(-2400, 2400),
    st.floats(0.005, 0.1),
    st.floats(-2.5, 2.5),
    st.integers(1, 10**7),
)
def test_nothing_is_created_or_lost_between_what_is_held_and_what_a_range_takes(
    width: float, offset: int, sigma: float, off_centre: float, dollars: int
) -> None:
    context = Market(sigma, off_centre=off_centre, dollars=dollars).position()
    evaluation = evaluation_of(context)
    shape = ShapeChoice(width_multiplier=width, center_offset_ticks=offset)
    move = evaluate(evaluation, shape, 0).candidate
    swap = move.prep_action
    held0, held1 = evaluation.available
    if swap is not None:
        sold, bought = -swap.amount_in, swap.amount_out
        held0 += sold if swap.zero_for_one else bought
        held1 += bought if swap.zero_for_one else sold
    assert (held0, held1) == (move.amount0 + move.residual0, move.amount1 + move.residual1)
    assert min(move.amount0, move.amount1, move.residual0, move.residual1, move.liquidity) >= 0
    assert evaluate(evaluation_of(context), shape, 0).candidate == move


# --- judging ---


@pytest.mark.parametrize("opinion", JudgmentVerdict)
def test_an_opinion_can_harden_a_judgment_and_never_soften_it(opinion: JudgmentVerdict) -> None:
    context = Market(0.03, 1.3, off_centre=2.0, half_width=0.02).position()
    by_rules = judged(context)
    order = [ACCEPT, REVISE, VETO]
    opinions = {
        index: Opinion(opinion, "because I say so") for index, _ in enumerate(by_rules.moves)
    }
    for plain, argued in zip(by_rules.moves, judged(context, opinions).moves, strict=True):
        strict = max(plain.judgment.verdict, opinion, key=order.index)
        assert argued.judgment.verdict is strict
        assert argued.judgment.by_rules is plain.judgment.verdict
        assert argued.judgment.findings == plain.judgment.findings


def test_every_objection_has_a_number_and_names_the_width_a_floor_asks_for() -> None:
    context = Market(0.03, 1.3, off_centre=2.0, half_width=0.02).position()
    round_ = judged(context)
    assert [one.point for one in round_.objections] == list(range(1, len(round_.objections) + 1))
    for objection in round_.objections:
        findings = round_.moves[objection.candidate].judgment.findings
        (finding,) = (one for one in findings if one.words == objection.words)
        assert finding.verdict is not ACCEPT
        assert (objection.needed_multiplier is not None) == (finding.rule is Rule.BUFFER_FLOOR)
    (needed,) = {one.needed_multiplier for one in round_.objections if one.needed_multiplier}
    shape = ShapeChoice(width_multiplier=needed, center_offset_ticks=0)
    mended = evaluate(evaluation_of(context), shape, 0)
    floor = PROFILES[context.profile].buffer_floor_hours
    assert floor <= mended.numbers.buffers.at_1x < 1.2 * floor


def test_a_dangerous_pool_is_vetoed_whatever_it_pays() -> None:
    context = replace(HELD, paid=4.0, off_centre=2.0, danger="dangerous").position()
    round_ = judged(context)
    assert round_.decision is Decision.VETO_ALL
    for move in round_.moves:
        assert Rule.HOOK in {one.rule for one in move.judgment.findings}
        assert HOOK_POWER.rstrip(".") in move.judgment.reason
    plan = concluded(context, round_)
    assert (plan.choice.kind, plan.choice.reasons) == ("exit", (HOOK_POWER,))
    assert all(one.survives for one in plan.assumptions)
