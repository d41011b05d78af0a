"""What a position is compared with, when that is taken anew, and the thresholds nobody set."""

import json

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.store import WatchState
from agents.monitor.judge import depth_references
from agents.monitor.rules.baseline import (
    INSIDE,
    OUTSIDE,
    WALLET,
    Baseline,
    DepthReference,
    read_baseline,
)
from agents.monitor.rules.thresholds import LEAST_INTERVAL_SECONDS, Thresholds, WatchSettings
from chain.base.units import DAY
from chain.protocols.reference import PositionRef, v4_position
from chain.protocols.snapshot import PositionSnapshot
from tests.agents.monitor.made_up_positions import NETWORK, block, position

OTHERS = 1_000


def with_others(others: int, *, tick: int = 0, seconds: int = 0) -> PositionSnapshot:
    """In range, with so much of others around it, so long after block 100."""
    made = position(tick)
    later = replace(block(100), timestamp=block(100).timestamp + seconds)
    pool = replace(made.pool, liquidity=made.liquidity + others)
    return replace(made, pool=pool, block=later)


@pytest.fixture
def before() -> Baseline:
    return Baseline.of(with_others(OTHERS), INSIDE, "0xabc")


def test_it_is_read_back_as_it_was_written(before: Baseline) -> None:
    assert before.others == OTHERS
    assert read_baseline(before.document()) == before
    told = json.loads(before.document())
    old = {key: value for key, value in told.items() if key != "othersTick"}
    assert read_baseline(json.dumps(old)) == replace(before, others_tick=None)
    assert read_baseline(json.dumps({**old, "lpFee": "3000"})) is None
    assert read_baseline(json.dumps({**old, "others": "many"})) is None
    assert read_baseline("no JSON") is None
    assert read_baseline(None) is None


@pytest.mark.parametrize(
    ("seconds", "drained", "others_there", "depth", "anew"),
    [
        (0, False, None, OTHERS, False),
        (DAY - 1, False, None, OTHERS // 2, False),
        (DAY, False, None, OTHERS // 2, True),
        (DAY, True, None, OTHERS // 2, False),
        (0, True, 900, OTHERS // 2, True),
        (0, True, 899, OTHERS // 2, False),
        (0, False, None, 1_250, False),
        (0, False, None, 1_251, True),
    ],
)
def test_when_the_depth_is_taken_anew(
    before: Baseline,
    seconds: int,
    drained: bool,
    others_there: int | None,
    depth: int,
    anew: bool,
) -> None:
    now = with_others(depth, tick=7, seconds=seconds)
    later = before.follow_position(now, INSIDE, drained=drained, others_there=others_there)
    out = before.follow_position(now, OUTSIDE, drained=drained, others_there=others_there)

    taken = (depth, now.block.timestamp, 7) if anew else (OTHERS, before.others_time, 0)
    assert (later.others, later.others_time, later.others_tick) == taken
    assert (later.standing, out.standing) == (INSIDE, OUTSIDE)
    assert replace(out, standing=INSIDE) == later


def test_without_a_place_the_depth_is_taken_at_once(before: Baseline) -> None:
    unplaced = replace(before, others_tick=None)

    later = unplaced.follow_position(
        with_others(5, tick=7), INSIDE, drained=True, others_there=None
    )

    assert (later.others, later.others_tick) == (5, 7)


def test_a_pool_looks_drained_a_little_before_it_is(before: Baseline) -> None:
    documents: dict[PositionRef, str] = {
        WALLET: before.document(),
        v4_position(7): before.document(),
        v4_position(8): replace(before, others_tick=None).document(),
        v4_position(9): '{"of": "another time"}',
    }
    settings = WatchSettings(Thresholds(drained=0.5))

    found = depth_references(NETWORK, WatchState(None, documents), settings)

    assert found == {v4_position(7): DepthReference(0, 600)}


def test_the_thresholds_nobody_set() -> None:
    assert Thresholds() == Thresholds(
        near_edge=0.15,
        survival=0.5,
        clearly_inside=0.02,
        settle_minutes=10,
        critical_minutes=60,
        critical_distance=0.5,
        fees_usd=10,
        fees_gas_multiple=10,
        drained=0.8,
        disagreement=0.02,
        price_below=None,
        price_above=None,
        value_below_usd=None,
        loss=None,
    )
    assert (WatchSettings().interval_seconds, WatchSettings().blind_polls) == (60, 3)
    assert LEAST_INTERVAL_SECONDS == 5


@pytest.mark.parametrize(
    ("minutes", "block_seconds", "blocks"), [(10, 12, 50), (10, 7, 86), (0, 12, 1)]
)
def test_minutes_are_whole_blocks(minutes: float, block_seconds: float, blocks: int) -> None:
    network = replace(NETWORK, block_seconds=block_seconds)

    assert Thresholds(settle_minutes=minutes).settle_blocks(network) == blocks
