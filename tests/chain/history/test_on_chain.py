"""Swaps of the real contracts, recomputed from their events to the unit."""

from dataclasses import replace
from itertools import groupby, pairwise

import pytest
from msgspec import Struct

from chain.contracts.storage import decode_slot0, pool_slots, tick_slots
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.pools import POOLS, DevnetPool
from chain.history.events import FeeTerms, fees_of_swap
from chain.history.fee_rate import LiquidityRange
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed, unpack_protocol_fee
from chain.math.sqrt_price import swap_step
from chain.math.ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, sqrt_price_at_tick
from chain.protocols.past import SwapEvent
from chain.protocols.v4 import events
from chain.protocols.v4.events import ModifyLiquidityEvent
from chain.rpc import records
from chain.rpc.records import LogFilter
from tests.chain.history.exact_fees import range_fees
from tests.chain_view import ChainView, fresh_chain


@pytest.fixture
def world() -> ChainView:
    return fresh_chain()


class Step(Struct, frozen=True):
    """A swap that stayed within one step of the contract's loop, and where it started."""

    start: int
    swap: SwapEvent


def happened(world: ChainView, pool: DevnetPool) -> list[SwapEvent | ModifyLiquidityEvent]:
    kinds = (events.SWAP, events.MODIFY_LIQUIDITY)
    wanted = LogFilter(CONTRACTS.pool_manager, (kinds, pool.key.pool_id), 0, world.head.number)
    logs = world.logs(CONTRACTS.pool_manager, list(kinds), pool.key.pool_id)
    found: list[SwapEvent | ModifyLiquidityEvent] = []
    for log in records.logs(logs, wanted):
        swapped = log.topics[0] == events.SWAP
        found.append(events.swap_event(log) if swapped else events.modify_liquidity_event(log))
    return found


def single_steps(world: ChainView, pool: DevnetPool) -> list[Step]:
    """Swaps right after another swap, without a change of liquidity and within one bitmap word."""
    steps = []
    for before, swap in pairwise(happened(world, pool)):
        if isinstance(before, SwapEvent) and isinstance(swap, SwapEvent):
            words = {event.tick // pool.key.tick_spacing // 256 for event in (before, swap)}
            if before.liquidity == swap.liquidity and len(words) == 1:
                steps.append(Step(before.sqrt_price_x96, swap))
    return steps


def terms(world: ChainView, pool: DevnetPool) -> FeeTerms:
    slot0 = decode_slot0(word(world, pool_slots(pool.key.pool_id).slot0))
    return FeeTerms(pool.key.fee, unpack_protocol_fee(slot0.protocol_fee))


def word(world: ChainView, slot: int, block: int | None = None) -> int:
    at = world if block is None else replace(world, at=hex(block))
    return at.storage(CONTRACTS.pool_manager, slot)


def test_a_swap_step_gives_the_price_and_the_output_of_the_contract(world: ChainView) -> None:
    checked = 0
    for pool in POOLS:
        for step in single_steps(world, pool):
            swap = step.swap
            limit = MIN_SQRT_PRICE + 1 if swap.zero_for_one else MAX_SQRT_PRICE - 1
            ours = swap_step(step.start, limit, swap.liquidity, -swap.amount_in, swap.fee)
            assert ours.sqrt_price == swap.sqrt_price_x96
            assert ours.amount_in + ours.fee == swap.amount_in
            assert ours.amount_out == max(swap.amount0, swap.amount1)
            checked += 1
    assert checked >= 50


def growth_booked(world: ChainView, pool: DevnetPool, block: int) -> tuple[int, int]:
    """What a block added to the fees per liquidity of a pool."""
    slots = pool_slots(pool.key.pool_id)
    growth0, growth1 = (
        (word(world, slot, block) - word(world, slot, block - 1)) % 2**256
        for slot in (slots.fee_growth_global0, slots.fee_growth_global1)
    )
    return growth0, growth1


def test_fees_told_from_events_are_the_growth_the_contract_booked(world: ChainView) -> None:
    checked = set()
    for pool in POOLS:
        simple = {step.swap for step in single_steps(world, pool)}
        by_block = groupby(happened(world, pool), key=lambda event: event.place.block_number)
        for block, group in by_block:
            swaps = [event for event in group if isinstance(event, SwapEvent)]
            if not swaps or not simple.issuperset(swaps):
                continue
            paid = [(fees_of_swap(swap, terms(world, pool)), swap.liquidity) for swap in swaps]
            expected = (
                sum((fees.providers0 << 128) // liquidity for fees, liquidity in paid),
                sum((fees.providers1 << 128) // liquidity for fees, liquidity in paid),
            )
            assert growth_booked(world, pool, block) == expected
            checked.add((pool.key.pool_id, block))
    assert len(checked) >= 20
    # One of the pools pays a protocol fee, and one has a fee that changes.
    assert len({pool_id for pool_id, _ in checked}) >= 4


def left_alone(
    world: ChainView, pool: DevnetPool
) -> list[tuple[ModifyLiquidityEvent, list[SwapEvent]]]:
    """Positions minted once and never changed, each with all swaps from the end of a block on."""
    everything = happened(world, pool)
    changes = [event for event in everything if isinstance(event, ModifyLiquidityEvent)]
    swaps = [event for event in everything if isinstance(event, SwapEvent)]
    found = []
    for minted in changes:
        later = [swap for swap in swaps if swap.place > minted.place]
        block_ends = [
            index
            for index, (swap, following) in enumerate(pairwise(later))
            if swap.place.block_number < following.place.block_number
        ]
        alone = sum(other.salt == minted.salt for other in changes) == 1
        if alone and block_ends:
            found.append((minted, later[block_ends[0] :]))
    return found


def inside(world: ChainView, minted: ModifyLiquidityEvent, block: int) -> FeeGrowth:
    """The fees per liquidity between a position's ticks, as of a block."""
    slots = pool_slots(minted.pool_id)

    def growth(*at: int) -> FeeGrowth:
        return FeeGrowth(*(word(world, slot, block) for slot in at))

    lower, upper = (
        tick_slots(minted.pool_id, tick) for tick in (minted.tick_lower, minted.tick_upper)
    )
    return fee_growth_inside(
        decode_slot0(word(world, slots.slot0, block)).tick,
        minted.tick_lower,
        minted.tick_upper,
        global_growth=growth(slots.fee_growth_global0, slots.fee_growth_global1),
        outside_lower=growth(lower.fee_growth_outside0, lower.fee_growth_outside1),
        outside_upper=growth(upper.fee_growth_outside0, upper.fee_growth_outside1),
    )


def test_fees_of_a_range_told_from_swaps_are_what_it_really_earned(world: ChainView) -> None:
    checked = 0
    for pool in POOLS:
        for minted, swaps in left_alone(world, pool):
            earned = fees_owed(
                inside(world, minted, world.head.number),
                inside(world, minted, swaps[0].place.block_number),
                minted.liquidity_delta,
            )
            held = LiquidityRange(
                sqrt_price_at_tick(minted.tick_lower),
                sqrt_price_at_tick(minted.tick_upper),
                minted.liquidity_delta,
            )
            told = range_fees(swaps, held, terms(world, pool), included=True)
            # Rounding favours the pool by a unit a swap at most.
            for ours, paid in zip(told, earned, strict=False):
                assert 0 <= paid - ours <= told.swaps_inside
            checked += 1
    assert checked >= 20
