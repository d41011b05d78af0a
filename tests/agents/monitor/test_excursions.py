"""Excursions by their definition, on paths made up for each clause of it."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.monitor.reader import MOST_TIMES, WatchReader
from agents.monitor.rules.baseline import (
    INSIDE,
    OUTSIDE,
    BlockTick,
    RangeBounds,
    RangeCrossing,
    RangeState,
    bounds_of,
    follow,
)
from agents.monitor.rules.thresholds import Thresholds
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from chain.rpc.records import Block, Json
from tests.agents.monitor.reference import reference_excursions
from tests.fakes.told_reader import ToldReader

BOUNDS = RangeBounds(lower=0, upper=100, margin=2, settle_blocks=5)


def path(*ticks: tuple[int, int]) -> list[BlockTick]:
    return [BlockTick(*one) for one in ticks]


def test_an_excursion_begins_where_the_pool_stops_paying() -> None:
    # The upper edge itself is outside, as in the pool.
    course = follow(BOUNDS, INSIDE, path((1, 99), (2, 100)), 2)

    assert course.turns == (RangeCrossing(2, 100, began=True),)
    assert course.standing == OUTSIDE


def test_clearly_inside_ends_it_at_once() -> None:
    assert follow(BOUNDS, OUTSIDE, path((3, 97)), 3).turns == (RangeCrossing(3, 97, began=False),)


def test_near_the_edge_it_ends_by_lasting() -> None:
    course = follow(BOUNDS, OUTSIDE, path((3, 99)), 7)
    assert course.turns == ()
    assert course.standing == RangeState(out=True, back_since=3)

    assert follow(BOUNDS, course.standing, [], 8).turns == (RangeCrossing(8, None, began=False),)


def test_leaving_again_before_that_is_the_same_excursion() -> None:
    course = follow(BOUNDS, OUTSIDE, path((3, 99), (6, 100), (7, 99), (11, 101)), 11)

    assert course.turns == ()
    assert course.standing == OUTSIDE


def test_a_price_that_dances_on_the_edge_a_thousand_times_is_one_excursion() -> None:
    dance = path(*((block, 99 + block % 2) for block in range(1, 2_001)))

    course = follow(BOUNDS, INSIDE, dance, 2_000)

    assert course.turns == (RangeCrossing(1, 100, began=True),)


def test_a_range_of_a_single_tick_can_still_be_clearly_inside() -> None:
    bounds = bounds_of(10, 11, Thresholds(), network_named("ethereum"))

    assert follow(bounds, OUTSIDE, path((1, 10)), 1).standing == INSIDE


PATHS = st.lists(st.tuples(st.integers(1, 4), st.integers(-8, 12)), max_size=60)


@given(PATHS, st.lists(st.integers(1, 12), max_size=40), st.integers(1, 2), st.integers(1, 6))
def test_how_often_somebody_looked_changes_nothing(
    steps: list[tuple[int, int]], looks: list[int], margin: int, settle: int
) -> None:
    bounds = RangeBounds(0, 8, margin, settle)
    ticks, block = [], 0
    for wait, tick in steps:
        block += wait
        ticks.append(BlockTick(block, tick))
    head = block + 10
    turns: list[RangeCrossing] = []
    standing, seen = INSIDE, 0
    for look in [*looks, head]:
        through = min(head, seen + look)
        course = follow(
            bounds, standing, [one for one in ticks if seen < one.block <= through], through
        )
        standing, seen = course.standing, through
        turns += course.turns

    assert turns == list(follow(bounds, INSIDE, ticks, head).turns)
    assert _pairs(turns) == reference_excursions(
        0,
        8,
        margin,
        settle,
        start=(0, 4),
        ticks=[(one.block, one.tick) for one in ticks],
        head=head,
    )


def _pairs(turns: list[RangeCrossing]) -> list[tuple[int, int | None]]:
    blocks = [turn.block for turn in turns]
    return [
        (began, blocks[at + 1] if at + 1 < len(blocks) else None)
        for at, began in enumerate(blocks)
        if turns[at].began
    ]


FIRST, LAST = 1_000, 2_000


def made_at(number: int) -> int:
    return 50_000 + 12 * (number - FIRST)


def header(method: str, params: tuple[Json, ...]) -> Block:
    assert method == "eth_getBlockByNumber"
    number = int(str(params[0]), 16)
    return Block(number, f"0x{number:064x}", f"0x{number - 1:064x}", made_at(number), 1, 0, 1)


@pytest.mark.parametrize("count", [0, 1, MOST_TIMES, MOST_TIMES + 1, 5 * MOST_TIMES])
async def test_every_block_gets_its_time_and_few_are_asked_about(count: int) -> None:
    blocks = range(FIRST + 1, FIRST + 1 + count)
    reader = ToldReader(header)
    known = [(FIRST, made_at(FIRST)), (LAST, made_at(LAST))]
    with Store.in_memory() as store:
        client = cast("RpcClient", reader)
        sources = Sources(client, network_named("base"), store, None, lambda: 0.0)
        times = await WatchReader(sources).times([*blocks, FIRST], known)

    assert times == {number: made_at(number) for number in (FIRST, *blocks, LAST)}
    assert len(reader.asked) == min(count, MOST_TIMES)
