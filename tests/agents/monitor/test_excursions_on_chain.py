"""The alerts against the chain's own history: every excursion once, none missed, none twice."""

from random import Random

import pytest

from agents.monitor.alerts.alert import AlertKind, EventKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.devnet.world.pools import WETH_USDC, WETH_USDC_LOW
from chain.devnet.world.price_path import Mood
from tests.agents.monitor.conftest import Watchtower
from tests.agents.monitor.reference import reference_excursions, swap_ticks
from tests.agents.monitor.walked_market import WalkedPool, seeded_steps
from tests.chain.moves import Moves

WALLET = "0x" + "5a" * 20
SETTLE_BLOCKS = 5
THRESHOLDS = Thresholds(clearly_inside=0.05, settle_minutes=1.0)
SHARE = THRESHOLDS.clearly_inside

SHORT, LONG = 7, 10
"""Looks at the market in each of four phases."""


@pytest.mark.parametrize("seed", [1, 4])
async def test_the_alerts_are_the_excursions(
    seed: int, changing: Moves, watchtower: Watchtower
) -> None:
    assert await walk(seed, SHORT, changing, watchtower) > 5


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(101, 151))
async def test_the_alerts_are_the_excursions_for_many_seeds(
    seed: int, changing: Moves, watchtower: Watchtower
) -> None:
    assert await walk(seed, LONG, changing, watchtower) > 10


async def walk(seed: int, points: int, moves: Moves, tower: Watchtower) -> int:
    random = Random(seed)
    pools = [WalkedPool(moves, pool.key) for pool in (WETH_USDC_LOW, WETH_USDC)]
    minted = {pool.key.pool_id: pool.mint_around(random, 12, WALLET) for pool in pools}
    tower.wallet, tower.settings = WALLET, WatchSettings(THRESHOLDS)
    start = head_of(moves)
    ticks_at_start = {pool.key.pool_id: pool.tick for pool in pools}
    steps = seeded_steps(seed, points)
    moods: set[Mood] = set()
    alive = True
    while alive:
        # Now and then the monitor is away: it starts anew, on the home the last one left.
        async with tower.running() as watchman:
            for _ in range(random.randint(2, 8)):
                assert (await watchman.poll()).trouble is None
                for _ in range(random.choice((1, 1, 2, 3, 9))):
                    step = next(steps, None)
                    if step is None:
                        alive = False
                        break
                    moods.add(step[0])
                    random.choice(pools).push(step[1])
                    if random.random() < 0.1:
                        random.choice(pools).dart(random.choice((-60, 60)))
            if not alive:
                assert (await watchman.poll()).trouble is None
                told = told_excursions(watchman.book)
    assert moods == set(Mood)
    head = head_of(moves)
    expected = {}
    for pool_id, numbers in minted.items():
        manager = moves.network.contracts.pool_manager
        ticks = swap_ticks(moves.rpc, manager, pool_id, start + 1, head)
        for number in numbers:
            lower, upper = range_of(moves, number)
            margin = min(max(1, int((upper - lower) * SHARE)), (upper - lower - 1) // 2)
            expected[number] = reference_excursions(
                lower,
                upper,
                margin,
                SETTLE_BLOCKS,
                start=(start, ticks_at_start[pool_id]),
                ticks=ticks,
                head=head,
            )
    assert told == {number: found for number, found in expected.items() if found}
    return sum(map(len, told.values()))


def told_excursions(book: AlertStore) -> dict[int, list[tuple[int, int | None]]]:
    """Begin and end of each excursion as the book's events tell them."""
    told: dict[int, list[tuple[int, int | None]]] = {}
    for event in book.events_after(0, limit=1_000_000):
        alert = event.alert
        if alert.kind != AlertKind.OUT_OF_RANGE:
            continue
        assert alert.position_id is not None
        assert alert.block is not None
        episodes = told.setdefault(alert.position_id.token_id, [])
        if event.kind in (EventKind.OPENED, EventKind.REOPENED):
            episodes.append((alert.block, None))
        elif event.kind is EventKind.RESOLVED:
            assert episodes[-1][1] is None
            episodes[-1] = (episodes[-1][0], alert.block)
    return told


def head_of(moves: Moves) -> int:
    return int(moves.rpc("eth_blockNumber"), 16)


def range_of(moves: Moves, number: int) -> tuple[int, int]:
    data = "0x89097a6a" + f"{number:064x}"
    call = {"to": moves.network.contracts.position_manager, "data": data}
    return ticks_of(int(moves.rpc("eth_call", call, "latest"), 16))


def ticks_of(info: int) -> tuple[int, int]:
    """The two ticks as the PositionManager packs them, taken apart by hand."""
    ticks = [(info >> shift) & 0xFFFFFF for shift in (8, 32)]
    lower, upper = (tick - (1 << 24) if tick >> 23 else tick for tick in ticks)
    return lower, upper
