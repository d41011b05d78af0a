"""The last day, drawn from the swaps of the pools: prices, worth, and what each hour brought."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import DAY, HOUR, Unknown
from chain.contracts.networks import NATIVE, Address, Network
from chain.history.hours import PoolHours, hour_of
from chain.history.volatility import PricePoint
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import HourlyPrices, HourPrices, liquidity_in, worth
from chain.positions.overview import Overview
from chain.positions.performance import PATH_STEP, DailyResult, Performance
from chain.prices.price import PriceBook, WorthUnit
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens import listed_token
from chain.tokens.pair import pair_of
from chain.tokens.token import Token, TokenClass
from zuno_tui.present.charts import range_chart
from zuno_tui.present.glance import EtherSample
from zuno_tui.present.views import ChartView

_STEPS_AN_HOUR = HOUR // PATH_STEP
_ENDS = 2
MILLION = 10**6
Course = tuple[float, ...]
"""A price hour by hour as parts of what it is now, the newest first."""


def day_charts(
    network: Network, overview: Overview, daily: Mapping[PositionRef, DailyResult]
) -> dict[PositionRef, ChartView]:
    """By token id the price of the last day with the range across it."""
    charts = (
        (position.ref, _chart(network, overview, position, daily[position.ref]))
        for position in overview.wallet.positions
        if position.ref in daily
    )
    return {ref: chart for ref, chart in charts if chart is not None}


def _chart(
    network: Network, overview: Overview, snapshot: PositionSnapshot, daily: DailyResult
) -> ChartView | None:
    key = snapshot.pool.key
    tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
    pair = pair_of(network, *tokens, snapshot.pool.sqrt_price_x96)
    points = [(each.time, each.sqrt_price_x96) for each in daily.path]
    chart, price = range_chart(pair, snapshot.identity, points), _price(overview, snapshot)
    if chart is None or price is None:
        return chart
    return replace(
        chart, fees=tuple((float(hour.begin), hour.fees * price) for hour in daily.closed)
    )


def ether_day(
    network: Network, overview: Overview, daily: Mapping[PositionRef, DailyResult]
) -> tuple[EtherSample, ...]:
    """What an ether was worth at each hour before, oldest first, as the pools that are held tell.

    Nothing where they do not lead to dollars.
    """
    held = [
        HeldCourse(position, daily[position.ref].path[::-_STEPS_AN_HOUR])
        for position in overview.wallet.positions
        if position.liquidity and position.ref in daily and _price(overview, position) is not None
    ]
    course = dollar_courses(network, held).get(NATIVE, ())
    price, now = overview.prices.ether, overview.wallet.block.timestamp
    if isinstance(price, Unknown):
        return ()
    return tuple(
        EtherSample(now - back * HOUR, float(price.value) * course[back])
        for back in range(len(course) - 1, 0, -1)
    )


class HourGain(Struct, frozen=True):
    """What one closed hour brought one position, in millionths of the unit the desk counts in."""

    begin: int
    ref: PositionRef
    fees: int
    moved: int
    """By how much prices changed its worth: what was put in or taken out is no gain."""


def closed_hours(
    network: Network, overview: Overview, performance: Performance
) -> tuple[HourGain, ...]:
    """The last 24 closed hours of every position that can be followed to the unit."""
    end = hour_of(overview.wallet.block.timestamp)
    held = [
        HeldCourse(position, _closings(performance.hours[position.pool.pool_id], end))
        for position in overview.wallet.positions
        if _price(overview, position) is not None
        and not performance.hours[position.pool.pool_id].unread
    ]
    courses = dollar_courses(network, held)
    each = courses.get(NATIVE, ()) if overview.portfolio.unit is WorthUnit.ETH else None
    return tuple(
        gain
        for held_snapshot in held
        for gain in _hour_gains(
            network, overview, performance, held_snapshot, courses=courses, ether=each
        )
    )


class PastPrices(Struct, frozen=True):
    """What tokens were worth hour by hour, as far as the pools that were read lead to dollars."""

    network: Network
    book: PriceBook
    now: int
    courses: Mapping[Address, Course]
    """The first is now, the second the end of the last closed hour."""

    def of(self, token: Token) -> HourlyPrices:
        """For hours that no pool tells of, as it is worth now."""
        if token.decimals is None:
            return HourlyPrices()
        native = _unwrapped(self.network, token.address)
        dollars, ether = self.courses.get(native, ()), self.courses.get(NATIVE, ())
        in_ether = tuple(part / each for part, each in zip(dollars, ether, strict=False))
        return HourlyPrices(
            self._hourly(token, token.decimals, WorthUnit.USD, dollars),
            self._hourly(token, token.decimals, WorthUnit.ETH, in_ether),
        )

    def _hourly(self, token: Token, decimals: int, unit: WorthUnit, course: Course) -> HourPrices:
        price = self.book.price(token.address, unit)
        if isinstance(price, Unknown):
            return HourPrices({})
        now = float(price.value / 10**decimals)
        last = hour_of(self.now)
        return HourPrices({last - at * HOUR: now * part for at, part in enumerate(course)}, now)


def past_prices(
    network: Network,
    book: PriceBook,
    now: int,
    pools: Sequence[tuple[PositionSnapshot, PoolHours]],
) -> PastPrices:
    end = hour_of(now)
    held = [
        HeldCourse(
            snapshot,
            (
                PricePoint(now, snapshot.pool.sqrt_price_x96),
                *_closings(hours, end, max(0, (end - hours.since) // HOUR)),
            ),
        )
        for snapshot, hours in pools
        if not hours.unread
    ]
    return PastPrices(network, book, now, dollar_courses(network, held))


def _closings(hours: PoolHours, end: int, count: int = DAY // HOUR) -> tuple[PricePoint, ...]:
    """Where the price stood at the end of each closed hour of a day and before it, newest first."""
    begins = [row.hour for row in hours.rows]
    opening = hours.opening or next((row.low for row in hours.rows), 0)
    if not opening:
        return ()
    times = [end - back * HOUR for back in range(count + 1)]
    return tuple(
        PricePoint(at, hours.rows[place - 1].close if place else opening)
        for at in times
        for place in (bisect_left(begins, at),)
    )


def _hour_gains(
    network: Network,
    overview: Overview,
    performance: Performance,
    followed: HeldCourse,
    *,
    courses: Mapping[Address, Course],
    ether: Course | None,
) -> Iterator[HourGain]:
    snapshot, identity = followed.snapshot, followed.snapshot.identity
    changes = performance.accounts[snapshot.ref].changes
    price, course = _price(overview, snapshot), courses.get(_currencies(network, snapshot)[1], ())
    points = min(
        len(course), len(followed.hourly), DAY // HOUR + 1 if ether is None else len(ether)
    )
    if price is None or not changes or points < _ENDS:
        return
    edges = sqrt_price_at_tick(identity.tick_lower), sqrt_price_at_tick(identity.tick_upper)
    paid = {hour.begin: hour.fees for hour in performance.daily[snapshot.ref].closed}
    parts = [part / (1 if ether is None else ether[at]) for at, part in enumerate(course[:points])]
    for later, earlier in pairwise(range(points)):
        begin = followed.hourly[earlier].time
        liquidity = liquidity_in(changes, begin, begin + HOUR)
        ends = [
            float(worth(amounts_for_liquidity(at, *edges, liquidity, round_up=False), at))
            * parts[place]
            for place in (later, earlier)
            for at in (followed.hourly[place].sqrt_price_x96,)
        ]
        if liquidity > 0:
            fees = paid.get(begin, 0) * price * parts[later]
            moved = (ends[0] - ends[1]) * price
            yield HourGain(begin, snapshot.ref, round(fees * MILLION), round(moved * MILLION))


class HeldCourse(NamedTuple):
    snapshot: PositionSnapshot
    hourly: Sequence[PricePoint]
    """The newest first."""

    @property
    def course(self) -> Course:
        """Of currency0 in currency1."""
        now = self.hourly[0].sqrt_price_x96 if self.hourly else 1
        return tuple((point.sqrt_price_x96 / now) ** 2 for point in self.hourly)


def dollar_courses(network: Network, held: Sequence[HeldCourse]) -> dict[Address, Course]:
    """By token what became of its price in dollars, as far as the held pools lead to dollars.

    Of several pools of a pair the deepest says it, as it says the price of now.
    """
    longest = max((len(followed.hourly) for followed in held), default=0)
    deepest = sorted(held, key=lambda followed: -followed.snapshot.pool.liquidity)
    links = [(*_currencies(network, followed.snapshot), followed.course) for followed in deepest]
    tokens = dict.fromkeys(token for link in links for token in link[:2])
    known: dict[Address, Course] = {
        token: (1.0,) * longest for token in tokens if _is_dollar(network, token)
    }
    # Each round leads one pool farther from the dollars: the shortest way is the one that counts.
    for _ in tokens:
        nearer = dict(known)
        for token0, token1, course in links:
            if token1 in nearer and token0 not in known:
                known[token0] = tuple(a * b for a, b in zip(course, nearer[token1], strict=False))
            elif token0 in nearer and token1 not in known:
                known[token1] = tuple(b / a for a, b in zip(course, nearer[token0], strict=False))
    return known


def _price(overview: Overview, snapshot: PositionSnapshot) -> float | None:
    """What the smallest unit of currency1 is worth now."""
    token = overview.tokens[snapshot.pool.key.currency1]
    price = overview.prices.price(token.address, overview.portfolio.unit)
    if isinstance(price, Unknown) or token.decimals is None:
        return None
    whole: int = 10**token.decimals
    return float(price.value) / whole


def _currencies(network: Network, snapshot: PositionSnapshot) -> tuple[Address, Address]:
    """Wrapped and unwrapped the coin is worth the same."""
    key = snapshot.pool.key
    return _unwrapped(network, key.currency0), _unwrapped(network, key.currency1)


def _unwrapped(network: Network, token: Address) -> Address:
    return NATIVE if token == network.wrapped_native else token


def _is_dollar(network: Network, token: Address) -> bool:
    listed = listed_token(network, token)
    return listed is not None and listed.kind is TokenClass.DOLLAR
