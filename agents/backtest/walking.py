"""Windows walked forward together: what is held, what it earned, and what acting cost."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from agents.backtest.advice_arrays import EXIT, MOVE
from agents.backtest.holding import HeldRanges, bar_series, earned, realised_lvr, tokens_of
from agents.backtest.hours import bar_hours, window_starts
from agents.numbers.edges import TICK_LOG
from chain.base.units import BIPS, PIPS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from agents.backtest.bars import Floats, Indices, PoolBars
    from agents.backtest.holding import BarSeries
    from agents.backtest.hours import BarHours


class BacktestTerms(Struct, frozen=True):
    """What acting costs and how often it is asked for."""

    fee_pips: int = 500
    tick_spacing: int = 10
    capital: float = 10_000
    gas_usd: float = 0.05
    """Of one action, all its transactions together."""
    slippage_bp: float = 5
    """Of what is swapped, beside the pool's fee: impact, and minting at the moved price."""
    every_hours: int = 4
    window_hours: int = 168
    token1_usd: float = 1.0

    @property
    def swap_cost(self) -> float:
        """Of each dollar that is swapped."""
        return self.fee_pips / PIPS + self.slippage_bp / BIPS


class Track(NamedTuple):
    """Bars ready to be walked: by the hour, for the kernel, and where windows start."""

    series: BarSeries
    hours: BarHours
    closes: Floats
    """The price at each hour's end."""
    starts: Indices
    broken_windows: int
    bars: int
    """In all windows together."""


class Moment(NamedTuple):
    """What is known when a decision is asked for, an element a window."""

    place: int
    """Which of the window's decisions this is."""
    price: Floats
    sigma: Floats
    edge: Floats
    liquidity_usd: Floats


class Holdings(NamedTuple):
    """Where each window stands; tokens are what is held outside of the pool."""

    held: HeldRanges
    tokens0: Floats
    tokens1: Floats
    hours_since_action: Floats
    fees_usd: Floats
    lvr_usd: Floats
    costs_usd: Floats
    bars_inside: Floats


class Decided(NamedTuple):
    """An action for each window, and the range that a move goes to, as logarithms."""

    actions: npt.NDArray[np.int8]
    lower: Floats
    upper: Floats


if TYPE_CHECKING:
    Decider: TypeAlias = Callable[[Moment, Holdings], Decided]


class PolicyRun(NamedTuple):
    """How each window ended, in dollars of the capital."""

    hedged: Floats
    """Fees − LVR − costs."""
    unhedged: Floats
    """Against holding the tokens it started with."""
    costs: Floats
    in_range: Floats
    actions: npt.NDArray[np.int8]
    """By window and decision."""


def make_track(bars: PoolBars, terms: BacktestTerms) -> Track:
    hours = bar_hours(bars)
    starts = window_starts(hours, terms.window_hours)
    ends = starts.hours + terms.window_hours
    return Track(
        bar_series(bars, terms.token1_usd),
        hours,
        bars.price[np.maximum(hours.last_bar, 0)],
        starts.hours,
        starts.broken,
        int((hours.last_bar[ends] - hours.last_bar[starts.hours]).sum()),
    )


def decision_hours(terms: BacktestTerms) -> range:
    """The hours of a window at which a decision is asked for."""
    return range(0, terms.window_hours, terms.every_hours)


def moment_at(track: Track, place: int, hour: int) -> Moment:
    at = track.starts + hour
    hours = track.hours
    return Moment(place, track.closes[at], hours.sigma[at], hours.edge[at], hours.liquidity_usd[at])


def snapped(price: Floats, half_width: Floats, spacing: int) -> tuple[Floats, Floats]:
    """Edges on whole tick spacings nearest to a centred range, none narrower than one spacing."""
    tick = np.log(price) / TICK_LOG
    half = np.maximum(half_width / TICK_LOG, spacing)
    lower = np.rint((tick - half) / spacing) * spacing
    upper = np.rint((tick + half) / spacing) * spacing
    return lower * TICK_LOG, upper * TICK_LOG


def walk(
    track: Track,
    terms: BacktestTerms,
    first_range: tuple[Floats, Floats],
    decide: Decider | None = None,
) -> PolicyRun:
    """Every window from its first range on; without a decider nothing is ever touched."""
    opening = moment_at(track, 0, 0)
    start = _opened(first_range, opening.price, terms)
    holdings = start
    asked = decision_hours(terms)
    hours = [*asked, terms.window_hours] if decide else [0, terms.window_hours]
    actions = np.zeros((len(track.starts), len(asked)), dtype=np.int8)
    for place, (hour, until) in enumerate(pairwise(hours)):
        if decide is not None:
            moment = moment_at(track, place, hour)
            decided = decide(moment, holdings)
            holdings = _acted(holdings, decided, moment.price, terms)
            actions[:, place] = decided.actions
        holdings = _passed(track, holdings, hour, until, terms.token1_usd)
    closing = track.closes[track.starts + terms.window_hours]
    kept0, kept1 = tokens_of(start.held, opening.price)
    held_on = kept0 * closing + kept1
    ended = worth(holdings, closing)
    return PolicyRun(
        holdings.fees_usd - holdings.lvr_usd - holdings.costs_usd,
        (ended - held_on) * terms.token1_usd + holdings.fees_usd,
        holdings.costs_usd,
        holdings.bars_inside / _bar_counts(track, terms),
        actions,
    )


def worth(holdings: Holdings, price: Floats) -> Floats:
    """In token1, in the pool and outside."""
    inside0, inside1 = tokens_of(holdings.held, price)
    return (inside0 + holdings.tokens0) * price + inside1 + holdings.tokens1


def swap_needed(holdings: Holdings, price: Floats, lower: Floats, upper: Floats) -> Floats:
    """How much, in token1, changes its token when everything goes into a new range."""
    unit0, unit1 = tokens_of(HeldRanges(lower, upper, np.ones_like(price)), price)
    share1 = unit1 / (unit0 * price + unit1)
    _, inside1 = tokens_of(holdings.held, price)
    return np.abs(share1 * worth(holdings, price) - inside1 - holdings.tokens1)


def move_cost(swapped: Floats, terms: BacktestTerms) -> Floats:
    """In dollars, of a move that swaps so much token1."""
    return swapped * terms.token1_usd * terms.swap_cost + terms.gas_usd


def _opened(edges: tuple[Floats, Floats], price: Floats, terms: BacktestTerms) -> Holdings:
    none = np.zeros_like(price)
    capital = np.full_like(price, terms.capital / terms.token1_usd)
    held = _minted(edges, price, capital)
    return Holdings(held, none, none, np.full_like(price, np.inf), none, none, none, none)


def _minted(edges: tuple[Floats, Floats], price: Floats, worth1: Floats) -> HeldRanges:
    one = HeldRanges(*edges, np.ones_like(price))
    unit0, unit1 = tokens_of(one, price)
    return one._replace(liquidity=worth1 / (unit0 * price + unit1))


def _acted(holdings: Holdings, decided: Decided, price: Floats, terms: BacktestTerms) -> Holdings:
    moves, exits = decided.actions == MOVE, decided.actions == EXIT
    if not (moves | exits).any():
        return holdings
    cost = _costs(holdings, decided, price, terms)
    rest = np.maximum(worth(holdings, price) - cost / terms.token1_usd, 0.0)
    minted = _minted((decided.lower, decided.upper), price, rest)
    left0, left1 = _left(holdings, price, terms)
    old = holdings.held
    return holdings._replace(
        held=HeldRanges(
            np.where(moves, minted.lower, old.lower),
            np.where(moves, minted.upper, old.upper),
            np.where(moves, minted.liquidity, np.where(exits, 0.0, old.liquidity)),
        ),
        tokens0=np.where(moves, 0.0, np.where(exits, left0, holdings.tokens0)),
        tokens1=np.where(moves, 0.0, np.where(exits, left1, holdings.tokens1)),
        hours_since_action=np.where(moves | exits, 0.0, holdings.hours_since_action),
        costs_usd=holdings.costs_usd + cost,
    )


def _costs(holdings: Holdings, decided: Decided, price: Floats, terms: BacktestTerms) -> Floats:
    swapped = swap_needed(holdings, price, decided.lower, decided.upper)
    leaving = np.where(decided.actions == EXIT, terms.gas_usd, 0.0)
    return np.where(decided.actions == MOVE, move_cost(swapped, terms), leaving)


def _left(holdings: Holdings, price: Floats, terms: BacktestTerms) -> tuple[Floats, Floats]:
    """Both tokens after leaving, the gas taken from both alike."""
    inside0, inside1 = tokens_of(holdings.held, price)
    before = worth(holdings, price)
    kept = np.maximum(1 - terms.gas_usd / terms.token1_usd / before, 0.0)
    return (inside0 + holdings.tokens0) * kept, (inside1 + holdings.tokens1) * kept


def _passed(track: Track, holdings: Holdings, hour: int, until: int, token1_usd: float) -> Holdings:
    """The same holdings some hours later."""
    bars = track.hours.last_bar + 1
    gained = earned(
        track.series, bars[track.starts + hour], bars[track.starts + until], holdings.held
    )
    closes = track.closes[track.starts[:, None] + np.arange(hour, until + 1)]
    return holdings._replace(
        hours_since_action=holdings.hours_since_action + (until - hour),
        fees_usd=holdings.fees_usd + gained.fees_usd,
        lvr_usd=holdings.lvr_usd + realised_lvr(closes, holdings.held) * token1_usd,
        bars_inside=holdings.bars_inside + gained.bars_inside,
    )


def _bar_counts(track: Track, terms: BacktestTerms) -> Floats:
    last = track.hours.last_bar
    counts = last[track.starts + terms.window_hours] - last[track.starts]
    floats: Floats = np.maximum(counts, 1).astype(np.float64)
    return floats
