"""Deposits, withdrawals and fees rebuilt from logs are what the tokens' own transfers say."""

import pytest
from msgspec.structs import replace

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.abi import topic
from chain.contracts.networks import NATIVE
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import ARBITRAGEUR, DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.pools import ETH_USDC, STABLE, WETH_USDC_LOW
from chain.math.liquidity import Amounts
from chain.positions.by_day import SinceEntry
from chain.positions.performance import read_accounts
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionSnapshot
from chain.rpc import requests
from chain.rpc.client import RpcClient
from tests.chain.between import Door, without_archive
from tests.chain.conftest import Desk
from tests.chain.moves import Moves

TRANSFER = topic("Transfer(address,address,uint256)")


def known(quantity: Quantity[Amounts]) -> Amounts:
    assert isinstance(quantity, Known)
    return quantity.value


async def accounts_of(
    desk: Desk, client: RpcClient | None = None
) -> tuple[dict[PositionRef, PositionSnapshot], dict[PositionRef, SinceEntry]]:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    asked = replace(desk.sources, client=client or desk.client)
    found = await read_accounts(asked, wallet.positions)
    return {one.ref: one for one in wallet.positions}, found


async def paid_into_pool(desk: Desk, pair: tuple[str, str], change: LiquidityChange) -> list[int]:
    """What the transaction moved into the pool, by the tokens' own logs; negative for out."""
    receipt = await desk.client.ask(requests.receipt(change.place.transaction_hash))
    assert receipt is not None
    pool = desk.network.contracts.pool_manager
    moved = [0, 0]
    for log in receipt.logs:
        if log.address not in pair or log.topics[0] != TRANSFER:
            continue
        amount = int.from_bytes(log.data, "big")
        side = pair.index(log.address)
        moved[side] += amount if log.topics[2][-40:] == pool[2:] else 0
        moved[side] -= amount if log.topics[1][-40:] == pool[2:] else 0
    return moved


async def test_every_change_moved_exactly_what_the_tokens_say(desk: Desk) -> None:
    snapshots, accounts = await accounts_of(desk)
    assert accounts.keys() == snapshots.keys()
    compared = 0
    for token_id, account in accounts.items():
        key = snapshots[token_id].pool.key
        assert account.changes
        for change in account.changes:
            amounts, fees = known(change.amounts), known(change.fees)
            sign = 1 if change.liquidity_delta > 0 else -1
            expected = [
                sign * amounts.amount0 - fees.amount0,
                sign * amounts.amount1 - fees.amount1,
            ]
            moved = await paid_into_pool(desk, (key.currency0, key.currency1), change)
            first = 1 if key.currency0 == NATIVE else 0
            assert moved[first:] == expected[first:]
            compared += 1
    assert compared > len(accounts)


async def test_one_that_grew_and_shrank(desk: Desk) -> None:
    snapshots, accounts = await accounts_of(desk)
    token_id = next(
        token_id
        for token_id, account in accounts.items()
        if [change.liquidity_delta > 0 for change in account.changes] == [True, True, False]
    )
    snapshot, account = snapshots[token_id], accounts[token_id]
    assert snapshot.pool.key == WETH_USDC_LOW.key
    mint, grow, shrink = account.changes
    assert known(mint.fees) == (0, 0)
    assert max(known(grow.fees)) > 0
    assert known(account.fees_collected) == tuple(
        a + b for a, b in zip(known(grow.fees), known(shrink.fees), strict=True)
    )
    assert known(account.fees_earned).amount0 == (
        known(account.fees_collected).amount0 + snapshot.fees0
    )
    put_in, taken_out = known(account.deposited), known(account.withdrawn)
    assert known(account.held_instead) == (
        put_in.amount0 - taken_out.amount0,
        put_in.amount1 - taken_out.amount1,
    )
    assert isinstance(account.gas, Known)
    assert account.gas.value > 0
    opened = await desk.client.ask(requests.block(mint.place.block_number))
    assert opened is not None
    assert isinstance(account.age_seconds, Known)
    assert account.age_seconds.value == snapshot.block.timestamp - opened.timestamp


async def test_holding_is_compared_at_the_present_price(desk: Desk) -> None:
    snapshots, accounts = await accounts_of(desk)
    for token_id, account in accounts.items():
        one = snapshots[token_id]
        price = one.pool.sqrt_price_x96**2 / 2**192

        def worth(amount0: int, amount1: int, price: float = price) -> float:
            return amount0 * price + amount1

        held = known(account.held_instead)
        earned = known(account.fees_earned)
        gain = worth(one.amount0, one.amount1) + worth(*earned) - worth(*held)
        loss = worth(one.amount0, one.amount1) - worth(*held)
        assert isinstance(account.against_holding, Known)
        assert isinstance(account.impermanent_loss, Known)
        size = worth(*known(account.deposited))
        assert float(account.against_holding.value) == pytest.approx(gain, abs=size * 1e-9)
        assert float(account.impermanent_loss.value) == pytest.approx(loss / size, abs=1e-9)
        assert account.impermanent_loss.value <= 0


async def test_changes_in_the_block_of_a_swap_use_the_price_between(
    desk: Desk, changing: Moves
) -> None:
    """Two swaps around a withdrawal in one block: neither the block before nor its end is right."""
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    position = next(one for one in wallet.positions if one.pool.key == STABLE.key)
    changing.rpc("evm_setAutomine", False)
    try:
        amount = 400_000 * 10**6
        changing.swap(ARBITRAGEUR, STABLE.key, amount, zero_for_one=True, mined=False)
        changing.decrease(DEMO_WALLET, position.identity, position.liquidity // 3, mined=False)
        changing.swap(ARBITRAGEUR, STABLE.key, 2 * amount, zero_for_one=False, mined=False)
        changing.rpc("evm_mine")
    finally:
        changing.rpc("evm_setAutomine", True)
    snapshots, accounts = await accounts_of(desk)
    change = accounts[position.ref].changes[-1]
    assert change.place.block_number == snapshots[position.ref].block.number
    key = position.pool.key
    moved = await paid_into_pool(desk, (key.currency0, key.currency1), change)
    amounts, fees = known(change.amounts), known(change.fees)
    assert moved == [-amounts.amount0 - fees.amount0, -amounts.amount1 - fees.amount1]


async def test_fees_between_two_changes_of_one_block_are_not_made_up(
    desk: Desk, changing: Moves
) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    position = next(one for one in wallet.positions if one.pool.key == STABLE.key)
    part = position.liquidity // 3
    changing.rpc("evm_setAutomine", False)
    try:
        changing.decrease(DEMO_WALLET, position.identity, part, mined=False)
        changing.swap(ARBITRAGEUR, STABLE.key, 10**9, zero_for_one=True, mined=False)
        changing.decrease(DEMO_WALLET, position.identity, part, mined=False)
        changing.rpc("evm_mine")
    finally:
        changing.rpc("evm_setAutomine", True)
    _, accounts = await accounts_of(desk)
    *_, first, second = accounts[position.ref].changes
    assert first.place.block_number == second.place.block_number
    for change in (first, second):
        assert isinstance(change.amounts, Known)
        assert isinstance(change.fees, Unknown)
        assert "several times" in change.fees.reason


async def test_gas_is_shared_by_the_positions_of_a_transaction(desk: Desk, changing: Moves) -> None:
    owner = "0x" + "0f" * 20
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7), (-8, 8), (-9, 9)], 10**9, owner)
    wallet = await desk.discovery.read(owner)
    accounts = await read_accounts(desk.sources, wallet.positions)
    [change] = next(iter(accounts.values())).changes
    receipt = await desk.client.ask(requests.receipt(change.place.transaction_hash))
    assert receipt is not None
    share = receipt.gas_used * receipt.effective_gas_price // 3
    assert [one.gas for one in accounts.values()] == [
        Known(share, "receipt", receipt.block_number)
    ] * 3


async def test_what_needs_an_archive_is_unknown_without_one(
    desk: Desk, devnet: DevnetReady, moves: Moves
) -> None:
    _, with_archive = await accounts_of(desk)
    desk.store.forget("changes")
    head = int(moves.rpc("eth_blockNumber"), 16)
    async with (
        Door(devnet.url, without_archive(head, kept=0)) as door,
        RpcClient(desk.network, [door.url]) as client,
    ):
        _, without = await accounts_of(desk, client)
    unknown = 0
    for token_id, account in without.items():
        # Prices are in the logs, so what was put in is known without any archive.
        assert known(account.deposited) == known(with_archive[token_id].deposited)
        assert known(account.withdrawn) == known(with_archive[token_id].withdrawn)
        if len(account.changes) == 1:
            assert known(account.fees_collected) == (0, 0)
            assert isinstance(account.against_holding, Known)
        else:
            assert isinstance(account.fees_collected, Unknown)
            assert "archive" in account.fees_collected.reason
            assert isinstance(account.against_holding, Unknown)
            assert isinstance(account.impermanent_loss, Known)
            unknown += 1
    assert unknown


async def test_the_past_is_asked_once(desk: Desk, devnet: DevnetReady) -> None:
    _, first = await accounts_of(desk)
    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        _, second = await accounts_of(desk, client)
    assert {key: one.deposited for key, one in second.items()} == {
        key: one.deposited for key, one in first.items()
    }
    final = await desk.client.ask(requests.block("finalized"))
    assert final is not None
    since = [
        change
        for account in first.values()
        for change in account.changes
        if change.place.block_number > final.number
    ]
    assert door.methods.count("eth_getTransactionReceipt") <= len(since)


async def test_without_an_archive_the_past_is_asked_once_too(
    desk: Desk, devnet: DevnetReady, changing: Moves
) -> None:
    changing.rpc("anvil_mine", hex(70))  # everything that happened is final
    head = int(changing.rpc("eth_blockNumber"), 16)
    async with (
        Door(devnet.url, without_archive(head, kept=0)) as door,
        RpcClient(desk.network, [door.url]) as client,
    ):
        _, first = await accounts_of(desk, client)
        door.methods.clear()
        _, second = await accounts_of(desk, client)
    assert second == first
    assert any(isinstance(one.fees_collected, Unknown) for one in second.values())
    assert "eth_call" not in door.methods
    assert door.methods.count("eth_getLogs") == 1
    # Another endpoint may know: it is asked at once.
    _, with_archive = await accounts_of(desk)
    assert all(isinstance(one.fees_collected, Known) for one in with_archive.values())


async def test_a_past_of_another_chain_is_not_believed(desk: Desk) -> None:
    _, first = await accounts_of(desk)
    for key, value in desk.store.items("changes").items():
        assert isinstance(value, dict)
        later = [[*row[:5], row[5] + 999, *row[6:]] for row in value["events"]]
        desk.store.put("changes", key, {**value, "hash": "0x" + "77" * 32, "events": later}, now=0)
    for key in desk.store.items("minted"):
        desk.store.put("minted", key, 10**6, now=0)
    _, second = await accounts_of(desk)
    assert [one.changes for one in second.values()] == [one.changes for one in first.values()]


async def test_native_deposits(desk: Desk, moves: Moves) -> None:
    """What ether does is in no log of a token: compare with the balance before and after."""
    snapshots, accounts = await accounts_of(desk)
    token_id = next(key for key, one in snapshots.items() if one.pool.key == ETH_USDC.key)
    [mint] = accounts[token_id].changes
    receipt = await desk.client.ask(requests.receipt(mint.place.transaction_hash))
    assert receipt is not None
    pool = desk.network.contracts.pool_manager
    before, after = [
        await desk.client.ask(requests.balance(pool, number))
        for number in (mint.place.block_number - 1, mint.place.block_number)
    ]
    assert after - before == known(mint.amounts).amount0
