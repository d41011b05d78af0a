"""The demo wallet of the embedded chain, found through providers' habits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.base.store import Store
from chain.positions.discovery import Discovery
from chain.protocols.v4.memory import PositionMemory
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.embedded import EmbeddedChain
from tests.fakes.providers.profiles import profile_named
from tests.fakes.providers.provider import Provider, client_through

if TYPE_CHECKING:
    from chain.devnet.launch import DevnetReady
    from tests.chain.conftest import Desk


@pytest.mark.parametrize("name", ["mainnet.base.org", "alchemy free", "own besu"])
async def test_the_demo_wallet_is_found_through(desk: Desk, devnet: DevnetReady, name: str) -> None:
    truth = await desk.discovery.read(devnet.wallet)
    clock = VirtualClock()
    provider = Provider(profile_named(name), EmbeddedChain(devnet.url), clock)
    with Store.in_memory() as store:
        async with client_through(desk.network, provider) as client:
            memory = PositionMemory(store, desk.network, clock.read)
            wallet = await Discovery(client, desk.network, memory).read(devnet.wallet)
    assert wallet.positions == truth.positions
    assert wallet.complete
