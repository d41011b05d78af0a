"""A pool's swaps read and summed a second time, with eth_abi and plain loops."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import log, sqrt

from eth_abi.abi import decode
from eth_hash.auto import keccak

from chain.contracts.networks import network_named
from tests.chain.moves import Moves

_TOPIC = "0x" + keccak(b"Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)").hex()
STEPS = 100
_DATA = ("int128", "int128", "uint160", "uint128", "int24", "uint24")


@dataclass(frozen=True)
class RawSwap:
    time: int
    amount0: int
    amount1: int
    price: float
    """Units of currency1 for a unit of currency0."""
    fee: int
    liquidity: int
    """After the swap."""


def raw_swaps(moves: Moves, pool_id: str) -> list[RawSwap]:
    manager = network_named("devnet").contracts.pool_manager
    wanted = {"address": manager, "topics": [_TOPIC, pool_id], "fromBlock": "0x0"}
    found = []
    for log_ in moves.rpc("eth_getLogs", {**wanted, "toBlock": "latest"}):
        block = moves.rpc("eth_getBlockByNumber", log_["blockNumber"], False)
        amount0, amount1, root, liquidity, _, fee = decode(_DATA, bytes.fromhex(log_["data"][2:]))
        time = int(block["timestamp"], 16)
        found.append(RawSwap(time, amount0, amount1, root * root / 2**192, fee, liquidity))
    return found


def volatility(swaps: list[RawSwap], end: int, hours: int) -> float:
    """By the price that held at each hour back from the end.

    Over a day ago a price is known from the end of its hour of the calendar on.
    """
    by_swap = (end - 25 * 3600) // 3600 * 3600
    swaps = [
        one if one.time >= by_swap else replace(one, time=one.time // 3600 * 3600 + 3599)
        for one in swaps
    ]
    closes = []
    for back in range(hours, -1, -1):
        before = [swap for swap in swaps if swap.time <= end - 3600 * back]
        if before:
            closes.append(before[-1].price)
    moves = [log(after / before) for before, after in pairwise(closes)]
    return sqrt(24 * sum(move * move for move in moves) / len(moves))


def provider_fees(
    swaps: list[RawSwap], start: int, units: tuple[float, float], packed_protocol_fee: int
) -> float:
    """What liquidity providers got since then, each currency at its own price."""
    total = 0.0
    for swap in swaps:
        if swap.time > start:
            sold0 = swap.amount0 < 0
            paid = -swap.amount0 * units[0] if sold0 else -swap.amount1 * units[1]
            protocol = packed_protocol_fee & 0xFFF if sold0 else packed_protocol_fee >> 12
            total += paid * (swap.fee - protocol) / 10**6
    return total


def fee_rate(swaps: list[RawSwap], start: int, packed_protocol_fee: int) -> float:
    """Since then, by steps: each sells √P of a unit of liquidity, whose worth is 2√P, for the fee.

    A fee is on what comes in, so that of what the price moves for it is fee/(1 − fee).
    """
    total = 0.0
    for before, swap in pairwise(swaps):
        if swap.time > start:
            protocol = (
                packed_protocol_fee & 0xFFF if swap.amount0 < 0 else packed_protocol_fee >> 12
            )
            paid = (swap.fee - protocol) / (10**6 - swap.fee)
            roots = [
                (before.price ** (1 - part / STEPS) * swap.price ** (part / STEPS)) ** 0.5
                for part in range(STEPS + 1)
            ]
            total += paid * sum(abs(end - begin) / (begin + end) for begin, end in pairwise(roots))
    return total
