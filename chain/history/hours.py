"""A pool's swaps by the hour, and those of its last day one by one.

A busy pool has half a million swaps a week: what is kept of them is a row for each hour of the
calendar in which anybody swapped. Rates are floats: they estimate what a range earns, and are never
paid to anybody. Fees are whole units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from math import log
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import DAY, HOUR, PIPS
from chain.contracts.pool_key import PoolId
from chain.history.events import FeeTerms, LogProof, fees_of_swap, protocol_fee_of
from chain.math.ticks import MAX_TICK, MIN_TICK, estimated_tick, sqrt_price_at_tick
from chain.protocols.past import SwapEvent
from chain.rpc.records import Block

# Ranges begin and end at multiples of a pool's tick spacing. What is kept between two such ticks is
# what a unit of liquidity between them was paid: exact for every range there can be, however often
# the price crossed its edge within the hour.
_ROOT_ONE = float(1 << 96)
_MOST_ROUNDED = 3
"""Units by which the fee of one swap is rounded up at most: one, and one for each tick it crosses;
few swaps cross more than two."""


class RecentSwap(Struct, frozen=True):
    """A swap without the names of those who made it."""

    block_number: int
    time: int
    time_estimated: bool
    """Whether the time is interpolated between blocks whose time was read."""
    zero_for_one: bool
    amount_in: int
    """Units paid, fee included, of the currency the direction names."""
    sqrt_price_x96: int
    """After the swap; so is the liquidity."""
    liquidity: int
    fee: int
    """Pips of the input, liquidity providers' and protocol's together."""


class HourRow(Struct, frozen=True, array_like=True):
    """All swaps of one hour; prices are square roots as the contract keeps them."""

    hour: int
    """When it began, Unix seconds."""
    close: int
    low: int
    high: int
    """Of the prices after each swap."""
    fees0: int
    """What liquidity providers were paid, the protocol's part left out; so is `fees1`."""
    fees1: int
    growth0: float
    """What one unit of liquidity earned wherever the price went, by how far each swap moved it;
    so is `growth1`."""
    growth1: float
    fee_rate: float
    """What the full-range worth of liquidity earned of itself: Σ f/(1 − f) · ½|Δ ln √P|, f the fee.

    A unit of liquidity is worth 2√P and is paid f/(1 − f) of the √P it sells, whatever else is
    there. Where the price before is unknown, or the swap ended where nobody provides, it is
    fee/(2·L·√P) by the liquidity after the swap, or else before it.
    """
    swaps: int
    estimated: int
    """How many of them have a time that is interpolated and not read."""
    path: FeePath = ()
    """Where the price went when they were paid."""

    def join(self, later: HourRow) -> HourRow:
        """This row and one of later swaps of the same hour."""
        return HourRow(
            self.hour,
            later.close,
            min(self.low, later.low),
            max(self.high, later.high),
            self.fees0 + later.fees0,
            self.fees1 + later.fees1,
            self.growth0 + later.growth0,
            self.growth1 + later.growth1,
            self.fee_rate + later.fee_rate,
            self.swaps + later.swaps,
            self.estimated + later.estimated,
            joined_path((*self.path, *later.path)),
        )


class PaidFees(NamedTuple):
    """What one swap paid to providers, in all and for each unit of liquidity it met."""

    fees0: int
    fees1: int
    growth0: float
    growth1: float
    rate: float
    path: Sequence[PaidPiece]
    """Where along the price the growth was."""


class PoolHours(Struct, frozen=True):
    """What happened in a pool up to a block: nothing left out since `since`."""

    pool_id: PoolId
    since: int
    """The time from which on every swap is counted."""
    last: Block
    rows: tuple[HourRow, ...]
    """Hours in which somebody swapped, oldest first."""
    recent: tuple[RecentSwap, ...]
    """Every swap since `recent_since`, which is a full hour and over a day ago."""
    recent_since: int
    unread: str = ""
    """Why nothing is known of its swaps, where nothing is."""
    terms: FeeTerms | None = None
    """How the fees of the recent swaps were shared."""
    opening: int = 0
    """The price before the first row; zero where the node has no state of that time."""

    def last_day(self) -> tuple[RecentSwap, ...]:
        """The swaps of the last 24 hours to the second."""
        begin = self.last.timestamp - DAY
        return tuple(swap for swap in self.recent if swap.time > begin)

    @property
    def swaps(self) -> int:
        return sum(row.swaps for row in self.rows)


def hour_of(time: int) -> int:
    """When the hour began that this time lies in."""
    return time - time % HOUR


def recent_since(end: int) -> int:
    """From when on swaps are kept one by one, at a time: whoever finds the block of a day ago
    finds one that is a little earlier."""
    return hour_of(end - DAY - HOUR)


def recent_swap(swap: SwapEvent, time: int, *, estimated: bool) -> RecentSwap:
    return RecentSwap(
        swap.place.block_number,
        time,
        estimated,
        swap.zero_for_one,
        swap.amount_in,
        swap.sqrt_price_x96,
        swap.liquidity,
        swap.fee,
    )


class PoolMoment(NamedTuple):
    """A pool before a swap; zero is unknown."""

    sqrt_price_x96: int = 0
    liquidity: int = 0

    def after(self, swap: RecentSwap) -> PoolMoment:
        return PoolMoment(swap.sqrt_price_x96, swap.liquidity or self.liquidity)


NOTHING_BEFORE = PoolMoment()


def paid_fees(swap: RecentSwap, terms: FeeTerms, before: PoolMoment) -> PaidFees:
    fees = fees_of_swap(swap, terms)
    liquidity = swap.liquidity or before.liquidity
    root = swap.sqrt_price_x96 / _ROOT_ONE
    met0, met1 = (
        (fees.providers0 / liquidity, fees.providers1 / liquidity) if liquidity else (0.0, 0.0)
    )
    rate = (met0 * root + met1 / root) / 2
    if not before.sqrt_price_x96 or swap.fee >= PIPS:
        path = path_at(swap.sqrt_price_x96, met0, met1, terms.tick_spacing)
        return PaidFees(fees.providers0, fees.providers1, met0, met1, rate, path)
    # A unit of liquidity sells as much as the price moves, whoever else is there: to the piece, of
    # a swap through many ranges too.
    start = before.sqrt_price_x96 / _ROOT_ONE
    part = (swap.fee - protocol_fee_of(swap, terms)) / (PIPS - swap.fee)
    path = path_of_swap(before.sqrt_price_x96, swap.sqrt_price_x96, part, terms.tick_spacing)
    if swap.liquidity:
        rate = part * abs(log(root / start)) / 2
    if swap.zero_for_one:
        return PaidFees(fees.providers0, 0, part * abs(1 / root - 1 / start), 0.0, rate, path)
    return PaidFees(0, fees.providers1, 0.0, part * abs(root - start), rate, path)


def hour_rows(
    swaps: Iterable[RecentSwap], terms: FeeTerms, before: PoolMoment = NOTHING_BEFORE
) -> list[HourRow]:
    """The rows of swaps in the order they happened."""
    rows = []
    for hour, several in groupby(swaps, key=lambda swap: hour_of(swap.time)):
        together = list(several)
        fees0 = fees1 = 0
        growth0 = growth1 = rate = 0.0
        pieces: list[PaidPiece] = []
        for joined in together:
            paid = paid_fees(joined, terms, before)
            before = before.after(joined)
            fees0, fees1 = fees0 + paid.fees0, fees1 + paid.fees1
            growth0, growth1 = growth0 + paid.growth0, growth1 + paid.growth1
            rate += paid.rate
            pieces += paid.path
        prices = [swap.sqrt_price_x96 for swap in together]
        rows.append(
            HourRow(
                hour,
                prices[-1],
                min(prices),
                max(prices),
                fees0,
                fees1,
                growth0,
                growth1,
                rate,
                len(together),
                sum(swap.time_estimated for swap in together),
                joined_path(pieces),
            )
        )
    return rows


def joined_rows(rows: Sequence[HourRow], later: Iterable[HourRow]) -> tuple[HourRow, ...]:
    """Rows and those of swaps that happened after all of theirs."""
    by_hour = {row.hour: row for row in rows}
    for row in later:
        before = by_hour.get(row.hour)
        by_hour[row.hour] = row if before is None else before.join(row)
    return tuple(by_hour[hour] for hour in sorted(by_hour))


class Landmark(NamedTuple):
    """A block up to which a pool was read, by which a replaced chain is found out."""

    number: int
    hash: str
    time: int


class KeptHours(Struct, frozen=True):
    """What was read of a pool up to a block, of the chain on which the block has this hash."""

    since: int
    from_first_block: bool
    """Whether there is nothing before `since` on this network."""
    last: Landmark
    landmarks: tuple[Landmark, ...]
    """Earlier blocks, oldest first, since each of which every swap is still kept by itself."""
    rows: tuple[HourRow, ...]
    recent: tuple[RecentSwap, ...]
    recent_since: int
    proof: LogProof | None = None
    """None where its beginning could not be read."""
    opening: int = 0
    """The price before the first row; zero where that could not be read."""

    @property
    def last_price(self) -> int | None:
        """After the last swap; else where it was proved to be; None where nobody knows."""
        if self.rows:
            return self.rows[-1].close
        return None if self.proof is None else self.proof.mark.sqrt_price_x96 or None

    def extend(
        self, swaps: Sequence[RecentSwap], last: Landmark, kept_since: int, terms: FeeTerms
    ) -> KeptHours:
        """The same with the swaps of the blocks up to another one."""
        liquidity = self.recent[-1].liquidity if self.recent else 0
        before = PoolMoment(self.last_price or 0, liquidity)
        kept_since = max(kept_since, self.recent_since)
        recent = (*self.recent, *swaps)
        rows = hour_rows(swaps, terms, before)
        return replace(
            self,
            last=last,
            landmarks=_thinned((*self.landmarks, self.last), kept_since),
            rows=joined_rows(self.rows, rows),
            recent=tuple(swap for swap in recent if swap.time >= kept_since),
            recent_since=kept_since,
            proof=self._counted(swaps, rows),
        )

    def _counted(self, swaps: Sequence[RecentSwap], rows: Sequence[HourRow]) -> LogProof | None:
        if self.proof is None or not swaps:
            return self.proof
        growth0, growth1 = sum(row.growth0 for row in rows), sum(row.growth1 for row in rows)
        rounded = sum(_MOST_ROUNDED / swap.liquidity for swap in swaps if swap.liquidity)
        return self.proof.with_swaps(growth0, growth1, rounded)

    def rolled_back(self, last: Landmark, terms: FeeTerms) -> KeptHours | None:
        """What was known at an earlier block; None where its hour is no longer kept by swaps."""
        hour = hour_of(last.time)
        if hour < self.recent_since:
            return None
        recent = tuple(swap for swap in self.recent if swap.block_number <= last.number)
        earlier = [row.close for row in self.rows if row.hour < self.recent_since]
        before = PoolMoment(earlier[-1] if earlier else self.opening)
        again = (row for row in hour_rows(recent, terms, before) if row.hour >= hour)
        return replace(
            self,
            last=last,
            landmarks=tuple(
                landmark for landmark in self.landmarks if landmark.number < last.number
            ),
            rows=(*(row for row in self.rows if row.hour < hour), *again),
            recent=recent,
            proof=None,
        )

    def without_rows_before(self, time: int) -> KeptHours:
        if self.since >= time:
            return self
        rows = tuple(row for row in self.rows if row.hour >= time)
        gone = self.rows[: len(self.rows) - len(rows)]
        opening = gone[-1].close if gone else self.opening
        return replace(self, since=time, from_first_block=False, rows=rows, opening=opening)

    def hours(self, pool_id: PoolId, last: Block, terms: FeeTerms) -> PoolHours:
        kept = self.since, last, self.rows, self.recent, self.recent_since
        return PoolHours(pool_id, *kept, terms=terms, opening=self.opening)


_NEWEST_LANDMARKS = 6


def _thinned(landmarks: Sequence[Landmark], kept_since: int) -> tuple[Landmark, ...]:
    """The newest few, and of earlier ones the newest of each hour."""
    usable = [landmark for landmark in landmarks if hour_of(landmark.time) >= kept_since]
    older: Mapping[int, Landmark] = {
        hour_of(landmark.time): landmark for landmark in usable[:-_NEWEST_LANDMARKS]
    }
    return (*older.values(), *usable[-_NEWEST_LANDMARKS:])


_MOST_PIECES = 96
"""An hour that went through more of them keeps pairs of neighbours as one."""


class PaidPiece(NamedTuple):
    """Between two ticks; each time the price passed, the fee's ratio to what was traded."""

    lower: int
    upper: int
    passed0: float
    """Of swaps that paid in currency0: growth is this times 1/√lower − 1/√upper."""
    passed1: float
    """Of swaps that paid in currency1: growth is this times √upper − √lower."""


FeePath = tuple[PaidPiece, ...]


def path_of_swap(start: int, end: int, ratio: float, spacing: int) -> list[PaidPiece]:
    """Of one swap from a square-root price to another, downwards paid in currency0."""
    down = end < start
    low, high = sorted((start, end))
    if low == high:
        return []
    first, last = _cell(low, spacing), _cell(high, spacing)
    if first == last:
        return [_piece(first, ratio * _part(first, low, high, down=down), down=down)]
    pieces = [_piece(first, ratio * _part(first, low, None, down=down), down=down)]
    if first[1] < last[0]:
        pieces.append(_piece((first[1], last[0]), ratio, down=down))
    return [*pieces, _piece(last, ratio * _part(last, None, high, down=down), down=down)]


def path_at(price: int, growth0: float, growth1: float, spacing: int) -> list[PaidPiece]:
    """Of a swap of which only the end is known."""
    cell = _cell(price, spacing)
    return [
        PaidPiece(*cell, growth0 / _width(*cell, down=True), growth1 / _width(*cell, down=False))
    ]


def joined_path(pieces: Iterable[PaidPiece]) -> FeePath:
    """Pieces that overlap as ones that follow one another."""
    steps: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for piece in pieces:
        for tick, sign in ((piece.lower, 1), (piece.upper, -1)):
            steps[tick][0] += sign * piece.passed0
            steps[tick][1] += sign * piece.passed1
    joined: list[PaidPiece] = []
    passed0 = passed1 = 0.0
    for lower, upper in pairwise(sorted(steps)):
        passed0, passed1 = passed0 + steps[lower][0], passed1 + steps[lower][1]
        joined.append(PaidPiece(lower, upper, max(0.0, passed0), max(0.0, passed1)))
    while len(joined) > _MOST_PIECES:
        joined = [_merged(joined[at : at + 2]) for at in range(0, len(joined), 2)]
    return tuple(joined)


def growth_inside(path: FeePath, lower: int, upper: int) -> tuple[float, float]:
    """What a unit of liquidity between two ticks was paid, of both currencies."""
    growth0 = growth1 = 0.0
    for piece in path:
        low, high = max(lower, piece.lower), min(upper, piece.upper)
        if low < high:
            growth0 += piece.passed0 * _width(low, high, down=True)
            growth1 += piece.passed1 * _width(low, high, down=False)
    return growth0, growth1


def _merged(pieces: Sequence[PaidPiece]) -> PaidPiece:
    lower, upper = pieces[0].lower, pieces[-1].upper
    growth0, growth1 = growth_inside(tuple(pieces), lower, upper)
    widths = (_width(lower, upper, down=down) for down in (True, False))
    return PaidPiece(lower, upper, growth0 / next(widths), growth1 / next(widths))


def _piece(ticks: tuple[int, int], passed: float, *, down: bool) -> PaidPiece:
    return PaidPiece(*ticks, passed if down else 0.0, 0.0 if down else passed)


def _part(cell: tuple[int, int], low: int | None, high: int | None, *, down: bool) -> float:
    """How much of a cell's width lies between two prices; None is its edge."""
    bottom = _root(cell[0]) if low is None else low / _ROOT_ONE
    top = _root(cell[1]) if high is None else high / _ROOT_ONE
    way = 1 / bottom - 1 / top if down else top - bottom
    return way / _width(*cell, down=down)


def _cell(sqrt_price: int, spacing: int) -> tuple[int, int]:
    lower = int(estimated_tick(sqrt_price) // spacing) * spacing
    return max(MIN_TICK, lower), min(MAX_TICK, lower + spacing)


def _width(lower: int, upper: int, *, down: bool) -> float:
    bottom, top = _root(lower), _root(upper)
    return 1 / bottom - 1 / top if down else top - bottom


@lru_cache(maxsize=10_000)
def _root(tick: int) -> float:
    return sqrt_price_at_tick(tick) / _ROOT_ONE
