"""Several wallets read at once: each as if it were alone, all at one block and in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.store import Store
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER, NEIGHBOUR, STRANGER
from chain.devnet.world.pools import STABLE
from chain.positions.discovery import Discovery
from chain.protocols.v4.holdings import APPROVAL_FOR_ALL, Holdings
from chain.rpc.client import RpcClient
from chain.rpc.records import Log
from tests.chain.between import Door, refuse_wide_logs
from tests.chain.conftest import Desk

if TYPE_CHECKING:
    from chain.devnet.launch import DevnetReady
    from chain.positions.search import WalletPositions
    from tests.chain.moves import Moves

OWNERS = (DEMO_WALLET.address, NEIGHBOUR.address, MEDIUM_PROVIDER.address, "0x" + "0e" * 20)


def seen(wallet: WalletPositions) -> tuple[object, ...]:
    return wallet.owner, wallet.block, wallet.positions, wallet.operators, wallet.missing


async def test_each_is_read_as_if_it_were_alone_in_one_request(
    desk: Desk, devnet: DevnetReady
) -> None:
    alone = [await desk.discovery.read(owner) for owner in OWNERS[1:]]
    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        discovery = Desk(client, desk.network, desk.store).discovery
        # One of them is new to the memory, the others are not.
        first = await discovery.read_all(OWNERS)
        door.requests = 0
        again = await discovery.read_all(OWNERS)

    assert door.requests == 1
    assert list(map(seen, first[1:])) == list(map(seen, alone))
    assert list(map(seen, again)) == list(map(seen, first))
    assert [one.found > 0 for one in again] == [True, True, True, False]


async def test_what_goes_from_one_to_another_is_found_with_the_other(
    desk: Desk, changing: Moves
) -> None:
    before = await desk.discovery.read_all(OWNERS)
    token_id = before[0].positions[0].ref.token_id
    changing.give(DEMO_WALLET, NEIGHBOUR.address, token_id)
    [minted] = changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, OWNERS[3])
    after = await desk.discovery.read_all(OWNERS)

    def tokens(wallet: WalletPositions) -> set[int]:
        assert wallet.missing is None
        return {one.ref.token_id for one in wallet.positions}

    assert tokens(after[0]) == tokens(before[0]) - {token_id}
    assert tokens(after[1]) == tokens(before[1]) | {token_id}
    assert tokens(after[2]) == tokens(before[2])
    assert tokens(after[3]) == {minted}


async def test_a_node_that_gives_few_blocks_at_once_is_scanned_for_all_of_them(
    desk: Desk, devnet: DevnetReady, moves: Moves
) -> None:
    expected = [seen(await desk.discovery.read(owner)) for owner in OWNERS]
    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        door.meddle = refuse_wide_logs(7, int(moves.rpc("eth_blockNumber"), 16))
        told: list[int] = []
        with Store.in_memory() as store:
            memory = Desk(client, desk.network, store).memory
            discovery = Discovery(
                client, desk.network, memory, watch=lambda one: told.append(one.found)
            )
            scanned = await discovery.read_all(OWNERS)

    assert list(map(seen, scanned)) == expected
    assert told[-1] == sum(one.found for one in scanned)


def test_what_another_wallet_allows_is_not_allowed_by_this_one() -> None:
    def word(address: str) -> str:
        return "0x" + address[2:].rjust(64, "0")

    allowed = Log(
        address=STRANGER.address,
        topics=(APPROVAL_FOR_ALL, word(NEIGHBOUR.address), word(DEMO_WALLET.address)),
        data=(1).to_bytes(32, "big"),
        block_number=5,
        block_hash="0x" + "05" * 32,
        transaction_hash="0x" + "06" * 32,
        transaction_index=0,
        log_index=0,
        removed=False,
    )
    start = Holdings.before(1)
    theirs = start.after([allowed], NEIGHBOUR.address, 5, allowed.block_hash)
    mine = start.after([allowed], DEMO_WALLET.address, 5, allowed.block_hash)

    assert theirs.operators == {DEMO_WALLET.address}
    assert mine.operators == frozenset()
