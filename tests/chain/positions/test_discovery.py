"""All positions of a wallet, whatever became of them, and never silently fewer."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chain.contracts.abi import encode_call, selector
from chain.contracts.pool_key import DYNAMIC_FEE
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER, NEIGHBOUR, STRANGER
from chain.devnet.world.deployment import EXIT_GUARD, SUBSCRIBER
from chain.devnet.world.pools import DYNAMIC, ETH_USDC, GUARDED, STABLE, WETH_USDC
from chain.positions.discovery import Discovery
from chain.positions.search import WalletPositions
from chain.protocols.snapshot import PositionSnapshot, RangeStatus
from chain.protocols.v4.memory import SearchProgress
from chain.rpc.client import RpcClient
from chain.rpc.errors import Malformed
from tests.chain.between import Door, error, refuse_wide_logs
from tests.chain.conftest import Desk
from tests.chain.moves import Moves

NEWCOMER = "0x" + "0e" * 20
NEXT_ID = "0x" + selector("nextTokenId()").hex()


@pytest.fixture
async def door(devnet: DevnetReady) -> AsyncIterator[Door]:
    async with Door(devnet.url) as door:
        yield door


@pytest.fixture
async def through_door(desk: Desk, door: Door) -> AsyncIterator[Desk]:
    async with RpcClient(desk.network, [door.url]) as client:
        yield Desk(client, desk.network, desk.store)


def tokens(wallet: WalletPositions) -> set[int]:
    assert wallet.complete
    assert wallet.shortfall is None
    return {one.ref.token_id for one in wallet.positions}


async def test_a_wallet_that_never_had_a_position(desk: Desk) -> None:
    for _ in range(2):
        wallet = await desk.discovery.read(NEWCOMER)
        assert (wallet.found_count, wallet.balance_of) == (0, 0)
        assert tokens(wallet) == set()


async def test_a_wallet_with_one(desk: Desk, changing: Moves) -> None:
    assert tokens(await desk.discovery.read(NEWCOMER)) == set()
    [token_id] = changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, NEWCOMER)
    for _ in range(2):
        wallet = await desk.discovery.read(NEWCOMER)
        assert tokens(wallet) == {token_id}
        assert wallet.block.number == int(changing.rpc("eth_blockNumber"), 16)


async def test_the_demo_wallet_shows_every_state(desk: Desk) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    assert wallet.found_count == wallet.balance_of >= 7
    by_pool = {one.pool.key: one for one in wallet.positions}
    assert {one.status for one in wallet.positions} == set(RangeStatus)
    assert by_pool[STABLE.key].custody.subscriber == SUBSCRIBER
    assert [one.custody.approved for one in wallet.positions if one.custody.approved] == [
        STRANGER.address
    ]
    assert ETH_USDC.key in by_pool
    guarded = by_pool[GUARDED.key].pool.hook
    assert guarded.address == EXIT_GUARD
    assert guarded.can_refuse_exit
    assert guarded.code is not None
    assert not guarded.code.empty
    dynamic = by_pool[DYNAMIC.key].pool
    assert dynamic.key.fee == DYNAMIC_FEE
    assert 0 < dynamic.lp_fee < DYNAMIC_FEE
    [empty] = [one for one in wallet.positions if one.liquidity == 0]
    assert (empty.amount0, empty.amount1, empty.fees0, empty.fees1) == (0, 0, 0, 0)
    for one in wallet.positions:
        check(one)


def check(position: PositionSnapshot) -> None:
    identity, pool = position.identity, position.pool
    inside = identity.tick_lower <= pool.tick < identity.tick_upper
    assert position.in_range == inside
    assert (position.share > 0) == (inside and position.liquidity > 0)
    assert 0 <= position.share < 1
    assert position.delta == position.amount0
    assert position.sources["amounts"] == f"PoolManager storage, block {position.block.number}"


async def test_given_away_and_back_again(desk: Desk, changing: Moves) -> None:
    before = tokens(await desk.discovery.read(DEMO_WALLET.address))
    token_id = min(before)
    theirs = tokens(await desk.discovery.read(NEIGHBOUR.address))
    for _ in range(2):
        changing.give(DEMO_WALLET, NEIGHBOUR.address, token_id)
        assert tokens(await desk.discovery.read(DEMO_WALLET.address)) == before - {token_id}
        assert tokens(await desk.discovery.read(NEIGHBOUR.address)) == theirs | {token_id}
        changing.give(NEIGHBOUR, DEMO_WALLET.address, token_id)
        assert tokens(await desk.discovery.read(DEMO_WALLET.address)) == before
        assert tokens(await desk.discovery.read(NEIGHBOUR.address)) == theirs


async def test_out_and_in_again_between_two_looks(desk: Desk, changing: Moves) -> None:
    before = tokens(await desk.discovery.read(DEMO_WALLET.address))
    token_id = max(before)
    changing.give(DEMO_WALLET, NEIGHBOUR.address, token_id)
    changing.give(NEIGHBOUR, DEMO_WALLET.address, token_id)
    changing.give(DEMO_WALLET, DEMO_WALLET.address, token_id)
    assert tokens(await desk.discovery.read(DEMO_WALLET.address)) == before


async def test_a_burned_position_is_gone(desk: Desk, changing: Moves) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    position = next(one for one in wallet.positions if one.pool.key == WETH_USDC.key)
    changing.burn(DEMO_WALLET, position.identity)
    after = await desk.discovery.read(DEMO_WALLET.address)
    assert tokens(after) == tokens(wallet) - {position.ref.token_id}


async def test_an_emptied_position_stays(desk: Desk, changing: Moves) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    position = max(wallet.positions, key=lambda one: one.liquidity)
    changing.decrease(DEMO_WALLET, position.identity, position.liquidity)
    after = await desk.discovery.read(DEMO_WALLET.address)
    assert tokens(after) == tokens(wallet)
    emptied = next(one for one in after.positions if one.ref == position.ref)
    assert (emptied.liquidity, emptied.amount0, emptied.fees0) == (0, 0, 0)


async def test_operators_are_strangers_to_be_shown(desk: Desk, changing: Moves) -> None:
    assert (await desk.discovery.read(DEMO_WALLET.address)).operators == ()
    manager = desk.network.contracts.position_manager
    for allowed in (True, True, False):
        approval = "setApprovalForAll(address,bool)"
        changing.send(DEMO_WALLET, manager, encode_call(approval, STRANGER.address, allowed))
        expected = (STRANGER.address,) if allowed else ()
        for _ in range(2):
            assert (await desk.discovery.read(DEMO_WALLET.address)).operators == expected


async def test_a_history_that_was_replaced(desk: Desk, moves: Moves) -> None:
    with moves.undone():
        [token_id] = moves.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, NEWCOMER)
        wallet = await desk.discovery.read(NEWCOMER)
        assert [one.identity.tick_upper for one in wallet.positions] == [7]
    assert tokens(await desk.discovery.read(NEWCOMER)) == set()
    with moves.undone():
        # The same token id, but another pool and another range.
        again = moves.mint(MEDIUM_PROVIDER, WETH_USDC.key, [(-600, 660)], 10**9, NEWCOMER)
        assert again == [token_id]
        wallet = await desk.discovery.read(NEWCOMER)
        assert [one.identity.tick_upper for one in wallet.positions] == [660]


async def test_an_approval_older_than_a_checkpoint_of_a_replaced_history(
    desk: Desk, moves: Moves
) -> None:
    with moves.undone():
        moves.rpc("hardhat_mine", "0x5")
        ahead = await desk.discovery.read(DEMO_WALLET.address)
    with moves.undone():
        manager = desk.network.contracts.position_manager
        approve = encode_call("setApprovalForAll(address,bool)", STRANGER.address, True)
        moves.send(DEMO_WALLET, manager, approve)
        moves.rpc("hardhat_mine", "0xa")
        wallet = await desk.discovery.read(DEMO_WALLET.address)
        assert wallet.block.number > ahead.block.number
        assert wallet.operators == (STRANGER.address,)


async def test_a_node_that_answers_few_blocks_at_once(
    through_door: Desk, door: Door, desk: Desk, moves: Moves
) -> None:
    head = int(moves.rpc("eth_blockNumber"), 16)
    door.meddle = refuse_wide_logs(7, head)
    told: list[SearchProgress] = []
    memory = through_door.memory
    slow = Discovery(through_door.client, desk.network, memory, watch=told.append)
    wallet = await slow.read(DEMO_WALLET.address)
    assert wallet.found_count >= 7
    assert tokens(wallet)
    assert {one.by for one in told} == {"logs"}
    assert told[-1].found == told[-1].wanted == wallet.found_count
    assert [one.done for one in told] == sorted({one.done for one in told})
    assert told[-1].blocks_at_once == 7

    told.clear()
    door.requests = 0
    assert tokens(await slow.read(DEMO_WALLET.address)) == tokens(wallet)
    assert (told, door.requests) == ([], 1)


async def test_a_search_that_was_interrupted_goes_on_where_it_stopped(
    through_door: Desk, door: Door, moves: Moves
) -> None:
    head = int(moves.rpc("eth_blockNumber"), 16)
    door.meddle = refuse_wide_logs(7, head)
    seen: list[SearchProgress] = []

    def stop_half_way(progress: SearchProgress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    client, network = through_door.client, through_door.network
    first = Discovery(client, network, through_door.memory, watch=stop_half_way)
    with pytest.raises(KeyboardInterrupt):
        await first.read(DEMO_WALLET.address)
    told: list[SearchProgress] = []
    second = Discovery(client, network, through_door.memory, watch=told.append)
    assert tokens(await second.read(DEMO_WALLET.address))
    assert told[0].done > seen[-1].done


def forgetful(call: dict[str, Any]) -> dict[str, Any] | None:
    return {"result": []} if call["method"] == "eth_getLogs" else None


async def test_what_a_node_leaves_out_of_its_logs_is_found_by_its_owner(
    through_door: Desk, door: Door, desk: Desk
) -> None:
    truth = tokens(await desk.discovery.read(DEMO_WALLET.address))
    desk.store.forget("holdings")
    door.meddle = forgetful
    assert tokens(await through_door.discovery.read(DEMO_WALLET.address)) == truth


async def test_what_cannot_be_found_is_told_and_not_looked_for_on_every_look(
    through_door: Desk, door: Door, desk: Desk, changing: Moves
) -> None:
    truth = tokens(await desk.discovery.read(DEMO_WALLET.address))
    for namespace in ("holdings", "position"):
        desk.store.forget(namespace)

    def neither_logs_nor_ids(call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] == "eth_call" and call["params"][0]["data"] == NEXT_ID:
            return error(-32000, "out of gas")
        return forgetful(call)

    door.meddle = neither_logs_nor_ids
    wallet = await through_door.discovery.read(DEMO_WALLET.address)
    assert (wallet.found_count, wallet.balance_of) == (0, len(truth))
    assert wallet.shortfall is not None
    assert f"holds {len(truth)} positions" in wallet.shortfall
    door.requests = 0
    again = await through_door.discovery.read(DEMO_WALLET.address)
    assert (again.found_count, door.requests) == (0, 1)
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, DEMO_WALLET.address)
    door.meddle = None
    assert tokens(await through_door.discovery.read(DEMO_WALLET.address)) > truth


@pytest.mark.parametrize("spoil", ["0x", "0x" + "ff" * 32, "0x" + "00" * 31])
async def test_a_node_that_answers_nonsense_is_told_so(
    through_door: Desk, door: Door, desk: Desk, spoil: str
) -> None:
    balance = encode_call("balanceOf(address)", DEMO_WALLET.address).hex()

    def nonsense(call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] == "eth_call" and balance in call["params"][0]["data"]:
            return {"result": spoil}
        return None

    door.meddle = nonsense
    with pytest.raises(Malformed):
        await through_door.discovery.read(DEMO_WALLET.address)


async def test_a_lying_pool_key_is_not_believed(
    through_door: Desk, door: Door, moves: Moves
) -> None:
    """The pool key must hash to the pool id the position itself names."""
    word = encode_call("f(address)", STABLE.currency1.address)[4:].hex()

    def another_token(call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] != "eth_call":
            return None
        answer: str = moves.rpc("eth_call", *call["params"])
        return {"result": answer.replace(word, "00" * 12 + "77" * 20)}

    door.meddle = another_token
    with pytest.raises(Malformed, match="pool key"):
        await through_door.discovery.read(DEMO_WALLET.address)


async def test_what_was_remembered_wrongly_is_read_again(desk: Desk) -> None:
    truth = tokens(await desk.discovery.read(DEMO_WALLET.address))
    [(key, value)] = desk.store.items("holdings").items()
    assert isinstance(value, list)
    value[-1]["held"] = value[-1]["held"][1:]
    desk.store.put("holdings", key, value, now=0)
    assert tokens(await desk.discovery.read(DEMO_WALLET.address)) == truth


async def test_a_remembered_pool_is_believed_only_if_the_chain_agrees(desk: Desk) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    for key, value in desk.store.items("position").items():
        assert isinstance(value, list)
        desk.store.put("position", key, [*value[:5], -887220, 887220], now=0)
    again = await desk.discovery.read(DEMO_WALLET.address)
    assert again.positions == wallet.positions


async def test_a_head_that_moves_while_it_is_read(
    through_door: Desk, door: Door, changing: Moves
) -> None:
    before = await through_door.discovery.read(DEMO_WALLET.address)
    position = before.positions[0]

    def somebody_is_faster(call: dict[str, Any]) -> None:
        if call["method"] == "eth_call":
            door.meddle = None
            changing.give(DEMO_WALLET, NEIGHBOUR.address, position.ref.token_id)

    door.meddle = somebody_is_faster
    door.requests = 0
    during = await through_door.discovery.read(DEMO_WALLET.address)
    # Answers of the new head were thrown away, and asked again of the block of the header.
    assert door.requests == 2
    assert during.block == before.block
    assert during.positions == before.positions
    after = await through_door.discovery.read(DEMO_WALLET.address)
    assert after.block.number == before.block.number + 1
    assert tokens(after) == tokens(before) - {position.ref.token_id}
