"""Windows, gaps, policies and intervals of whole backtests; what they walk is what is advised."""

import random
from math import log

import numpy as np
import numpy.typing as npt
import pytest

from agents.backtest.advice_arrays import MOVE, expected_edges
from agents.backtest.deciders import PolicyName, advisor_of, by_advice, first_half_width, walk_all
from agents.backtest.hours import PoolBars, bar_hours, window_starts
from agents.backtest.report import (
    BacktestError,
    BacktestReport,
    DollarInterval,
    backtest,
    drawn_windows,
    interval,
)
from agents.backtest.walking import (
    BacktestTerms,
    Decided,
    HeldRanges,
    Moment,
    Tokens,
    WindowHoldings,
    held_ranges,
    make_track,
    moment_at,
    snap_edges,
    walk,
)
from agents.lp.conclude import rules_alone
from agents.lp.evaluation_context import evaluation_of
from agents.numbers.advice import AdvisedAction, edge_ratio
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.rules import RiskProfile
from tests.agents.backtest.made_up_bars import bars_along, random_prices
from tests.agents.lp.made_up import USD_PER_UNIT1, Market
from tests.agents.lp.second_opinion import waits_beside

BALANCED = advisor_of(RiskProfile.BALANCED)
TERMS = BacktestTerms(window_hours=168)
WEEK = 168
DAYS_14 = 2 * WEEK


def _reported(bars: PoolBars, terms: BacktestTerms = TERMS) -> BacktestReport:
    return backtest(bars, terms, BALANCED)


def _without(bars: PoolBars, first: int, last: int) -> PoolBars:
    kept = np.r_[0:first, last : len(bars.times)]
    return type(bars)(*(field[kept] for field in bars))


def test_profiles_start_at_the_width_their_floor_asks_for() -> None:
    widths = [advisor_of(profile).base_sigmas for profile in RiskProfile]

    assert widths == pytest.approx([3.6, 2.95, 2.25], abs=0.1)


def test_the_first_week_warms_up_and_windows_follow_one_another() -> None:
    found = window_starts(bar_hours(bars_along(random_prices(5 * WEEK + 10))), WEEK)

    assert list(found.hours) == [WEEK, 2 * WEEK, 3 * WEEK, 4 * WEEK]
    assert found.broken == 0


def test_volatility_and_edge_are_those_of_the_week_before() -> None:
    prices = random_prices(400)
    bars = bars_along(prices, fees=3.0, liquidity=2e5)

    hours = bar_hours(bars)

    returns = [log(prices[hour] / prices[hour - 1]) for hour in range(300 - WEEK, 300)]
    week = sum(each**2 for each in returns) / 7
    day = sum(each**2 for each in returns[-24:])
    assert hours.sigma[300] == pytest.approx(((week + day) / 2) ** 0.5)
    assert hours.edge[300] == pytest.approx(edge_ratio(WEEK * 3.0 / 2e5, 7 * week))
    assert hours.liquidity_usd[300] == pytest.approx(2e5)
    assert np.isnan(hours.edge[:WEEK]).all()


def test_minutes_and_their_hours_tell_the_same_of_the_market() -> None:
    prices = random_prices(400, per_hour=60)
    hourly = bars_along(prices[59::60], fees=60.0)

    by_minute, by_hour = bar_hours(bars_along(prices, step=60.0, fees=1.0)), bar_hours(hourly)

    assert by_minute.sigma[WEEK + 1 :] == pytest.approx(by_hour.sigma[WEEK + 1 :])
    assert by_minute.edge[WEEK + 1 :] == pytest.approx(by_hour.edge[WEEK + 1 :])


def test_a_gap_ends_a_window_and_the_next_starts_behind_it() -> None:
    bars = _without(bars_along(random_prices(5 * WEEK)), 2 * WEEK + 50, 2 * WEEK + 60)

    found = window_starts(bar_hours(bars), WEEK)

    # Bar n ends hour n + 1, so the first one after the gap ends hour 396.
    assert list(found.hours) == [WEEK, 2 * WEEK + 61, 3 * WEEK + 61]
    assert found.broken == 1


def test_minutes_that_are_missing_now_and_then_are_no_gap() -> None:
    bars = _without(bars_along(random_prices(DAYS_14 + 1, per_hour=60), step=60.0), 15_000, 15_002)

    assert _reported(bars).windows == 1
    assert _reported(bars).bars == WEEK * 60 - 2


def test_after_a_long_gap_the_market_is_unknown_for_days() -> None:
    bars = _without(bars_along(random_prices(4 * WEEK)), WEEK + 1, WEEK + 100)

    found = window_starts(bar_hours(bars), WEEK)

    # The gap breaks hours 170 to 269, and 120 hours of a week must be known.
    assert list(found.hours) == [269 + 120]


def test_too_few_bars_say_how_many_are_needed() -> None:
    with pytest.raises(BacktestError, match="14"):
        _reported(bars_along(random_prices(DAYS_14 - 1)))


def test_a_price_that_stands_still_earns_fees_and_nothing_else() -> None:
    bars = bars_along(np.full(DAYS_14, 2000.0), fees=10.0, liquidity=1e6)

    found = _reported(bars).policies

    # Over the full range $10,000 are 2·L·√P, so that its part of the pool is 1 in 101.
    full = found[PolicyName.FULL_RANGE]
    assert full.hedged.mean == pytest.approx(WEEK * 10.0 * 10_000 / 1_010_000)
    assert full.hedged.mean == pytest.approx(full.unhedged.mean)
    # A price that does not move has no edge: the rule holds, since it is unknown.
    assert found[PolicyName.ADVICE].shares[AdvisedAction.HOLD] == 1
    never = found[PolicyName.NEVER].hedged.mean
    assert found[PolicyName.ADVICE].hedged.mean == pytest.approx(never)


def test_a_trend_loses_what_the_textbook_says() -> None:
    prices = np.concatenate((random_prices(WEEK), 2000 * np.exp(np.linspace(0, 0.1, WEEK + 1))))
    prices[WEEK - 1] = 2000.0
    bars = bars_along(prices, fees=0.0)
    track = make_track(bars, TERMS)
    wide = walk_all(track, TERMS, BALANCED)[PolicyName.WIDE]
    start, end = track.closes[WEEK], track.closes[2 * WEEK]
    # In liquidity of one: what both tokens are worth at the end, held and in the range.
    low, high = start / 1.2, start * 1.2
    held = (start**-0.5 - high**-0.5) * end + start**0.5 - low**0.5
    kept = (end**-0.5 - high**-0.5) * end + end**0.5 - low**0.5
    began = (start**-0.5 - high**-0.5) * start + start**0.5 - low**0.5

    assert wide.unhedged[0] == pytest.approx((kept - held) / began * 10_000, rel=0.01)
    assert wide.hedged[0] < 0


def test_results_are_told_for_ten_thousand_dollars_whatever_the_capital() -> None:
    bars = bars_along(random_prices(DAYS_14 + 1), liquidity=1e9)

    small = _reported(bars, BacktestTerms(window_hours=168, capital=100.0, gas_usd=0.0))
    large = _reported(bars, BacktestTerms(window_hours=168, capital=10_000.0, gas_usd=0.0))

    for name, policy in small.policies.items():
        assert policy.hedged.mean == pytest.approx(large.policies[name].hedged.mean, rel=1e-4)


def test_the_price_of_token1_scales_nothing_but_the_unit() -> None:
    prices = random_prices(DAYS_14 + 1)

    dollars = _reported(bars_along(prices))
    ether = _reported(bars_along(prices / 2500), BacktestTerms(window_hours=168, token1_usd=2500.0))

    for name, policy in dollars.policies.items():
        other = ether.policies[name]
        assert policy.hedged.mean == pytest.approx(other.hedged.mean, rel=0.03, abs=0.2)


def test_a_pool_that_does_not_pay_is_left_once_and_one_that_pays_is_not() -> None:
    prices = random_prices(6 * WEEK, seed=8)

    poor = _reported(bars_along(prices, fees=0.1)).policies[PolicyName.ADVICE]
    rich = _reported(bars_along(prices, fees=30.0)).policies[PolicyName.ADVICE]

    assert poor.actions_per_week == pytest.approx(1.0)
    assert poor.shares[AdvisedAction.MOVE] == 0
    assert poor.hedged.mean == pytest.approx(-0.05)
    assert rich.shares[AdvisedAction.EXIT] == 0
    assert rich.hedged.mean > 0


def test_costs_are_gas_for_leaving_and_the_swapped_half_for_moving() -> None:
    prices = random_prices(4 * WEEK, sigma=0.05, seed=4)
    bars = bars_along(prices, fees=0.0)
    terms = BacktestTerms(window_hours=168, gas_usd=3.0, fee_pips=3000, slippage_bp=10)

    runs = walk_all(make_track(bars, terms), terms, BALANCED)

    moved = runs[PolicyName.RECENTRE]
    for costs, actions in zip(moved.costs, moved.actions, strict=True):
        # From outside of a range half of everything is swapped, at 0.4 %, and it only shrinks.
        most = 3.0 + 5_000 * 0.004 * 1.2
        assert 0.7 * (3.0 + 20.0) * actions.sum() <= costs <= most * actions.sum()
    assert moved.actions.sum() > 0
    left = runs[PolicyName.ADVICE]
    assert left.costs == pytest.approx(3.0 * (left.actions > 0).sum(axis=1))


@pytest.mark.parametrize(("capital", "acts"), [(3.0, False), (10.0, True)])
def test_what_cannot_be_paid_for_is_not_done(capital: float, acts: bool) -> None:
    bars = bars_along(random_prices(4 * WEEK, sigma=0.05, seed=4), fees=0.0)
    terms = BacktestTerms(window_hours=168, capital=capital, gas_usd=4.0)

    run = walk_all(make_track(bars, terms), terms, BALANCED)[PolicyName.RECENTRE]

    assert run.actions.any() == acts
    assert (run.costs < capital).all()
    assert (run.costs > 0).any() == acts


def test_the_placebo_does_in_each_window_what_another_did_at_the_same_hours() -> None:
    random = np.random.default_rng(2)
    bars = bars_along(random_prices(10 * WEEK, sigma=0.06, seed=9))
    bars = bars._replace(fees_usd=np.repeat(random.choice([0.5, 60.0], 70), 24))
    terms = TERMS

    runs = walk_all(make_track(bars, terms), terms, BALANCED)

    advised, placebo = runs[PolicyName.ADVICE].actions, runs[PolicyName.PLACEBO]
    assert advised.any()
    track = make_track(bars, terms)
    windows = len(advised)
    opening = moment_at(track, 0, 0)
    half = first_half_width(opening, terms, BALANCED)
    own = snap_edges(opening.log_price, half, terms.tick_spacing)
    hedged = []
    for shift in range(1, windows):
        like = np.roll(advised, shift, axis=0)

        def decide(moment: Moment, _: WindowHoldings, like: npt.NDArray[np.int8] = like) -> Decided:
            width = first_half_width(moment, terms, BALANCED)
            return Decided(
                like[:, moment.place], *snap_edges(moment.log_price, width, terms.tick_spacing)
            )

        hedged.append(walk(track, terms, own, decide).hedged)
    assert placebo.hedged == pytest.approx(np.mean(hedged, axis=0))


def test_a_day_lies_between_two_actions() -> None:
    random = np.random.default_rng(2)
    bars = bars_along(random_prices(10 * WEEK, sigma=0.06, seed=9))
    bars = bars._replace(fees_usd=np.repeat(random.choice([0.5, 60.0], 70), 24))
    terms = BacktestTerms(window_hours=168, every_hours=1)

    actions = walk_all(make_track(bars, terms), terms, BALANCED)[PolicyName.ADVICE].actions

    apart = [np.diff(np.flatnonzero(window)) for window in actions]
    assert min(int(each.min()) for each in apart if each.size) >= 24


def test_blocks_of_a_week_are_drawn_whole() -> None:
    drawn = drawn_windows(20, 24)

    assert drawn.shape == (1000, 20)
    assert ((drawn[:, 1:7] - drawn[:, :6]) % 20 == 1).all()
    assert drawn_windows(20, 336).shape == (1000, 20)
    assert drawn_windows(20, 24).tolist() == drawn.tolist()


def test_an_interval_holds_its_mean_and_one_window_has_none() -> None:
    values = np.random.default_rng(1).normal(5, 10, 100)

    found = interval(values, drawn_windows(100, WEEK))

    assert found.low is not None
    assert found.high is not None
    assert found.low < found.mean < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 10, rel=0.15)
    assert interval(values[:1], drawn_windows(1, WEEK)) == DollarInterval(values[0], None, None)


@pytest.mark.parametrize("edge", [0.8, 1.0, 2.5])
def test_in_a_market_that_pays_this_much_of_its_risk_everybody_gets_just_that(edge: float) -> None:
    liquidity = 1e9
    fees = edge * 0.04**2 / 8 / 24 * liquidity
    bars = bars_along(random_prices(4 * 365 * 24), fees=fees, liquidity=liquidity)

    found = _reported(bars)

    # Over the full range that is (ρ − 1)σ²/8 a day of all there is; ranges have more at work.
    told = {name: policy.hedged.mean for name, policy in found.policies.items()}
    assert told[PolicyName.FULL_RANGE] == pytest.approx((edge - 1) * 14.0, abs=0.4)
    for name in (PolicyName.WIDE, PolicyName.NEVER):
        if edge == 1:
            assert abs(told[name]) < 5
        else:
            assert told[name] / told[PolicyName.FULL_RANGE] > 10
    advice = found.policies[PolicyName.ADVICE]
    assert advice.actions_per_week <= 1
    assert (advice.shares[AdvisedAction.MOVE] > advice.shares[AdvisedAction.EXIT]) == (edge > 1)
    against = found.differences["advice-never"]
    assert against.low is not None
    assert against.high is not None
    assert against.low > 0 if edge != 1 else against.low < 2


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
