"""HTTP requests counted at the socket: few when cold, one when warm, however many positions."""

from pathlib import Path

import pytest

from chain.base.store import Store
from chain.contracts.networks import Network
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.pools import STABLE, WETH_USDC
from chain.positions.batch_reader import read_positions
from chain.positions.discovery import Discovery
from chain.positions.overview import price_words
from chain.positions.search import WalletPositions
from chain.protocols.reference import v4_position
from chain.protocols.v4.memory import PositionMemory
from chain.rpc.client import RpcClient
from chain.rpc.requests import RequestLimits
from tests.chain.between import Door
from tests.chain.moves import Moves

COLLECTOR = "0x" + "c0" * 20
PATIENT = RequestLimits(answer_seconds=60, total_seconds=70)
"""The embedded chain shares two cores with the tests; how long it takes is not asked here."""


class Counted:
    """A fresh process's view: each read opens the store anew and counts what reaches the node."""

    def __init__(self, devnet: DevnetReady, network: Network, path: Path) -> None:
        self._devnet = devnet
        self._network = network
        self._path = path

    async def wallet(self, owner: str) -> tuple[WalletPositions, int]:
        store, _ = Store.open(self._path, now=0)
        with store:
            async with (
                Door(self._devnet.url) as door,
                RpcClient(self._network, [door.url], limits=PATIENT) as client,
            ):
                memory = PositionMemory(store, self._network, lambda: 0.0)
                also = price_words(self._network)
                wallet = await Discovery(client, self._network, memory, also=also).read(owner)
                return wallet, door.requests

    async def snapshot(self, token_ids: list[int]) -> int:
        store, _ = Store.open(self._path, now=0)
        with store:
            async with (
                Door(self._devnet.url) as door,
                RpcClient(self._network, [door.url], limits=PATIENT) as client,
            ):
                memory = PositionMemory(store, self._network, lambda: 0.0)
                found = await read_positions(
                    client, self._network, memory, map(v4_position, token_ids)
                )
                assert sorted(ref.token_id for ref in found) == sorted(token_ids)
                return door.requests


@pytest.fixture
def counted(devnet: DevnetReady, network: Network, tmp_path: Path) -> Counted:
    return Counted(devnet, network, tmp_path / "zuno.db")


async def test_the_demo_wallet(counted: Counted) -> None:
    _, cold = await counted.wallet(DEMO_WALLET.address)
    assert cold <= 4
    wallet, warm = await counted.wallet(DEMO_WALLET.address)
    assert warm == 1
    assert wallet.found_count == wallet.balance_of == len({one.ref for one in wallet.positions})


async def test_a_new_block_costs_nothing_and_a_new_position_two_more(
    counted: Counted, changing: Moves
) -> None:
    await counted.wallet(DEMO_WALLET.address)
    changing.rpc("evm_mine")
    before, requests = await counted.wallet(DEMO_WALLET.address)
    assert requests == 1
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-9, 9)], 10**9, DEMO_WALLET.address)
    after, requests = await counted.wallet(DEMO_WALLET.address)
    assert requests == 3
    assert after.found_count == before.found_count + 1
    _, requests = await counted.wallet(DEMO_WALLET.address)
    assert requests == 1


async def test_twenty_and_five_hundred_positions_cost_the_same(
    counted: Counted, changing: Moves
) -> None:
    few = [
        token_id
        for pool in (STABLE, WETH_USDC)
        for token_id in changing.mint(
            MEDIUM_PROVIDER,
            pool.key,
            [(-60 * step, 60 * step) for step in range(1, 10 + 1)],
            10**9,
            COLLECTOR,
        )
    ]
    assert await counted.snapshot(few) <= 3
    assert await counted.snapshot(few) == 1
    for _ in range(5):
        changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-600, 600)] * 96, 10**9, COLLECTOR)
    wallet, cold = await counted.wallet(COLLECTOR)
    assert (wallet.found_count, wallet.balance_of) == (500, 500)
    assert cold <= 4
    wallet, warm = await counted.wallet(COLLECTOR)
    assert (wallet.found_count, wallet.balance_of) == (500, 500)
    assert warm == 1
    assert {one.liquidity for one in wallet.positions} == {10**9}
    assert all(one.owner == COLLECTOR for one in wallet.positions)
