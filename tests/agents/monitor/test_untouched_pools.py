"""Of a pool that nobody traded in since the last look, no logs are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import WatchSettings
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.world.pools import POOLS, WETH_USDC_LOW
from chain.history.end_ticks import EndTicks, read_end_ticks
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.walked_market import WalkedPool

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pytest

    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.devnet.launch import DevnetReady
    from chain.rpc.records import Block
    from tests.chain.moves import Moves


async def test_only_pools_that_were_traded_in_are_asked_about(
    devnet: DevnetReady, changing: Moves, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[PoolId]] = []

    async def noted(
        client: RpcClient,
        network: Network,
        pools: Collection[PoolId],
        landmarks: Sequence[tuple[int, str]],
        head: Block,
    ) -> EndTicks | None:
        asked.append(set(pools))
        return await read_end_ticks(client, network, pools, landmarks, head)

    monkeypatch.setattr("agents.monitor.reader.read_end_ticks", noted)
    network = network_named("devnet")
    book = AlertStore.open(home, now=NOW)
    with Store.in_memory() as store:
        async with RpcClient(network, [devnet.url]) as client:
            watch = Watch(Sources(client, network, store, None, lambda: NOW), [devnet.wallet])
            for later in range(3):
                changing.rpc("evm_mine")
                await poll_once(watch, WatchSettings(), book, NOW + 60 * later)
            assert all(WETH_USDC_LOW.key.pool_id not in pools for pools in asked)
            asked.clear()
            WalkedPool(changing, WETH_USDC_LOW.key).push(5)
            await poll_once(watch, WatchSettings(), book, NOW + 240)
    [pools] = asked
    # Where a hook sets the fee, a swap may have left no fee behind it.
    by_hooks = {pool.key.pool_id for pool in POOLS if pool.key.has_dynamic_fee}
    assert pools - by_hooks == {WETH_USDC_LOW.key.pool_id}
