"""A range moved over one reading: the figures are those of the plan it would become."""

import random

import pytest

from agents.lp.evaluation_context import own_ticks
from agents.lp.plan import ShapeChoice
from agents.lp.propose import candidates_of
from agents.numbers.edges import TickRange
from chain.contracts.networks import network_named
from chain.math.ticks import usable_ticks
from chain.tokens import Token
from chain.tokens.pair import Pair
from tests.agents.lp.made_up import DOLLAR_DOLLAR, Market
from tests.zuno_tui.screen.range_scene import form_of, market
from zuno_tui.app.range import plan_request, range_of_pair
from zuno_tui.intents.intents import CreatePosition, MovePosition
from zuno_tui.present.range_form import range_form
from zuno_tui.prompt.create_phrase import parse_create

DEVNET = network_named("devnet")
CONTEXT = market()
FORM = form_of(CONTEXT)


def _named(address: str, symbol: str, decimals: int) -> Token:
    return Token(address, symbol, decimals, verified=True, suspicious=False)


def test_a_preview_tells_what_the_plan_of_the_same_prices_tells() -> None:
    ticks = FORM.move_edges(FORM.begins, -300, 500)
    asked = plan_request(FORM, ticks)
    assert isinstance(asked, MovePosition)
    assert asked.low
    assert asked.high
    own = range_of_pair(FORM.pair, (asked.low, asked.high))
    shape = ShapeChoice(width_multiplier=1.0, center_offset_ticks=0, own_range=own)
    (planned,) = candidates_of(CONTEXT, [shape])
    ours = FORM.evaluate_range(ticks).candidate
    assert ours.model_copy(update={"shape": None}) == planned.candidate.model_copy(
        update={"shape": None}
    )
    preview = FORM.preview(ticks)
    told = {one.label: one for one in (*preview.figures, *preview.amounts)}
    assert told["stays 24 h"].own.endswith("%")
    assert ours.survival is not None
    assert FORM.held is not None
    assert FORM.held.survival is not None
    more = ours.survival.day - FORM.held.survival.day
    assert told["stays 24 h"].change == f"{100 * more:+.1f} pts".replace("-", "−")
    assert told["stays 24 h"].tone == ("good" if more > 0 else "bad")
    assert ours.fee_yield_24h is not None
    assert FORM.held.fee_yield_24h is not None
    assert ours.fee_yield_24h < FORM.held.fee_yield_24h
    assert (told["fees a day"].change[:2], told["fees a day"].tone) == ("−$", "bad")
    assert (told["cost"].change, told["earned back"].change) == ("", "")
    assert (told["earned back"].own_tone == "warn") == (told["earned back"].own == "never")
    assert "→" in told["swaps"].own


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("stable", [False, True])
def test_every_range_is_named_by_prices_that_lead_back_to_it(inverted: bool, stable: bool) -> None:
    context = Market(0.002, pair=DOLLAR_DOLLAR).position() if stable else CONTEXT
    pool = context.observed.pool
    tokens = _named(pool.currency0, "ONE", 6 if stable else 18), _named(pool.currency1, "TWO", 6)
    form = range_form(context, Pair(*tokens, inverted=inverted))
    chosen = random.Random(7)
    for _ in range(40):
        steps = [chosen.randrange(-60, 60) * pool.tick_spacing for _ in range(2)]
        ticks = form.move_edges(form.begins, *steps)
        asked = plan_request(form, ticks)
        assert isinstance(asked, MovePosition)
        assert asked.low
        assert asked.high
        assert own_ticks(range_of_pair(form.pair, (asked.low, asked.high)), pool) == ticks


def test_what_is_opened_is_named_by_a_phrase_that_leads_back() -> None:
    read = parse_create("0.5 WETH with USDC, conservative, between 2900 and 3300", DEVNET)
    goal = read.goal
    assert goal.pair is not None
    context = Market(0.03).opening((goal.capital[0].token, goal.capital[0].amount))
    observed = context.surveyed_pools[0]
    first, second = sorted(goal.pair)
    pool = observed.pool.model_copy(update={"currency0": first, "currency1": second})
    context = context.model_copy(
        update={"surveyed_pools": (observed.model_copy(update={"pool": pool}),)}
    )
    pair = Pair(_named(first, "A", 18), _named(second, "B", 6), inverted=False)
    form = range_form(context, pair, phrase="0.5 WETH with USDC, conservative, 0.05%")
    ticks = form.move_edges(form.centre(2_000), -30, 70)
    assert form.ref is None
    assert form.held is None
    assert not form.preview(ticks).trouble
    asked = plan_request(form, ticks)
    assert isinstance(asked, CreatePosition)
    again = parse_create(asked.phrase, DEVNET)
    assert again.own_range is not None
    assert own_ticks(again.own_range, pool) == ticks
    assert (again.goal.fee, again.profile) == (500, read.profile)


def test_edges_never_meet_nor_leave_the_prices_there_are() -> None:
    spacing = CONTEXT.observed.pool.tick_spacing
    lowest, highest = usable_ticks(spacing)
    far = 10 * highest
    for low, high in ((far, 0), (0, -far), (far, far), (-far, -far), (far, -far), (-far, far)):
        ticks = FORM.move_edges(FORM.begins, low, high)
        assert lowest <= ticks.lower < ticks.upper <= highest
        FORM.preview(ticks)


def test_the_range_that_is_held_cannot_be_planned_again() -> None:
    held = FORM.preview(FORM.begins)
    assert held.trouble
    assert all(one.now and not one.own and not one.change for one in held.figures)
    assert not FORM.preview(FORM.move_edges(FORM.begins, 10, 10)).trouble


def test_the_low_edge_is_the_lower_price_whichever_way_round() -> None:
    pair = FORM.pair
    turned = range_form(CONTEXT, Pair(pair.token0, pair.token1, inverted=True))
    before, after = (
        turned.preview(ticks).edges
        for ticks in (turned.begins, turned.move_edges(turned.begins, 50, 0))
    )
    assert after[0] > before[0]
    assert after[1] == before[1]
    assert turned.preview(turned.begins).parts[0].startswith("−")


def test_a_centred_range_has_the_price_in_its_middle() -> None:
    tick = CONTEXT.observed.pool.tick
    ticks = FORM.centre(1_000)
    assert abs((tick - ticks.lower) - (ticks.upper - tick)) <= 20
    assert FORM.centre(1) == TickRange(*FORM.centre(1))
    assert FORM.centre(1).width >= CONTEXT.observed.pool.tick_spacing
