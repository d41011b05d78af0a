"""What logs tell."""

import eth_abi.abi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.history.events import FeeTerms, SwapFees, fees, fees_of_swap
from chain.math.fees import ProtocolFee, swap_fee
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.past import LogPlace
from chain.protocols.v4 import events
from chain.read.block_reader import EventError
from chain.rpc.records import Log
from tests.chain.history.market import swap_between

ticks = st.integers(-200_000, 200_000)
FREE = FeeTerms(3000, ProtocolFee(0, 0))


@given(ticks, ticks, st.sampled_from((0, 100, 500, 3000, 10_000)))
def test_without_a_protocol_fee_providers_get_all(start: int, end: int, fee: int) -> None:
    swap = swap_between(sqrt_price_at_tick(start), sqrt_price_at_tick(end), fee=fee)
    paid = fees_of_swap(swap, FeeTerms(fee, ProtocolFee(0, 0)))
    assert (paid.providers0, paid.providers1) == (paid.gross0, paid.gross1)
    # A step takes ceil(in · fee / (10^6 − fee)); told from the input with the fee it is the same,
    # give or take a unit.
    before_fee = swap.amount_in - (paid.gross0 + paid.gross1)
    assert abs(-(-before_fee * fee // (10**6 - fee)) - (paid.gross0 + paid.gross1)) <= 1


def test_each_direction_pays_in_its_own_currency() -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1000)
    up, down = swap_between(low, high), swap_between(high, low)
    assert fees_of_swap(up, FREE)._replace(gross1=0, providers1=0) == SwapFees()
    assert fees_of_swap(down, FREE)._replace(gross0=0, providers0=0) == SwapFees()
    assert fees([up, down], FREE) == fees_of_swap(up, FREE).plus(fees_of_swap(down, FREE))


@pytest.mark.parametrize(
    ("key_fee", "now"),
    [
        (3000, ProtocolFee(1000, 500)),
        (DYNAMIC_FEE, ProtocolFee(1000, 500)),
        # The protocol fee has changed since: the total of a static pool still tells it.
        (3000, ProtocolFee(0, 0)),
    ],
)
def test_the_protocol_takes_its_pips_of_the_input(key_fee: int, now: ProtocolFee) -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1000)
    swap = swap_between(high, low, fee=swap_fee(1000, 3000))
    paid = fees_of_swap(swap, FeeTerms(key_fee, now))
    assert paid.gross0 == -(-swap.amount_in * 3997 // 10**6)
    assert paid.gross0 - paid.providers0 == swap.amount_in * 1000 // 10**6


def test_where_all_goes_to_the_protocol_providers_get_nothing() -> None:
    low, high = sqrt_price_at_tick(0), sqrt_price_at_tick(1000)
    swap = swap_between(high, low, fee=1000)
    paid = fees_of_swap(swap, FeeTerms(0, ProtocolFee(1000, 1000)))
    assert paid.gross0 > 0
    assert paid.providers0 == 0


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
