"""Names and storage on the real contracts: what StateView answers and what raw words hold."""

from collections.abc import Sequence
from typing import Any

import pytest

from chain.contracts import abi, storage
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey, position_key
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.pools import POOLS
from chain.math.fees import FeeGrowth, fee_growth_inside
from tests.chain_view import ChainView, fresh_chain

TUPLE = f"({','.join(POOL_KEY_TYPES)})"


@pytest.fixture
def world() -> ChainView:
    return fresh_chain()


def ask(
    world: ChainView, to: str, signature: str, values: Sequence[object], answer: list[str]
) -> Any:
    outcome = world.call(to, abi.encode_call(signature, *values))
    assert outcome.success, (signature, outcome.output.hex())
    return abi.decode(answer, outcome.output)


def words(world: ChainView, slots: Sequence[int]) -> list[int]:
    [answer] = ask(
        world,
        CONTRACTS.pool_manager,
        storage.EXTSLOAD,
        [[storage.slot_bytes(slot) for slot in slots]],
        ["bytes32[]"],
    )
    return [int.from_bytes(word, "big") for word in answer]


def view(world: ChainView, signature: str, values: Sequence[object], answer: list[str]) -> Any:
    return ask(world, CONTRACTS.state_view, signature, values, answer)


def raw(hex_text: str) -> bytes:
    return bytes.fromhex(hex_text[2:])


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: pool.key.pool_id[:10])
def test_a_pool_read_from_raw_words(world: ChainView, pool: Any) -> None:
    pool_id = pool.key.pool_id
    slots = storage.pool_slots(pool_id)
    slot0, growth0, growth1, liquidity = words(
        world, [slots.slot0, slots.fee_growth_global0, slots.fee_growth_global1, slots.liquidity]
    )
    decoded = storage.decode_slot0(slot0)
    assert decoded.sqrt_price_x96 > 0
    assert (
        decoded.sqrt_price_x96,
        decoded.tick,
        decoded.protocol_fee,
        decoded.lp_fee,
    ) == view(world, "getSlot0(bytes32)", [raw(pool_id)], ["uint160", "int24", "uint24", "uint24"])
    assert (growth0, growth1) == view(
        world, "getFeeGrowthGlobals(bytes32)", [raw(pool_id)], ["uint256", "uint256"]
    )
    assert (liquidity,) == view(world, "getLiquidity(bytes32)", [raw(pool_id)], ["uint128"])
    assert liquidity > 0


def positions(world: ChainView) -> list[tuple[int, PoolKey, storage.PositionInfo]]:
    """What the PositionManager says of every token id that still exists."""
    [count] = ask(world, CONTRACTS.position_manager, "nextTokenId()", [], ["uint256"])
    found = []
    for token_id in range(1, count):
        key_values, info = ask(
            world,
            CONTRACTS.position_manager,
            "getPoolAndPositionInfo(uint256)",
            [token_id],
            [TUPLE, "uint256"],
        )
        if info:
            found.append((token_id, PoolKey(*key_values), storage.decode_position_info(info)))
    return found


def test_every_position_read_from_raw_words(world: ChainView) -> None:
    everything = positions(world)
    assert len(everything) >= 30
    for token_id, key, info in everything:
        assert raw(key.pool_id).startswith(info.pool_id_prefix)
        name = position_key(CONTRACTS.position_manager, info.tick_lower, info.tick_upper, token_id)
        at = storage.position_slots(key.pool_id, name)
        ours = words(world, [at.liquidity, at.fee_growth_inside0_last, at.fee_growth_inside1_last])
        theirs = view(
            world,
            "getPositionInfo(bytes32,bytes32)",
            [raw(key.pool_id), name],
            ["uint128", "uint256", "uint256"],
        )
        assert tuple(ours) == theirs
        [liquidity] = ask(
            world,
            CONTRACTS.position_manager,
            "getPositionLiquidity(uint256)",
            [token_id],
            ["uint128"],
        )
        assert ours[0] == liquidity


def test_ticks_and_fee_growth_inside_read_from_raw_words(world: ChainView) -> None:
    for _, key, info in positions(world):
        pool, pool_id = storage.pool_slots(key.pool_id), raw(key.pool_id)
        slot0, *growths = words(
            world, [pool.slot0, pool.fee_growth_global0, pool.fee_growth_global1]
        )
        outside = []
        for tick in (info.tick_lower, info.tick_upper):
            at = storage.tick_slots(key.pool_id, tick)
            packed, growth0, growth1 = words(
                world, [at.liquidity, at.fee_growth_outside0, at.fee_growth_outside1]
            )
            liquidity = storage.decode_tick_liquidity(packed)
            assert (liquidity.gross, liquidity.net, growth0, growth1) == view(
                world,
                "getTickInfo(bytes32,int24)",
                [pool_id, tick],
                ["uint128", "int128", "uint256", "uint256"],
            )
            outside.append(FeeGrowth(growth0, growth1))
        inside = fee_growth_inside(
            storage.decode_slot0(slot0).tick,
            info.tick_lower,
            info.tick_upper,
            global_growth=FeeGrowth(*growths),
            outside_lower=outside[0],
            outside_upper=outside[1],
        )
        assert (inside.growth0, inside.growth1) == view(
            world,
            "getFeeGrowthInside(bytes32,int24,int24)",
            [pool_id, info.tick_lower, info.tick_upper],
            ["uint256", "uint256"],
        )


def test_bitmaps_mark_the_ticks_of_positions(world: ChainView) -> None:
    for _, key, info in positions(world):
        position, bit = divmod(info.tick_lower // key.tick_spacing, 256)
        [word] = words(world, [storage.bitmap_slot(key.pool_id, position)])
        assert (word,) == view(
            world, "getTickBitmap(bytes32,int16)", [raw(key.pool_id), position], ["uint256"]
        )
        at = storage.tick_slots(key.pool_id, info.tick_lower)
        [packed] = words(world, [at.liquidity])
        assert bool(word >> bit & 1) == (storage.decode_tick_liquidity(packed).gross > 0)
