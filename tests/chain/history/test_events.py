"""Events of the PoolManager out of logs, and logs that only look like them."""

from __future__ import annotations

import eth_abi.abi
import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.protocols.past import LogPlace
from chain.protocols.v4 import events
from chain.read.block_reader import EventError
from chain.rpc.records import Log

KEY = PoolKey(NATIVE, "0x" + "22" * 20, 3000, 60, NATIVE)
SENDER = "0x" + "33" * 20


def word(value: str) -> str:
    return "0x" + value.removeprefix("0x").rjust(64, "0")


def log(topic: str, indexed: list[str], types: list[str], values: list[object]) -> Log:
    return Log(
        address="0x" + "44" * 20,
        topics=(topic, *map(word, indexed)),
        data=eth_abi.abi.encode(types, values),
        block_number=7,
        block_hash="0x" + "55" * 32,
        transaction_hash="0x" + "66" * 32,
        transaction_index=1,
        log_index=3,
        removed=False,
    )


SWAP = log(
    events.SWAP,
    [KEY.pool_id, SENDER],
    ["int128", "int128", "uint160", "uint128", "int24", "uint24"],
    [-(10**18), 3 * 10**9, 2**96, 10**20, -5, 3997],
)
INITIALIZE = log(
    events.INITIALIZE,
    [KEY.pool_id, KEY.currency0, KEY.currency1],
    ["uint24", "int24", "address", "uint160", "int24"],
    [3000, 60, NATIVE, 2**96, 0],
)


def test_a_swap() -> None:
    swap = events.swap_event(SWAP)
    assert swap.pool_id == KEY.pool_id
    assert swap.sender == SENDER
    assert (swap.amount0, swap.amount1) == (-(10**18), 3 * 10**9)
    assert (swap.sqrt_price_x96, swap.liquidity, swap.tick, swap.fee) == (2**96, 10**20, -5, 3997)
    assert swap.zero_for_one
    assert swap.amount_in == 10**18
    assert swap.place == LogPlace(7, 3, "0x" + "55" * 32, "0x" + "66" * 32)


def test_an_initialisation() -> None:
    born = events.initialize_event(INITIALIZE)
    assert (born.key, born.sqrt_price_x96, born.tick) == (KEY, 2**96, 0)


def test_a_change_of_liquidity() -> None:
    change = events.modify_liquidity_event(
        log(
            events.MODIFY_LIQUIDITY,
            [KEY.pool_id, SENDER],
            ["int24", "int24", "int256", "uint256"],
            [-600, 600, -(10**12), 42],
        )
    )
    assert (change.tick_lower, change.tick_upper) == (-600, 600)
    assert (change.liquidity_delta, change.salt) == (-(10**12), 42)


@pytest.mark.parametrize(
    "damaged",
    [
        replace(SWAP, data=SWAP.data[:-1]),
        replace(SWAP, data=SWAP.data + bytes(32)),
        replace(SWAP, data=b"\xff" * len(SWAP.data)),
        replace(SWAP, topics=SWAP.topics[:2]),
        replace(SWAP, topics=(events.DONATE, *SWAP.topics[1:])),
        replace(SWAP, topics=(*SWAP.topics[:2], "0x" + "ff" * 32)),
    ],
)
def test_what_is_no_swap_is_refused(damaged: Log) -> None:
    with pytest.raises(EventError):
        events.swap_event(damaged)


def test_a_pool_id_that_is_not_of_the_key_is_refused() -> None:
    forged = replace(
        INITIALIZE, topics=(INITIALIZE.topics[0], "0x" + "77" * 32, *INITIALIZE.topics[2:])
    )
    with pytest.raises(EventError):
        events.initialize_event(forged)
