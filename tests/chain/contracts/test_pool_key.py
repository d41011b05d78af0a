"""Names and storage slots against values computed independently with eth_abi."""

from __future__ import annotations

import eth_abi.abi
from eth_abi.packed import encode_packed
from hypothesis import given
from hypothesis import strategies as st

from chain.contracts import storage
from chain.contracts.addresses import keccak
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey, position_key

USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
ticks = st.integers(-887272, 887272)
words = st.integers(0, 2**256 - 1)


def test_the_id_of_a_pool_everyone_knows() -> None:
    key = PoolKey(NATIVE, USDC, 500, 10, NATIVE)
    # ETH/USDC 0.05 % on Ethereum mainnet.
    assert key.pool_id == "0x21c67e77068de97969ba93d4aab21826d33ca12bb9f565d8496e8fda8a82ca27"
    assert not key.has_dynamic_fee
    assert PoolKey(NATIVE, USDC, DYNAMIC_FEE, 10, USDC).has_dynamic_fee


@given(addresses, addresses, st.integers(0, 2**24 - 1), st.integers(1, 32767), addresses)
def test_pool_id(currency0: str, currency1: str, fee: int, spacing: int, hooks: str) -> None:
    types = ["address", "address", "uint24", "int24", "address"]
    expected = keccak(eth_abi.abi.encode(types, [currency0, currency1, fee, spacing, hooks]))
    assert PoolKey(currency0, currency1, fee, spacing, hooks).pool_id == "0x" + expected.hex()


@given(addresses, ticks, ticks, words)
def test_position_key(owner: str, lower: int, upper: int, token_id: int) -> None:
    packed = encode_packed(
        ["address", "int24", "int24", "uint256"], [owner, lower, upper, token_id]
    )
    assert position_key(owner, lower, upper, token_id) == keccak(packed)


@given(words, ticks, words)
def test_slots_follow_solidity(pool: int, tick: int, key: int) -> None:
    pool_id = f"0x{pool:064x}"
    base = int.from_bytes(keccak(eth_abi.abi.encode(["uint256", "uint256"], [pool, 6])), "big")
    slots = storage.pool_slots(pool_id)
    assert [slots.slot0, slots.fee_growth_global0, slots.fee_growth_global1, slots.liquidity] == [
        (base + word) % 2**256 for word in range(4)
    ]
    at_tick = keccak(eth_abi.abi.encode(["int256", "uint256"], [tick, (base + 4) % 2**256]))
    assert storage.tick_slots(pool_id, tick).liquidity == int.from_bytes(at_tick, "big")
    position = keccak(eth_abi.abi.encode(["uint256", "uint256"], [key, (base + 6) % 2**256]))
    expected = int.from_bytes(position, "big")
    found = storage.position_slots(pool_id, key.to_bytes(32, "big"))
    assert found == storage.PositionSlots(
        expected, (expected + 1) % 2**256, (expected + 2) % 2**256
    )


@given(st.integers(0, 2**160 - 1), ticks, st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1))
def test_slot0(sqrt_price: int, tick: int, protocol_fee: int, lp_fee: int) -> None:
    word = sqrt_price | (tick % 2**24) << 160 | protocol_fee << 184 | lp_fee << 208
    assert storage.decode_slot0(word) == storage.Slot0(sqrt_price, tick, protocol_fee, lp_fee)


@given(ticks, ticks, st.booleans(), st.binary(min_size=25, max_size=25))
def test_position_info(lower: int, upper: int, subscribed: bool, prefix: bytes) -> None:
    word = int.from_bytes(prefix, "big") << 56 | (upper % 2**24) << 32 | (lower % 2**24) << 8
    info = storage.decode_position_info(word | subscribed)
    assert info == storage.PositionInfo(lower, upper, subscribed, prefix)


@given(st.integers(0, 2**128 - 1), st.integers(-(2**127), 2**127 - 1))
def test_tick_liquidity(gross: int, net: int) -> None:
    word = gross | (net % 2**128) << 128
    assert storage.decode_tick_liquidity(word) == storage.TickLiquidity(gross, net)
