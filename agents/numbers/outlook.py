"""A stake's numbers in one market: life, share of time in range, fees and LVR of the next 24 h."""

from __future__ import annotations

from math import erfc, exp, pi, sqrt
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.numbers import fees
from agents.numbers.edges import Edges, TickRange, edges_of
from agents.numbers.regime import daily_ticks
from agents.numbers.survival import HOURS_PER_DAY, RangeExit, mean_hours, range_exit


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
    others_liquidity: int
    """Active liquidity without the person's own position."""
    pool_fees_24h: float | None
    """What all providers earned in the last 24 h, in the unit values are told in."""
    unit1_value: float | None
    """What one smallest unit of currency1 is worth in it."""

    def stressed(self, multiple: float) -> PoolMarket:
        """The same market at another multiple of its volatility, trading as much as before."""
        return replace(self, daily_sigma=self.daily_sigma * multiple)


class Stake(NamedTuple):
    """Liquidity in a range, held or proposed."""

    ticks: TickRange
    liquidity: int


class Outlook(NamedTuple):
    edges: Edges
    exit: RangeExit
    in_range_share: float
    value: float | None
    fee_24h: float | None
    lvr_24h: float | None

    @property
    def net_24h(self) -> float | None:
        """Fees − LVR, what one stake is compared with another by."""
        if self.fee_24h is None or self.lvr_24h is None:
            return None
        return self.fee_24h - self.lvr_24h


def look_at(market: PoolMarket, stake: Stake) -> Outlook:
    """Everything a card shows of a stake, before costs."""
    edges = edges_of(market.price, stake.ticks)
    ticks_a_day = daily_ticks(market.daily_sigma)
    share = time_in_range(edges, ticks_a_day)
    value = None
    if market.unit1_value is not None:
        value = fees.position_value(stake.liquidity, market.price, edges, market.unit1_value)
    return Outlook(
        edges=edges,
        exit=range_exit(edges, ticks_a_day),
        in_range_share=share,
        value=value,
        fee_24h=_fee_24h(market, stake, share),
        lvr_24h=_lvr_24h(market, stake, share),
    )


def gain_over_hold(market: PoolMarket, hold: Stake | None, move: Stake) -> float | None:
    """Δ(fees − LVR) over 24 h of a move against HOLD, or against holding nothing."""
    moved = net_24h(market, move)
    held = 0.0 if hold is None else net_24h(market, hold)
    return None if moved is None or held is None else moved - held


def net_24h(market: PoolMarket, stake: Stake) -> float | None:
    """Fees − LVR alone, for callers that ask it of many markets."""
    share = time_in_range(edges_of(market.price, stake.ticks), daily_ticks(market.daily_sigma))
    fee, lvr = _fee_24h(market, stake, share), _lvr_24h(market, stake, share)
    return None if fee is None or lvr is None else fee - lvr


def expected_life_hours(market: PoolMarket, stake: Stake) -> float:
    """The mean time to first exit, over which a move's gain is counted."""
    return mean_hours(edges_of(market.price, stake.ticks), daily_ticks(market.daily_sigma))


def _fee_24h(market: PoolMarket, stake: Stake, share: float) -> float | None:
    if market.pool_fees_24h is None:
        return None
    return fees.fee_yield_24h(market.pool_fees_24h, stake.liquidity, market.others_liquidity, share)


def _lvr_24h(market: PoolMarket, stake: Stake, share: float) -> float | None:
    if market.unit1_value is None:
        return None
    # From outside, LVR begins where the price comes back in.
    inside = min(max(market.price, stake.ticks.lower), stake.ticks.upper)
    worth = fees.full_range_value(stake.liquidity, inside, market.unit1_value)
    return fees.lvr_24h(worth, market.daily_sigma, share)
