"""Windows walked forward together: what is held, what it earned, and what acting cost."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from agents.backtest.advice_arrays import EXIT, HOLD, MOVE, expected_edges, some_of
from agents.backtest.hours import BarHours, Floats, Indices, PoolBars, bar_hours, window_starts
from agents.numbers.edges import TICK_LOG
from chain.base.units import BIPS, PIPS

# Fees of a bar are `fees_usd` × L/(L + the pool's L) × the share of the bar in range, which is
# the overlap of the range with low…high, by logarithm; a bar that never moved is in range or not.
# LVR is V(p₀) + x(p₀)·(p₁ − p₀) − V(p₁) from each hour's close to the next: finer steps would
# count noise that reverts as loss. Bars longer than an hour are steps of their own.
MOST_AT_ONCE = 1 << 18
"""Bars that are looked at together: more would leave the processor's cache."""


class BarSeries(NamedTuple):
    """Bars as the kernel takes them."""

    log_low: Floats
    log_high: Floats
    fees_usd: Floats
    pool_liquidity: Floats
    """L in the unit in which 2L√P is an amount of token1."""


class HeldRanges(NamedTuple):
    """A range for each window; no liquidity is no position."""

    lower: Floats
    """As a logarithm of price, as is `upper`."""
    upper: Floats
    root_lower: Floats
    """As a square root of price, as is `root_upper`."""
    root_upper: Floats
    liquidity: Floats


class Tokens(NamedTuple):
    """Amounts of both tokens."""

    amount0: Floats
    amount1: Floats

    def worth(self, price: Floats) -> Floats:
        """In token1."""
        return self.amount0 * price + self.amount1


class Earned(NamedTuple):
    fees_usd: Floats
    bars_inside: Floats


def bar_series(bars: PoolBars, token1_usd: float) -> BarSeries:
    liquidity = bars.liquidity_usd / (2 * np.sqrt(bars.price) * token1_usd)
    return BarSeries(np.log(bars.low), np.log(bars.high), bars.fees_usd, liquidity)


def held_ranges(lower: Floats, upper: Floats, liquidity: Floats) -> HeldRanges:
    return HeldRanges(lower, upper, np.exp(lower / 2), np.exp(upper / 2), liquidity)


def fees_earned(series: BarSeries, first: Indices, last: Indices, held: HeldRanges) -> Earned:
    """Fees and bars in range from each window's first bar up to, not with, its last."""
    longest = int((last - first).max(initial=0))
    rows = max(1, MOST_AT_ONCE // max(longest, 1))
    parts = [
        _earned(series, first[start : start + rows], last[start : start + rows], longest, part)
        for start in range(0, len(first), rows)
        for part in (HeldRanges(*(field[start : start + rows] for field in held)),)
    ]
    return Earned(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _earned(
    series: BarSeries, first: Indices, last: Indices, longest: int, held: HeldRanges
) -> Earned:
    bars = first[:, None] + np.arange(longest)
    absent = None
    if (last - first).min() < longest:
        absent = bars >= last[:, None]
        np.minimum(bars, len(series.fees_usd) - 1, out=bars)
    low, high = series.log_low[bars], series.log_high[bars]
    lower, upper = held.lower[:, None], held.upper[:, None]
    span = high - low
    inside = np.minimum(high, upper)
    inside -= np.maximum(low, lower)
    still = span <= 0
    if still.any():
        np.copyto(inside, (low >= lower) & (low < upper), where=still)
        span[still] = 1.0
    inside /= span
    np.maximum(inside, 0.0, out=inside)
    np.minimum(inside, 1.0, out=inside)
    own = held.liquidity[:, None]
    inside *= own > 0
    if absent is not None:
        inside[absent] = 0.0
    paid = series.pool_liquidity[bars]
    paid += own
    np.divide(own, paid, out=paid)
    paid *= series.fees_usd[bars]
    paid *= inside
    return Earned(paid.sum(axis=1), inside.sum(axis=1))


def realised_lvr(roots: Floats, held: HeldRanges) -> Floats:
    """In token1, along each row of roots of closes: Σ L·(c₁ − c₀)·(s₁² − c₀c₁)/(c₀c₁) ≥ 0."""
    clamped = np.maximum(roots, held.root_lower[:, None])
    np.minimum(clamped, held.root_upper[:, None], out=clamped)
    before, after = clamped[:, :-1], clamped[:, 1:]
    product = before * after
    lost = roots[:, 1:] ** 2
    lost -= product
    lost *= after - before
    lost /= product
    total: Floats = held.liquidity * lost.sum(axis=1)
    return total


def tokens_of(held: HeldRanges, root_price: Floats) -> Tokens:
    """Both tokens in each range, by the root of the price."""
    root = np.minimum(np.maximum(root_price, held.root_lower), held.root_upper)
    return Tokens(
        held.liquidity * (1 / root - 1 / held.root_upper), held.liquidity * (root - held.root_lower)
    )


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
    window_hours: int = 672
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
    expected_edge: Floats
    """At each hour's end."""


class Moment(NamedTuple):
    """What is known when a decision is asked for, an element a window."""

    place: int
    """Which of the window's decisions this is."""
    price: Floats
    root_price: Floats
    log_price: Floats
    sigma: Floats
    edge: Floats
    expected_edge: Floats
    risk: Floats
    """LVR a day of a dollar of full-range worth."""
    liquidity_usd: Floats


class WindowHoldings(NamedTuple):
    """Where each window stands; tokens are what is held outside of the pool."""

    held: HeldRanges
    outside: Tokens
    hours_since_action: Floats
    fees_usd: Floats
    lvr_usd: Floats
    costs_usd: Floats
    bars_inside: Floats

    def tokens(self, root_price: Floats) -> Tokens:
        """In the pool and outside, by the root of the price."""
        inside = tokens_of(self.held, root_price)
        return Tokens(inside.amount0 + self.outside.amount0, inside.amount1 + self.outside.amount1)


class Decided(NamedTuple):
    """An action for each window, and the range that a move goes to, as logarithms."""

    actions: npt.NDArray[np.int8]
    lower: Floats
    upper: Floats


Decider: TypeAlias = Callable[[Moment, WindowHoldings], Decided]


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
        expected_edges(hours.edge),
    )


def decision_hours(terms: BacktestTerms) -> range:
    """The hours of a window at which a decision is asked for."""
    return range(0, terms.window_hours, terms.every_hours)


def moment_at(track: Track, place: int, hour: int) -> Moment:
    at = track.starts + hour
    price = track.closes[at]
    return Moment(
        place,
        price,
        np.sqrt(price),
        np.log(price),
        track.hours.sigma[at],
        track.hours.edge[at],
        track.expected_edge[at],
        track.hours.risk[at],
        track.hours.liquidity_usd[at],
    )


def snap_edges(log_price: Floats, half_width: Floats, spacing: int) -> tuple[Floats, Floats]:
    """Edges on whole tick spacings nearest to a centred range, none narrower than one spacing."""
    tick = log_price / TICK_LOG
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
    start = _opened(first_range, opening, terms)
    holdings = start
    asked = decision_hours(terms)
    hours = [*asked, terms.window_hours] if decide else [0, terms.window_hours]
    actions = np.zeros((len(track.starts), len(asked)), dtype=np.int8)
    for place, (hour, until) in enumerate(pairwise(hours)):
        if decide is not None:
            moment = moment_at(track, place, hour)
            decided = decide(moment, holdings)
            holdings, actions[:, place] = _acted(holdings, decided, moment, terms)
        holdings = _passed(track, holdings, hour, until, terms.token1_usd)
    closing = track.closes[track.starts + terms.window_hours]
    held_on = start.tokens(opening.root_price).worth(closing)
    ended = holdings.tokens(np.sqrt(closing)).worth(closing)
    return PolicyRun(
        holdings.fees_usd - holdings.lvr_usd - holdings.costs_usd,
        (ended - held_on) * terms.token1_usd + holdings.fees_usd,
        holdings.costs_usd,
        holdings.bars_inside / _bar_counts(track, terms),
        actions,
    )


def move_cost(swapped: Floats, terms: BacktestTerms) -> Floats:
    """In dollars, of a move that swaps so much token1."""
    return swapped * (terms.token1_usd * terms.swap_cost) + terms.gas_usd


def units_of(edges: tuple[Floats, Floats], root_price: Floats) -> tuple[HeldRanges, Tokens]:
    """Liquidity of one in each range, and what it takes."""
    per_unit = held_ranges(*edges, np.ones_like(root_price))
    return per_unit, tokens_of(per_unit, root_price)


def swap_needed(tokens: Tokens, unit: Tokens, price: Floats) -> Floats:
    """How much, in token1, changes its token when everything goes into ranges of such units."""
    share1 = unit.amount1 / unit.worth(price)
    return np.abs(share1 * tokens.worth(price) - tokens.amount1)


def _opened(edges: tuple[Floats, Floats], opening: Moment, terms: BacktestTerms) -> WindowHoldings:
    none = np.zeros_like(opening.price)
    # Each is added to where it lies.
    fees, lvr, bars = (np.zeros_like(none) for _ in range(3))
    per_unit, unit = units_of(edges, opening.root_price)
    held = per_unit._replace(liquidity=terms.capital / terms.token1_usd / unit.worth(opening.price))
    never = np.full_like(none, np.inf)
    return WindowHoldings(held, Tokens(none, none), never, fees, lvr, none, bars)


def _acted(
    holdings: WindowHoldings, decided: Decided, moment: Moment, terms: BacktestTerms
) -> tuple[WindowHoldings, npt.NDArray[np.int8]]:
    """What is held after the actions, and which of them could be paid for."""
    if not decided.actions.any():
        return holdings, decided.actions
    price = moment.price
    tokens = holdings.tokens(moment.root_price)
    present = tokens.worth(price)
    per_unit, unit = units_of((decided.lower, decided.upper), moment.root_price)
    swapping = np.where(decided.actions == MOVE, swap_needed(tokens, unit, price), 0.0)
    cost = np.where(decided.actions == HOLD, 0.0, move_cost(swapping, terms))
    # Whatever is left of the worth stays in the same proportion of tokens, or is minted.
    left = 1 - cost / (terms.token1_usd * present)
    actions = np.where(left > 0, decided.actions, np.int8(HOLD))
    cost = np.where(left > 0, cost, 0.0)
    moves, exits = actions == MOVE, actions == EXIT
    old, outside = holdings.held, holdings.outside
    minted = per_unit._replace(liquidity=left * present / unit.worth(price))
    emptied = old._replace(liquidity=np.where(exits, 0.0, old.liquidity))
    after = holdings._replace(
        held=HeldRanges(
            *(np.where(moves, new, kept) for new, kept in zip(minted, emptied, strict=True))
        ),
        outside=Tokens(
            *(
                np.where(moves, 0.0, np.where(exits, left * amount, kept))
                for amount, kept in zip(tokens, outside, strict=True)
            )
        ),
        hours_since_action=np.where(moves | exits, 0.0, holdings.hours_since_action),
        costs_usd=holdings.costs_usd + cost,
    )
    return after, actions


def _passed(
    track: Track, holdings: WindowHoldings, hour: int, until: int, token1_usd: float
) -> WindowHoldings:
    """The same holdings some hours later."""
    later = holdings._replace(hours_since_action=holdings.hours_since_action + (until - hour))
    # Whoever has left earns and loses nothing.
    places = np.flatnonzero(holdings.held.liquidity > 0)
    if not places.size:
        return later
    held, starts = some_of(holdings.held, places), track.starts[places]
    bars = track.hours.last_bar
    first, last = bars[starts + hour] + 1, bars[starts + until] + 1
    gained = fees_earned(track.series, first, last, held)
    roots = np.sqrt(track.closes[starts[:, None] + np.arange(hour, until + 1)])
    holdings.fees_usd[places] += gained.fees_usd
    holdings.lvr_usd[places] += realised_lvr(roots, held) * token1_usd
    holdings.bars_inside[places] += gained.bars_inside
    return later


def _bar_counts(track: Track, terms: BacktestTerms) -> Floats:
    last = track.hours.last_bar
    counts = last[track.starts + terms.window_hours] - last[track.starts]
    floats: Floats = np.maximum(counts, 1).astype(np.float64)
    return floats
