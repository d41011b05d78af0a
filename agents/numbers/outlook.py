"""A stake's numbers in one market, and what its range would have earned in the swaps that were."""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, pi, sqrt
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.numbers import fees
from agents.numbers.advice import expected_edge
from agents.numbers.edges import TICK_LOG, Edges, TickRange, edges_of
from agents.numbers.regime import daily_ticks
from agents.numbers.survival import HOURS_PER_DAY, RangeExit, mean_hours, range_exit

HOURS_PER_WEEK = 7 * HOURS_PER_DAY


def time_in_range(edges: Edges, daily_ticks: float, hours: float = HOURS_PER_DAY) -> float:
    """The expected share of the next hours with the price inside, from inside or outside."""
    if not daily_ticks > 0 or not hours > 0:
        raise ValueError("The share of time in range needs a volatility and a horizon above zero.")
    spread = daily_ticks * sqrt(hours / HOURS_PER_DAY)
    share = _share_below(edges.above / spread) - _share_below(-edges.below / spread)
    return min(1.0, max(0.0, share))


def _share_below(level: float) -> float:
    """The expected share of [0, 1] that a standard walk from 0 spends below this level."""
    if level < 0:
        return _share_beyond(-level)
    return 1 - _share_beyond(level)


def _share_beyond(distance: float) -> float:
    """½ ∫₀¹ erfc(a/√2t) dt = ½ (1 + a²) erfc(a/√2) − a e^(−a²/2)/√2π."""
    square = distance * distance
    tail = (1 + square) * erfc(distance / sqrt(2)) / 2
    return max(0.0, tail - distance * exp(-square / 2) / sqrt(2 * pi))


class PoolMarket(Struct, frozen=True):
    """What was measured of a pool; None is unknown."""

    price: float
    """As a tick with its fraction."""
    daily_sigma: float
    edge_7d: float | None
    """What the pool paid over what arbitrage took, in seven days."""
    fee_rate_7d: float | None
    """Fees a day for a dollar of full-range worth, over the same seven days."""
    active_worth: float | None
    """Full-range worth of the liquidity that earned them, in dollars."""
    others_worth: float | None
    """Of it without the person's own position."""
    unit1_value: float | None
    """What one smallest unit of currency1 is worth in dollars."""
    fee_low_factor: float = 1.0
    fee_high_factor: float = 1.0
    """One day in ten pays less than the one, and one more than the other, of what is expected."""
    week_low_factor: float = 1.0
    week_high_factor: float = 1.0
    """The same of a week's fees."""
    week_sigma: float | None = None
    """Deviation of a day's log return for the chance of seven days; None before 30 are known."""

    @property
    def fee_rate(self) -> float | None:
        """Expected: the week's, its edge drawn towards what pools usually pay."""
        if self.fee_rate_7d is None or not self.edge_7d:
            return self.fee_rate_7d
        return self.fee_rate_7d * expected_edge(self.edge_7d) / self.edge_7d

    @property
    def loss_rate(self) -> float:
        """What arbitrage takes a day of a dollar of full-range worth, by the week where known."""
        if self.fee_rate_7d and self.edge_7d:
            return self.fee_rate_7d / self.edge_7d
        return self.daily_sigma * self.daily_sigma / 8

    def at_multiples(self, *, volatility: float = 1.0, fees: float = 1.0) -> PoolMarket:
        """The same market at multiples of its volatility and of its fees."""
        edge, rate = self.edge_7d, self.fee_rate_7d
        return replace(
            self,
            daily_sigma=self.daily_sigma * volatility,
            week_sigma=None if self.week_sigma is None else self.week_sigma * volatility,
            edge_7d=None if edge is None else edge * fees / (volatility * volatility),
            fee_rate_7d=None if rate is None else rate * fees,
        )


class Stake(NamedTuple):
    """Liquidity in a range, held or proposed."""

    ticks: TickRange
    liquidity: int


class Net(NamedTuple):
    """What a stake is expected to bring in some hours, in dollars; None is unknown."""

    fees: float | None
    lvr: float | None

    @property
    def total(self) -> float | None:
        """Fees − LVR, what one stake is compared with another by."""
        return None if self.fees is None or self.lvr is None else self.fees - self.lvr


class Outlook(NamedTuple):
    edges: Edges
    exit: RangeExit
    in_range_share: float
    value: float | None
    fee_24h: float | None
    fee_low_24h: float | None
    fee_high_24h: float | None
    lvr_24h: float | None
    week: Net
    week_low: Net
    week_high: Net


def look_at(market: PoolMarket, stake: Stake) -> Outlook:
    """Everything a card shows of a stake, before costs."""
    edges = edges_of(market.price, stake.ticks)
    ticks_a_day = daily_ticks(market.daily_sigma)
    value = None
    if market.unit1_value is not None:
        value = fees.position_value(stake.liquidity, market.price, edges, market.unit1_value)
    day, week = (net_over(market, stake, hours) for hours in (HOURS_PER_DAY, HOURS_PER_WEEK))
    low, high = _fee_factors(market, market.fee_low_factor, market.fee_high_factor)
    week_ticks = None if market.week_sigma is None else daily_ticks(market.week_sigma)
    return Outlook(
        edges=edges,
        exit=range_exit(edges, ticks_a_day, week_ticks),
        in_range_share=time_in_range(edges, ticks_a_day),
        value=value,
        fee_24h=day.fees,
        fee_low_24h=_times(day.fees, low),
        fee_high_24h=_times(day.fees, high),
        lvr_24h=day.lvr,
        week=week,
        # Around what is expected: a week that paid unusually well says little of how the next
        # one strays, and a span around it would leave the expectation at its edge.
        week_low=week._replace(fees=_times(week.fees, market.week_low_factor)),
        week_high=week._replace(fees=_times(week.fees, market.week_high_factor)),
    )


def gain_over_hold(
    market: PoolMarket, hold: Stake | None, move: Stake, hours: float
) -> float | None:
    """Δ(fees − LVR) in so many hours of a move against HOLD, or against holding nothing."""
    moved = net_over(market, move, hours).total
    held = 0.0 if hold is None else net_over(market, hold, hours).total
    return None if moved is None or held is None else moved - held


def horizon_hours(market: PoolMarket, move: Stake) -> float:
    """For how long a move's gain is counted: its expected life, a week at most."""
    return min(expected_life_hours(market, move), HOURS_PER_WEEK)


def net_over(market: PoolMarket, stake: Stake, hours: float) -> Net:
    """Fees and LVR of the next hours, with the share of just these hours that is spent inside."""
    if market.unit1_value is None:
        return Net(None, None)
    if not hours:
        return Net(0.0, 0.0)
    edges = edges_of(market.price, stake.ticks)
    share = time_in_range(edges, daily_ticks(market.daily_sigma), hours)
    days = share * hours / HOURS_PER_DAY
    # From outside, both begin where the price comes back in.
    inside = min(max(market.price, stake.ticks.lower), stake.ticks.upper)
    worth = fees.full_range_value(stake.liquidity, inside, market.unit1_value)
    return Net(_fees(market, worth, days), market.loss_rate * worth * days)


def week_again(market: PoolMarket, week: Net) -> float | None:
    """A week's fees − LVR, if the pool paid just what it paid in the last."""
    if not week.fees or not market.fee_rate or market.fee_rate_7d is None:
        return week.total
    return week._replace(fees=week.fees * market.fee_rate_7d / market.fee_rate).total


def expected_life_hours(market: PoolMarket, stake: Stake) -> float:
    """The mean time to first exit."""
    return mean_hours(edges_of(market.price, stake.ticks), daily_ticks(market.daily_sigma), 0.0)


def _fees(market: PoolMarket, worth: float, days: float) -> float | None:
    """Own liquidity thins what the pool pays: fees stay what they were, and are shared by more."""
    rate, active, others = market.fee_rate, market.active_worth, market.others_worth
    if rate is None or active is None or others is None:
        return None
    return rate * worth * days * fees.dilute_rate(active, others, worth)


def _fee_factors(market: PoolMarket, low: float, high: float) -> tuple[float, float]:
    """The interval's ends as parts of what is expected.

    They were measured around the week's own figure; what is expected lies within them all the same.
    """
    if not market.fee_rate or market.fee_rate_7d is None:
        return 1.0, 1.0
    drawn = market.fee_rate_7d / market.fee_rate
    return min(1.0, low * drawn), max(1.0, high * drawn)


def _times(amount: float | None, factor: float) -> float | None:
    return None if amount is None else amount * factor


# Nothing is modelled: a range is taken along the way the price really went. Each step paid a unit
# of liquidity so much wherever the price passed through it; the range has its part of the step's
# way.
_HOUR = 3_600


class PathStep(NamedTuple):
    """A swap, or several in a row; roots are square roots of the price."""

    age: int
    """Seconds between its end and the end of the path."""
    opening: float
    close: float
    low: float
    high: float
    """The lowest and highest root on its way, its opening included."""
    fee_rate: float
    """What it paid for the full-range worth of liquidity it passed through, as a part of it."""
    liquidity: float
    """That it met, whoever held it."""


class RangeReplay(NamedTuple):
    """In units of currency1, over the whole path."""

    fees: float
    lvr: float
    """By the prices at the ends of hours: what the market took."""
    in_range_share: float
    """Of the way the price went."""
    steps: int

    @property
    def net(self) -> float:
        return self.fees - self.lvr


class _Roots(NamedTuple):
    lower: float
    upper: float


def replay_range(
    steps: Sequence[PathStep],
    stake: Stake,
    held: Stake | None = None,
    hourly: Sequence[float] | None = None,
) -> RangeReplay:
    """A stake along a path; `held` is what of the path's liquidity was the person's own.

    Where the stake is what was held its fees are its part of what was paid; any other would have
    shared with all who were there but the one it replaces. `hourly` are the path's `hourly_roots`,
    for whoever takes many stakes along it.
    """
    lower, upper = _roots(stake)
    left = None if held is None or held == stake else _roots(held)
    unchanged = stake == held
    fees = inside = way = 0.0
    for _, _, close, low, high, fee_rate, liquidity in steps:
        moved = high - low
        way += moved
        # Most steps are whole inside or outside: without a call this takes half the time.
        inner = lower <= low and high <= upper and low != high
        part = 1.0 if inner else share_of_way(low, high, lower, upper)
        if not part:
            continue
        inside += moved * part
        others = liquidity
        if held is not None and left is not None and left.lower <= close < left.upper:
            others = max(0.0, others - held.liquidity)
        # What a step paid in sum stays the same, and is shared by more.
        diluted = 1.0 if unchanged else _part_of(liquidity, others + stake.liquidity)
        fees += 2 * stake.liquidity * close * fee_rate * part * diluted
    return RangeReplay(
        fees=fees,
        lvr=loss_along(hourly_roots(steps) if hourly is None else hourly, stake),
        in_range_share=inside / way if way else 0.0,
        steps=len(steps),
    )


def share_of_way(low: float, high: float, lower: float, upper: float) -> float:
    """How much of the way between two prices lies in a range."""
    if low == high:
        return float(lower <= low < upper)
    if lower <= low and high <= upper:
        return 1.0
    if high <= lower or upper <= low:
        return 0.0
    return (min(high, upper) - max(low, lower)) / (high - low)


def _part_of(liquidity: float, whole: float) -> float:
    return liquidity / whole if whole else 0.0


def hourly_roots(steps: Sequence[PathStep]) -> tuple[float, ...]:
    """The root before the first step and at the end of each hour back from the path's end."""
    hours = [-(-step.age // _HOUR) for step in steps]
    ends = [
        step.close
        for step, hour, after in zip(steps, hours, hours[1:], strict=False)
        if hour != after
    ]
    return (steps[0].opening, *ends, steps[-1].close) if steps else ()


def loss_along(roots: Sequence[float], stake: Stake) -> float:
    """Each move loses L·(c₁ − c₀)·(s₁² − c₀c₁)/(c₀c₁), c being s held within the range."""
    lower, upper = _roots(stake)
    total, start = 0.0, min(max(roots[0], lower), upper) if roots else 0.0
    for root in roots[1:]:
        end = min(max(root, lower), upper)
        if end != start:
            total += (end - start) * (root * root - start * end) / (start * end)
            start = end
    return stake.liquidity * total


def _roots(stake: Stake) -> _Roots:
    return _Roots(exp(stake.ticks.lower * TICK_LOG / 2), exp(stake.ticks.upper * TICK_LOG / 2))
