"""Orders about the wallet itself that would do nothing are refused."""

from __future__ import annotations

import pytest

from chain.networks import network_named
from chain.overview import Sources
from chain.rpc.client import RpcClient
from chain.store import Store
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.wishes_about_wallets import wish_to_revoke


async def test_taking_nothing_back_builds_no_plan() -> None:
    network = network_named("devnet")
    with Store.in_memory() as store:
        async with RpcClient(network, ["http://127.0.0.1:9"]) as client:
            sources = Sources(client, network, store, None, lambda: 0.0)
            with pytest.raises(GateRefusedError, match="Nothing is allowed"):
                await wish_to_revoke(sources, ())
