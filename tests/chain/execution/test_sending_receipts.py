"""What a receipt says a wallet got and paid is what its balances show, to the last unit."""

import pytest
from msgspec.structs import replace

from chain.contracts.abi import encode_call
from chain.contracts.calldata import TO_SENDER, Burn, TakePair
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.deployment import WETH
from chain.devnet.world.pools import ETH_USDC, STABLE
from chain.execution.outbox.receipts import (
    NativeChange,
    NotIncludedError,
    Realised,
    all_together,
    read_realised,
    realised_of,
)
from chain.protocols.reference import v4_position
from tests import node_rpc
from tests.chain.conftest import Desk
from tests.chain.execution.outbox_kit import RECIPIENT, signed_by, transfer
from tests.chain.moves import Moves

WALLET = MEDIUM_PROVIDER.address


def native_balance(moves: Moves, owner: str) -> int:
    return int(moves.rpc("eth_getBalance", owner, "latest"), 16)


def sent_by_demo(moves: Moves, *, to: str, value: int, data: bytes = b"") -> str:
    nonce = int(moves.rpc("eth_getTransactionCount", DEMO_WALLET.address, "pending"), 16)
    signed = signed_by(DEMO_WALLET, transfer(nonce, to=to, value=value, data=data, gas=100_000))
    return node_rpc.broadcast(moves.url, "0x" + signed.raw.hex())


def burned(moves: Moves, token_id: int, pool: PoolKey) -> str:
    take = TakePair(pool.currency0, pool.currency1, TO_SENDER)
    return moves.modify(MEDIUM_PROVIDER, Burn(token_id, 0, 0), take)


async def test_a_mint_and_its_burn(desk: Desk, changing: Moves, network: Network) -> None:
    pool = STABLE.key
    before = changing.balances(pool, WALLET)
    coins = native_balance(changing, WALLET)
    [token_id] = changing.mint(MEDIUM_PROVIDER, pool, [(-7, 7)], 10**12, WALLET)
    block = changing.rpc("eth_getBlockByNumber", "latest", False)
    [mint] = block["transactions"]
    between = changing.balances(pool, WALLET)
    receipt, entered = await read_realised(desk.client, mint, WALLET, network)
    assert entered.minted == (v4_position(token_id),)
    assert entered.burned == ()
    assert entered.tokens == {
        pool.currency0: between[0] - before[0],
        pool.currency1: between[1] - before[1],
    }
    assert min(before[0] - between[0], before[1] - between[1]) > 0
    assert entered.native == NativeChange(0)
    assert entered.gas_used == receipt.gas_used
    assert entered.gas_cost == coins - native_balance(changing, WALLET)

    _, left = await read_realised(desk.client, burned(changing, token_id, pool), WALLET, network)
    after = changing.balances(pool, WALLET)
    assert left.burned == (v4_position(token_id),)
    whole = all_together((entered, left))
    assert whole.tokens == {
        token: change
        for token, change in (
            (pool.currency0, after[0] - before[0]),
            (pool.currency1, after[1] - before[1]),
        )
        if change
    }
    assert (whole.minted, whole.burned) == ((v4_position(token_id),), (v4_position(token_id),))
    assert whole.gas_cost == coins - native_balance(changing, WALLET)


async def test_native_coin_is_told_without_its_gas(
    desk: Desk, changing: Moves, network: Network
) -> None:
    before = native_balance(changing, DEMO_WALLET.address)
    sent = sent_by_demo(changing, to=RECIPIENT, value=12_345)
    _, result = await read_realised(desk.client, sent, DEMO_WALLET.address, network)
    assert result.native == NativeChange(-12_345)
    assert before - native_balance(changing, DEMO_WALLET.address) == 12_345 + result.gas_cost
    assert result.tokens == {}


async def test_wrapping_is_told_once_with_and_without_a_transfer(
    desk: Desk, changing: Moves, network: Network
) -> None:
    """The embedded chain's wrapper logs a Transfer too; the one of mainnet does not."""
    wrapped = sent_by_demo(changing, to=WETH.address, value=777, data=encode_call("deposit()"))
    receipt, result = await read_realised(desk.client, wrapped, DEMO_WALLET.address, network)
    assert (result.tokens, result.native) == ({WETH.address: 777}, NativeChange(-777))
    assert len(receipt.logs) == 2
    [plain] = [log for log in receipt.logs if len(log.topics) == 2]
    as_mainnet = realised_of(
        replace(receipt, logs=(plain,)), DEMO_WALLET.address, network, result.native
    )
    assert as_mainnet == result
    unwrap = encode_call("withdraw(uint256)", 700)
    unwrapped = sent_by_demo(changing, to=WETH.address, value=0, data=unwrap)
    _, result = await read_realised(desk.client, unwrapped, DEMO_WALLET.address, network)
    assert (result.tokens, result.native) == ({WETH.address: -700}, NativeChange(700))


async def test_two_of_one_wallet_in_a_block_leave_the_coin_unknown(
    desk: Desk, changing: Moves, network: Network
) -> None:
    changing.rpc("evm_setAutomine", False)
    try:
        first = sent_by_demo(changing, to=RECIPIENT, value=1)
        sent_by_demo(changing, to=RECIPIENT, value=2)
        with pytest.raises(NotIncludedError):
            await read_realised(desk.client, first, DEMO_WALLET.address, network)
        changing.rpc("evm_mine")
    finally:
        changing.rpc("evm_setAutomine", True)
    _, result = await read_realised(desk.client, first, DEMO_WALLET.address, network)
    assert result.native.amount is None
    assert "more than one transaction" in result.native.reason
    assert all_together((result, result)).native == result.native


async def test_a_stranger_s_logs_move_nothing_of_ours(
    desk: Desk, changing: Moves, network: Network
) -> None:
    """The same receipt, read for another wallet, and with logs of odd shapes in it."""
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**12, WALLET)
    [mint] = changing.rpc("eth_getBlockByNumber", "latest", False)["transactions"]
    receipt, _ = await read_realised(desk.client, mint, WALLET, network)
    nothing = realised_of(receipt, DEMO_WALLET.address, network, NativeChange(0))
    assert nothing == Realised({}, NativeChange(0), receipt.gas_used, nothing.gas_cost, (), ())
    odd = [replace(log, topics=(), data=b"\0" * 32) for log in receipt.logs] + [
        replace(log, data=log.data + b"\0") for log in receipt.logs
    ]
    # Positions are told by their topics, which stand; amounts need exactly one word.
    told = realised_of(replace(receipt, logs=tuple(odd)), WALLET, network, NativeChange(0))
    assert told.tokens == {}


async def test_a_position_of_the_native_coin(desk: Desk, changing: Moves, network: Network) -> None:
    logs = await desk.discovery.read(DEMO_WALLET.address)
    position = next(one.identity for one in logs.positions if one.identity.pool_key == ETH_USDC.key)
    before = changing.balances(ETH_USDC.key, DEMO_WALLET.address)
    sent = changing.burn(DEMO_WALLET, position)
    after = changing.balances(ETH_USDC.key, DEMO_WALLET.address)
    _, result = await read_realised(desk.client, sent, DEMO_WALLET.address, network)
    assert result.native.amount == after[0] - before[0] + result.gas_cost
    assert result.native.amount > 0
    assert result.tokens == {ETH_USDC.key.currency1: after[1] - before[1]}
    assert result.burned == (position.ref,)
