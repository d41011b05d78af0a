"""What a backtest walks is what the desk advises: the same move, to the same ticks."""

import random
from math import log

import numpy as np
import pytest

from agents.backtest.advice_arrays import MOVE, expected_edges
from agents.backtest.deciders import advisor_of, by_advice
from agents.backtest.walking import (
    BacktestTerms,
    HeldRanges,
    Moment,
    Tokens,
    WindowHoldings,
    held_ranges,
)
from agents.lp.conclude import rules_alone
from agents.lp.evaluation_context import evaluation_of
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.rules import RiskProfile
from tests.agents.lp.made_up import USD_PER_UNIT1, Market
from tests.agents.lp.second_opinion import waits_beside

COUNT = 60


@pytest.mark.parametrize("profile", RiskProfile)
def test_the_desk_and_the_walk_take_the_same_range(profile: RiskProfile) -> None:
    chance = random.Random(f"{profile.value} 4")
    moved = same = 0
    for _ in range(COUNT):
        market = Market(
            chance.uniform(0.02, 0.05),
            chance.uniform(1.05, 1.6),
            half_width=chance.uniform(0.04, 0.4),
            off_centre=chance.choice((-1.6, 1.4, 2.5)),
            pool_dollars=5_000_000_000,
            gwei=0.05,
            profile=profile,
        )
        context = market.position()
        told = rules_alone(context, 2).move
        if told is not None and waits_beside(told):
            continue  # no range that waits for the price is walked
        evaluation = evaluation_of(context)
        pool, position = context.observed.pool, context.position
        tick = price_tick(pool.sqrt_price_x96)
        one = np.ones(1)
        edges = (position.tick_lower * TICK_LOG * one, position.tick_upper * TICK_LOG * one)
        held: HeldRanges = held_ranges(*edges, float(position.liquidity) * one)
        edge = (context.observed.market.edge_7d or 0.0) * one
        moment = Moment(
            0,
            np.exp(tick * TICK_LOG * one),
            np.exp(tick * TICK_LOG * one / 2),
            tick * TICK_LOG * one,
            market.sigma * one,
            edge,
            expected_edges(edge),
            evaluation.market.loss_rate * one,
            float(market.pool_dollars) * one,
        )
        none = np.zeros(1)
        beside = Tokens(float(position.fees0) * one, float(position.fees1) * one)
        holdings = WindowHoldings(held, beside, np.full(1, np.inf), none, none, none, none)
        terms = BacktestTerms(gas_usd=0.11, slippage_bp=0, token1_usd=USD_PER_UNIT1)
        decided = by_advice(terms, advisor_of(profile))(moment, holdings)
        assert bool(decided.actions[0] == MOVE) is (told is not None)
        if told is None:
            continue
        assert told.tick_lower is not None
        assert told.tick_upper is not None
        walked = [round(float(edge[0]) / log(1.0001)) for edge in (decided.lower, decided.upper)]
        moved += 1
        same += (
            max(abs(walked[0] - told.tick_lower), abs(walked[1] - told.tick_upper))
            <= 2 * pool.tick_spacing
        )
    assert moved > COUNT / 3
    assert same >= 0.95 * moved, (same, moved)
