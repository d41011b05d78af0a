"""The arithmetic of v3 against a second one."""

import random

import pytest

from chain.contracts.hooks import NO_HOOK, hook_passport
from chain.math.fees import FeeGrowth, ProtocolFee
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import v3_position
from chain.protocols.snapshot import PositionSnapshot, RangeStatus
from chain.protocols.v3.memory import V3Place
from chain.protocols.v3.pool_key import v3_pool_key
from chain.protocols.v3.reader import ManagerRecord, PoolRecord, V3Reading, v3_snapshot
from tests.chain.positions.examples import BLOCK

pytestmark = pytest.mark.pure

FACTORY, ONE, TWO = ("0x" + digit * 40 for digit in "f12")
OWNER = "0x" + "a" * 40
_WORD = 1 << 256
_HALF = 1 << 128


def growth(rng: random.Random, bits: int = 256) -> FeeGrowth:
    return FeeGrowth(rng.randrange(1 << bits), rng.randrange(1 << bits))


def drawn(rng: random.Random) -> V3Reading:
    lower = rng.randrange(-880_000, 879_000, 10)
    upper = lower + rng.randrange(10, 400_000 if lower < 400_000 else 1_000, 10)
    upper = min(upper, 887_270)
    tick = rng.choice((rng.randrange(lower - 500, lower), rng.randrange(lower, upper), upper + 1))
    tick = max(-887_000, min(tick, 887_000))
    price = sqrt_price_at_tick(tick) + rng.randrange(0, 1000)
    price = min(price, sqrt_price_at_tick(tick + 1) - 1)
    liquidity = rng.choice((0, rng.randrange(1, 1 << 100)))
    others = rng.randrange(0, 1 << 90)
    place = V3Place(ONE, TWO, 500, lower, upper)
    record = ManagerRecord(
        "0x" + "0" * 40,
        place,
        liquidity,
        growth(rng, 140),
        rng.randrange(1 << 60),
        rng.randrange(1 << 60),
    )
    in_pool = PoolRecord(
        liquidity + others, growth(rng, 140), rng.randrange(1 << 60), rng.randrange(1 << 60)
    )
    key = v3_pool_key(FACTORY, ONE, TWO, 500, 10)
    pool = PoolSnapshot(
        key,
        key.pool_id,
        price,
        tick_at_sqrt_price(price),
        500,
        ProtocolFee(0, 0),
        10**20,
        FeeGrowth(rng.randrange(_WORD), rng.randrange(_WORD)),
        hook_passport(NO_HOOK, 500),
    )
    return V3Reading(
        rng.randrange(1, 10**6), OWNER, record, pool, growth(rng), growth(rng), in_pool
    )


def as_solidity_has_it(reading: V3Reading) -> tuple[int, int, int, int]:
    """Written after LiquidityAmounts, Tick, Position and the manager, step by step."""
    pool, record, place = reading.pool, reading.record, reading.record.place
    low, high = sqrt_price_at_tick(place.tick_lower), sqrt_price_at_tick(place.tick_upper)
    amount0 = amount1 = 0
    if pool.tick < place.tick_lower:
        amount0 = (record.liquidity << 96) * (high - low) // high // low
    elif pool.tick < place.tick_upper:
        now = pool.sqrt_price_x96
        amount0 = (record.liquidity << 96) * (high - now) // high // now
        amount1 = record.liquidity * (now - low) // (1 << 96)
    else:
        amount1 = record.liquidity * (high - low) // (1 << 96)
    owed = []
    for index, name in enumerate(("growth0", "growth1")):
        whole = getattr(pool.fee_growth, name)
        under = getattr(reading.outside_lower, name)
        over = getattr(reading.outside_upper, name)
        below = under if pool.tick >= place.tick_lower else (whole - under) % _WORD
        above = over if pool.tick < place.tick_upper else (whole - over) % _WORD
        inside = (whole - below - above) % _WORD
        manager = (record.owed0, record.owed1)[index]
        of_pool = (reading.in_pool.owed0, reading.in_pool.owed1)[index]
        if record.liquidity:
            grown = (inside - getattr(record.growth_last, name)) % _WORD
            manager = (manager + grown * record.liquidity // _HALF % _HALF) % _HALF
            grown = (inside - getattr(reading.in_pool.growth_last, name)) % _WORD
            of_pool = (of_pool + grown * reading.in_pool.liquidity // _HALF % _HALF) % _HALF
        owed.append(min(manager, of_pool))
    return amount0, amount1, owed[0], owed[1]


def figures(one: PositionSnapshot) -> tuple[int, int, int, int]:
    return one.amount0, one.amount1, one.fees0, one.fees1


def test_two_thousand_drawn_positions_come_out_alike() -> None:
    rng = random.Random(32)
    seen: set[RangeStatus] = set()
    for _ in range(2_000):
        reading = drawn(rng)
        snapshot = v3_snapshot(reading, BLOCK)
        assert figures(snapshot) == as_solidity_has_it(reading)
        assert snapshot.ref == v3_position(reading.token_id)
        seen.add(snapshot.status)
    assert seen == {*RangeStatus}
