"""Whose time counts: the earlier of a block's and this machine's, and none from the future."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.rpc.client import AHEAD_SECONDS, RpcClient
from chain.rpc.records import Block
from zuno_tui.gate.drift import earliest_time
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

NOW = 1_700_000_000
BLOCK = Block(7, "0x" + "aa" * 32, "0x" + "bb" * 32, NOW, 10**9, 0, 30_000_000)


def _sources(network: str) -> Sources:
    chosen = network_named(network)
    client = RpcClient(chosen, ("http://127.0.0.1:9",))
    return Sources(client, chosen, Store.in_memory(), None, lambda: float(NOW))


@pytest.mark.parametrize(
    ("block_time", "earliest"),
    [(NOW - 40, NOW - 40), (NOW, NOW), (NOW + 12, NOW), (NOW + int(AHEAD_SECONDS), NOW)],
)
def test_deadlines_start_from_the_earlier_of_both(block_time: int, earliest: int) -> None:
    assert earliest_time(_sources("base"), replace(BLOCK, timestamp=block_time)) == earliest


@pytest.mark.parametrize("ahead", [AHEAD_SECONDS + 1, 3600, 10 * 365 * 86_400])
def test_a_block_from_the_future_is_refused(ahead: float) -> None:
    with pytest.raises(GateRefusedError) as refused:
        earliest_time(_sources("base"), replace(BLOCK, timestamp=NOW + int(ahead)))

    assert refused.value.code is RefusalCode.FUTURE_HEAD


def test_a_network_with_a_clock_of_its_own_has_no_future() -> None:
    later = replace(BLOCK, timestamp=NOW + 10**6)

    assert earliest_time(_sources("devnet"), later) == NOW + 10**6
