"""What a pool paid over its risk, recomputed from its logs by other code: v3, v4, every fee."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import httpx2
import pytest
from eth_abi.abi import decode
from eth_hash.auto import keccak

from chain.contracts.networks import network_named
from tests.chain.moves import Moves
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.conftest import CommandLine

NETWORK = network_named("devnet")
HOUR, PIPS = 3600, 10**6
EVENTS = {
    "v3": (
        "Initialize(uint160,int24)",
        "Swap(address,address,int256,int256,uint160,uint128,int24)",
    ),
    "v4": (
        "Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)",
        "Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)",
    ),
}
UNINDEXED = {
    "v3": (("uint160", "int24"), ("int256", "int256", "uint160", "uint128", "int24")),
    "v4": (
        ("uint24", "int24", "address", "uint160", "int24"),
        ("int128", "int128", "uint160", "uint128", "int24", "uint24"),
    ),
}


class SwapStep(NamedTuple):
    time: int
    root: float
    """Of the price after it."""
    paid: float
    """To providers, for what moved the price."""


def logs_of(moves: Moves, pool: dict[str, Any], which: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """The number of the block and what was not indexed."""
    protocol, v4 = pool["protocol"], pool["protocol"] == "v4"
    topics = ["0x" + keccak(EVENTS[protocol][which].encode()).hex()]
    asked = {
        "address": NETWORK.contracts.pool_manager if v4 else pool["poolId"],
        "topics": [*topics, pool["poolId"]] if v4 else topics,
        "fromBlock": "0x0",
        "toBlock": "latest",
    }
    for entry in moves.rpc("eth_getLogs", asked):
        data = bytes.fromhex(entry["data"][2:])
        yield entry["blockNumber"], decode(UNINDEXED[protocol][which], data)


def steps_of(moves: Moves, pool: dict[str, Any]) -> list[SwapStep]:
    """The price the pool was opened at, then every swap."""
    v4 = pool["protocol"] == "v4"
    [(_, opened)] = logs_of(moves, pool, 0)
    steps = [SwapStep(0, opened[3 if v4 else 0] / 2**96, 0.0)]
    for number, fields in logs_of(moves, pool, 1):
        time = int(moves.rpc("eth_getBlockByNumber", number, False)["timestamp"], 16)
        # A swapper's amounts in v4, the pool's own in v3.
        in0 = fields[0] < 0 if v4 else fields[0] > 0
        fee = fields[5] if v4 else pool["fee"]
        protocol = pool["protocolFee"]["zeroForOne" if in0 else "oneForZero"]
        steps.append(SwapStep(time, fields[2] / 2**96, (fee - protocol) / (PIPS - fee)))
    return steps


def edge_by_logs(steps: list[SwapStep], now: int) -> float:
    begin = now - now % HOUR - 167 * HOUR
    paid = sum(
        step.paid * abs(log(step.root / before.root)) / 2
        for before, step in pairwise(steps)
        if step.time >= begin
    )
    closes = {max(step.time // HOUR, begin // HOUR - 1): step.root for step in steps[1:]}
    returns = [2 * log(after / before) for before, after in pairwise(closes.values())]
    return 8 * paid / sum(change * change for change in returns)


def test_what_every_pool_pays_is_what_its_logs_say(zuno: CommandLine) -> None:
    with embedded_chain(v3=True) as ready, httpx2.Client() as http:
        asked = ("--network", "devnet", "--rpc", ready.url, "pools", "--pays", "--json")
        pools = zuno(*asked).data["pools"]
        moves = Moves(http, ready.url, NETWORK)
        now = int(moves.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        told = {pool["poolId"]: pool["edge7d"] for pool in pools if pool["edge7d"] is not None}
        found = {
            pool["poolId"]: edge_by_logs(steps_of(moves, pool), now)
            for pool in pools
            if pool["poolId"] in told
        }
    assert {pool["protocol"] for pool in pools if pool["poolId"] in told} == {"v3", "v4"}
    assert len(told) >= 8
    assert told == pytest.approx(found, rel=6e-6)  # six significant digits
    assert {pool for pool in told if told[pool] < 1} == {pool for pool in found if found[pool] < 1}
