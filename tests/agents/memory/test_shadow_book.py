"""The shadow book: strict as paper, told once, and no gate that luck opens."""

from collections.abc import Iterator
from functools import cache
from math import exp, log, log1p, sqrt
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

from agents.memory.memory import TradeSetup
from agents.memory.shadow_book import (
    SetupEnd,
    ShadowBook,
    ShadowSetup,
    capital,
    judge_setup,
    least_excess,
    shadow_sums,
)
from agents.trade.facts import DeskRecord
from agents.trade.indicators import average_true_ranges, level_set
from agents.trade.judging import (
    SetupPrices,
    TradeCosts,
    is_vetoed,
    outlook,
    recorded_odds_pct,
    setup_prices,
)
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
)
from chain.exchange.orders.venue import VenueFees
from chain.exchange.orders.venues.paper.venue import MarketCourse, PaperAccount, settle_candles
from chain.exchange.public.market import Candle, FundingPayment
from tests.chain.exchange.markets import order
from tests.printed import printed

LONG = TradeSetup("plan_1", "ETHUSDT", "swing", "trade", "LONG", "RANGE_BOUND", (), (), 40.0, 40.0)


def setup(
    entry: float = 100.0, stop: float = 98.0, take_profit: float = 103.0, plan_id: str = "plan_1"
) -> ShadowSetup:
    return ShadowSetup(
        setup=replace(LONG, plan_id=plan_id, decision="LONG" if stop < take_profit else "SHORT"),
        market="test",
        made_at=1_000,
        entry=entry,
        stop=stop,
        take_profit=take_profit,
        notional_usd=1_000.0,
        cost_pct=0.1,
    )


def bar(time: int, opened: float, high: float, low: float, close: float) -> Candle:
    return Candle(time, opened, high, low, close, 1_000.0, 500.0)


@pytest.mark.parametrize(
    ("candles", "end"),
    [
        # The candle it was made in fills nobody and stops nobody.
        ([bar(960, 100, 110, 90, 100)], None),
        ([bar(1020, 100, 101, 99, 100)], None),
        # In the candle that opens it nothing is won, and everything may be lost.
        ([bar(1020, 100, 104, 99, 100)], None),
        ([bar(1020, 100, 104, 97, 100)], ("stop", 98.0)),
        # Both touched: the stop came first. At the profit there is a queue.
        ([bar(1020, 100, 101, 99, 100), bar(1080, 100, 104, 97, 100)], ("stop", 98.0)),
        ([bar(1020, 100, 101, 99, 100), bar(1080, 100, 103, 99, 100)], None),
        ([bar(1020, 100, 101, 99, 100), bar(1080, 100, 103.1, 99, 100)], ("take_profit", 103.0)),
        # A market that opened beyond the stop was never at it; nobody is let in beyond either.
        ([bar(1020, 100, 101, 99, 100), bar(1080, 96, 97, 95, 96)], ("stop", 96.0)),
        ([bar(1020, 97, 104, 97, 100)], ("void", 97.0)),
        ([bar(1020, 103.5, 104, 97, 100)], ("void", 103.5)),
    ],
)
def test_a_setup_is_judged_by_the_worst_that_a_candle_allows(
    candles: list[Candle], end: tuple[str, float] | None
) -> None:
    after = judge_setup(setup(), candles, 60)

    assert (None if after.ended is None else (after.ended.how, after.ended.exit)) == end


def test_costs_and_funding_are_paid_and_a_second_look_changes_nothing() -> None:
    candles = [bar(1020, 100, 101, 99, 100), bar(1080, 100, 103.1, 99, 103)]
    paid = [FundingPayment(1_080, 0.001, 100.0)]
    once = judge_setup(setup(), candles, 60, paid)

    assert once.ended is not None
    assert once.ended.pnl_pct == pytest.approx(3.0 - 0.1 - 0.1)
    assert once.ended.score == pytest.approx(3 / 5)
    first = judge_setup(setup(), candles[:1], 60, paid)
    assert judge_setup(judge_setup(first, candles[:1], 60, paid), candles, 60, paid) == once


def test_it_leaves_where_a_paper_trade_leaves_on_the_same_candles() -> None:
    """From the same fill on: the paper account is asked what it did with stop and profit."""
    draws, left = Random(5), 0
    for _ in range(300):
        sign = draws.choice((1, -1))
        mine = setup(100.0, 100 - sign * draws.uniform(0.5, 3), 100 + sign * draws.uniform(0.5, 6))
        price, candles = 100.0, []
        for place in range(60):
            close = price * exp(draws.gauss(0, 0.006))
            high = max(price, close) * exp(abs(draws.gauss(0, 0.003)))
            low = min(price, close) * exp(-abs(draws.gauss(0, 0.003)))
            candles.append(bar(1020 + 60 * place, price, high, low, close))
            price = close * exp(draws.gauss(0, 0.002))
        after = judge_setup(mine, candles, 60)
        if after.ended is None or after.ended.closed_at == 1080:
            continue  # paper lets nobody in at the open, so the first candle cannot be compared
        other = OrderSide.SELL if sign > 0 else OrderSide.BUY
        account = PaperAccount(cash=0.0, settled_at={"ETHUSDT": 1080})
        held = {"ETHUSDT": _held(1.0 * sign, 100.0)}
        protecting = [
            order(other, OrderType.STOP, 1.0, mine.stop, name="stop", reduce_only=True),
            order(other, OrderType.TAKE_PROFIT, 1.0, mine.take_profit, name="tp", reduce_only=True),
        ]
        account = replace(
            account, positions=held, orders={one.client_id: _open(one) for one in protecting}
        )
        course = MarketCourse("ETHUSDT", 60, tuple(candles), (), 0.0)
        account = settle_candles(account, course, VenueFees(0.0, 0.0))
        [done] = [one for one in account.orders.values() if one.filled]
        assert done.order.type.value == after.ended.how
        assert done.average == pytest.approx(after.ended.exit)
        left += 1
    assert left > 150


def _held(quantity: float, entry: float) -> PerpetualPosition:
    return PerpetualPosition("ETHUSDT", quantity, entry)


def _open(order: VenueOrder) -> OrderProgress:
    return OrderProgress(order=order, state=OrderState.OPEN, placed_at=1080, changed_at=1080)


def test_of_a_coin_one_open_setup_counts_and_none_is_judged_back(tmp_path: Path) -> None:
    with ShadowBook.open(tmp_path / "setups.db") as book:
        first, second = book.add(setup()), book.add(setup(plan_id="plan_2"))
        other = book.add(
            replace(
                setup(plan_id="plan_3"), setup=replace(LONG, plan_id="plan_3", symbol="BTCUSDT")
            )
        )
        assert [first.overlaps, second.overlaps, other.overlaps] == [False, True, False]
        ended = judge_setup(first, [bar(1020, 100, 104, 97, 100)], 60)
        book.keep(ended)
        book.keep(judge_setup(first, [bar(1020, 100, 101, 99, 100)], 60))
        book.add(setup())
    with ShadowBook.open(tmp_path / "setups.db") as book:
        assert book.setups("test") == (ended, second, other)
        assert book.setups("test", only_open=True) == (second, other)
        assert book.setups("elsewhere") == ()
        assert not book.add(setup(plan_id="plan_4")).overlaps
    assert (tmp_path / "setups.db").stat().st_mode & 0o077 == 0
    [kind] = shadow_sums([ended, second])
    assert (kind.ended, kind.won, kind.came_true) == (1, 0, 0)
    assert "stopped out" in kind.lesson


def test_the_bound_is_what_a_gambler_s_capital_says() -> None:
    draws = Random(2)
    scores = [0.6 if draws.random() < 0.55 else -0.4 for _ in range(2_000)]
    least = least_excess(scores)

    assert 0.08 < least < 0.15 < sum(scores) / len(scores) + 0.01
    assert capital(scores, least) == pytest.approx(100, rel=1e-3)
    assert least_excess(scores[:20]) == least_excess([]) == 0.0


class Walk(NamedTuple):
    """How the setups of one desk came out."""

    looks: int
    opened_at: int | None
    """After how many judged setups the gate was open first."""
    excess: float


_SIGMA = 0.004
"""Of a quarter of an hour; about what ETH does."""
_TICK = 16
"""Quarters of an hour between two full runs of a watch."""
_FEES = TradeCosts(fees=0.0007, slippage=0.0001, funding=0.0)


class Market:
    """Quarters of an hour of a price that drifts nowhere, or the way of an open setup."""

    def __init__(self, seed: int) -> None:
        self._draws = np.random.default_rng(seed)
        self.price, self.bars = 3_000.0, 0

    def pass_by(self, count: int, drift: float = 0.0) -> list[Candle]:
        steps = self._draws.normal(drift - _SIGMA**2 / 2, _SIGMA, count)
        ends = np.log(self.price) + np.cumsum(steps)
        starts = ends - steps
        # The highest and lowest between two prices of a walk, each drawn from its own law.
        reach = np.sqrt(steps**2 - 2 * _SIGMA**2 * np.log(self._draws.random((2, count))))
        highs, lows = (starts + ends + reach[0]) / 2, (starts + ends - reach[1]) / 2
        sides = (np.exp(each).tolist() for each in (starts, highs, lows, ends))
        rows: list[tuple[float, float, float, float]] = list(zip(*sides, strict=True))
        candles = [bar((self.bars + place) * 900, *row) for place, row in enumerate(rows)]
        self.price, self.bars = candles[-1].close, self.bars + count
        return candles


def _hour_of(parts: list[Candle]) -> Candle:
    high, low = max(part.high for part in parts), min(part.low for part in parts)
    return Candle(parts[0].time, parts[0].open, high, low, parts[-1].close, 4_000.0, 2_000.0)


def _drift_for(prices: SetupPrices, edge: float) -> float:
    """The drift of each step with which so much more than the fair share wins."""
    risk, way = (abs(log(each / prices.stop)) for each in (prices.entry, prices.take_profit))
    wanted, low, high = risk / way + edge, 0.0, 1_000.0
    for _ in range(60):
        tilt = (low + high) / 2
        share = (1 - exp(-tilt * risk)) / (1 - exp(-tilt * way)) if tilt else risk / way
        low, high = (tilt, high) if share < wanted else (low, tilt)
    return low * _SIGMA**2 / 2 if edge else 0.0


@cache
def drafts() -> tuple[tuple[float, float], ...]:
    """Where stop and profit lie, of the price: at the full runs of a watch, on chart levels."""
    found: list[tuple[float, float]] = []
    market, draws = Market(1), Random(1)
    hours = [_hour_of(market.pass_by(4)) for _ in range(240)]
    while len(found) < 600:
        hours = [*hours[4:], *(_hour_of(market.pass_by(4)) for _ in range(4))]
        span = average_true_ranges(hours[-20:])[-1]
        levels, sign = level_set(hours), draws.choice((1, -1))
        prices = setup_prices(levels, span, market.price, 0.01, sign)
        if prices is not None:
            found.append((prices.stop / prices.entry, prices.take_profit / prices.entry))
    return tuple(found)


def setups_of_watch(seed: int, edge: float) -> Iterator[tuple[ShadowSetup, SetupPrices]]:
    """One at a time, judged to its end; the next begins at a later full run."""
    market, draws, every = Market(seed), Random(seed), drafts()
    while True:
        entry = market.price
        stop, profit = (entry * part for part in draws.choice(every))
        prices = SetupPrices(entry, stop, profit)
        drift = (1 if profit > stop else -1) * _drift_for(prices, edge)
        one = replace(setup(entry, stop, profit), made_at=market.bars * 900)
        while one.ended is None:
            one = judge_setup(one, market.pass_by(_TICK, drift), 900)
        yield one, prices


def walk(seed: int, count: int, edge: float = 0.0, every: int = 1) -> Walk:
    """A desk that looks before every setup whether the gate is open.

    `every`: how often the bound is worked out again, where there is one at all.
    """
    scores: list[float] = []
    grown = dict.fromkeys((0.02, 0.04, 0.08, 0.16, 0.32), 0.0)
    won, fair, proved = 0, 0.0, 0.0
    for looks, (one, prices) in enumerate(setups_of_watch(seed, edge)):
        rich = sum(map(exp, grown.values())) / len(grown) >= 100
        if not rich or looks % every == 0:
            proved = least_excess(scores) if rich else 0.0
        past = DeskRecord(resolved=looks, won=won, fair_wins=fair, brier=None, proved=proved)
        odds = recorded_odds_pct(one.fair * 100, past)
        seen = outlook(prices.entry, prices.stop, prices.take_profit, odds, _FEES)
        if not is_vetoed(seen.expected_pct):
            return Walk(looks, looks, sum(scores) / len(scores))
        if looks == count:
            assert rich == (capital(scores, 0.0) >= 100)
            return Walk(looks, None, sum(scores) / len(scores))
        assert isinstance(one.ended, SetupEnd)
        scores.append(one.ended.score)
        won, fair = won + (one.ended.how == "take_profit"), fair + one.fair
        grown = {bet: total + log1p(bet * one.ended.score) for bet, total in grown.items()}
    raise AssertionError


DRIFTLESS = [
    pytest.param(0, 6, 120, id="some"),
    *(pytest.param(part, 50, 1_000, marks=pytest.mark.soak, id=f"{part}") for part in range(20)),
]


@pytest.mark.parametrize(("part", "desks", "count"), DRIFTLESS)
def test_luck_opens_the_gate_for_one_desk_in_a_hundred_however_often_it_looks(
    part: int, desks: int, count: int
) -> None:
    walks = [walk(part * 1_000 + seed, count) for seed in range(desks)]
    opened = [found.looks for found in walks if found.opened_at is not None]
    mean = sum(found.excess for found in walks) / desks
    error = 0.45 / sqrt(desks * count)
    printed(f"driftless {part}: {len(opened)} of {desks} gates open {opened}, mean {mean:+.4f}")

    assert len(opened) <= max(1, desks * 0.04)  # all slices together: at most one in a hundred
    assert abs(mean) < 4 * error + 0.004


@pytest.mark.soak
@pytest.mark.parametrize("edge", [0.04, 0.07])
def test_a_planted_edge_opens_the_gate(edge: float) -> None:
    walks = [walk(9_000 + seed, 8_000, edge, 50) for seed in range(9)]
    looks = sorted(found.looks for found in walks)
    still = sum(found.opened_at is None for found in walks)
    printed(f"edge {edge:.0%}: gate open after {looks}, median {median(looks)}; {still} never")

    assert median(looks) < 8_000
