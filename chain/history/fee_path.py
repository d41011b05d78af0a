"""Where along the price an hour's fees were paid, so that any range knows its part of them.

Ranges begin and end at multiples of a pool's tick spacing. What is kept between two such ticks is
what a unit of liquidity between them was paid: exact for every range there can be, however often
the price crossed its edge within the hour.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from chain.math.ticks import MAX_TICK, MIN_TICK, estimated_tick, sqrt_price_at_tick

_ROOT_ONE = float(1 << 96)
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
