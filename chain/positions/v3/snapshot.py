"""One position of v3 at one block, as `collect` and a full withdrawal would pay it."""

from collections.abc import Mapping

from msgspec import Struct

from chain.contracts.hooks import NO_HOOK, hook_passport
from chain.contracts.networks import NATIVE, Address
from chain.contracts.v3_pool import v3_pool_key
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.v3 import decode_number, decode_slot0
from chain.positions.custody import Custody
from chain.positions.identity import PositionIdentity
from chain.positions.reference import v3_number
from chain.positions.snapshot import PoolSnapshot, PositionSnapshot, range_status
from chain.positions.v3.answers import (
    ManagerRecord,
    PlaceCalls,
    PoolRecord,
    V3Place,
    decode_growth_outside,
    decode_in_pool,
)
from chain.rpc.multicall import Call, CallOutcome
from chain.rpc.records import Block

_OWED_END = 1 << 128
"""Both contracts count what they owe in 128 bits, and begin again at zero."""


class V3Reading(Struct, frozen=True):
    """All that was told of one position."""

    token_id: int
    owner: Address
    record: ManagerRecord
    pool: PoolSnapshot
    outside_lower: FeeGrowth
    outside_upper: FeeGrowth
    in_pool: PoolRecord


def v3_pool_snapshot(
    factory: Address, place: V3Place, calls: PlaceCalls, told: Mapping[Call, CallOutcome]
) -> PoolSnapshot:
    slot0 = decode_slot0(told[calls.slot0])
    spacing = decode_number("int24", told[calls.spacing])
    key = v3_pool_key(factory, place.token0, place.token1, place.fee, spacing)
    protocol = slot0.protocol_fee(place.fee)
    return PoolSnapshot(
        pool_id=key.pool_id,
        key=key,
        sqrt_price_x96=slot0.sqrt_price_x96,
        tick=slot0.tick,
        # The protocol's part comes out of the fee, where in v4 it comes on top.
        lp_fee=place.fee - max(protocol),
        protocol_fee=protocol,
        liquidity=decode_number("uint128", told[calls.liquidity]),
        fee_growth=FeeGrowth(
            decode_number("uint256", told[calls.growth0]),
            decode_number("uint256", told[calls.growth1]),
        ),
        hook=hook_passport(NO_HOOK, place.fee),
    )


def v3_reading(
    token_id: int,
    owner: Address,
    record: ManagerRecord,
    *,
    pool: PoolSnapshot,
    calls: PlaceCalls,
    told: Mapping[Call, CallOutcome],
) -> V3Reading:
    return V3Reading(
        token_id,
        owner,
        record,
        pool,
        decode_growth_outside(told[calls.lower]),
        decode_growth_outside(told[calls.upper]),
        decode_in_pool(told[calls.in_pool]),
    )


def v3_snapshot(reading: V3Reading, block: Block) -> PositionSnapshot:
    pool, record, place = reading.pool, reading.record, reading.record.place
    amounts = amounts_for_liquidity(
        pool.sqrt_price_x96,
        sqrt_price_at_tick(place.tick_lower),
        sqrt_price_at_tick(place.tick_upper),
        record.liquidity,
        round_up=False,
    )
    inside = fee_growth_inside(
        pool.tick,
        place.tick_lower,
        place.tick_upper,
        global_growth=pool.fee_growth,
        outside_lower=reading.outside_lower,
        outside_upper=reading.outside_upper,
    )
    fees0, fees1 = payable_fees(record, reading.in_pool, inside)
    key = pool.key
    return PositionSnapshot(
        identity=PositionIdentity(
            v3_number(reading.token_id), key, key.pool_id, place.tick_lower, place.tick_upper
        ),
        block=block,
        pool=pool,
        custody=Custody(
            reading.owner, None if record.approved == NATIVE else record.approved, None
        ),
        liquidity=record.liquidity,
        amount0=amounts.amount0,
        amount1=amounts.amount1,
        fees0=fees0,
        fees1=fees1,
        fee_growth_inside=inside,
        status=range_status(pool.tick, place.tick_lower, place.tick_upper),
    )


def payable_fees(record: ManagerRecord, in_pool: PoolRecord, inside: FeeGrowth) -> tuple[int, int]:
    """What `collect` pays: what the manager owes the token, but no more than the pool owes it.

    The pool counts all tokens of a range as one and rounds down whenever any of them changes, so
    it may owe the manager some units less than the manager owes its tokens.
    """
    if record.liquidity == 0:
        # Nothing is brought up to date for an empty position.
        return min(record.owed0, in_pool.owed0), min(record.owed1, in_pool.owed1)
    to_token = fees_owed(inside, record.growth_last, record.liquidity)
    to_manager = fees_owed(inside, in_pool.growth_last, in_pool.liquidity)
    return (
        min(
            (record.owed0 + to_token.fees0) % _OWED_END,
            (in_pool.owed0 + to_manager.fees0) % _OWED_END,
        ),
        min(
            (record.owed1 + to_token.fees1) % _OWED_END,
            (in_pool.owed1 + to_manager.fees1) % _OWED_END,
        ),
    )
