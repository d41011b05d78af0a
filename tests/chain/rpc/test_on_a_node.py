"""Every kind of question put to a real node, its answers beside web3.py's."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from web3 import HTTPProvider, Web3

from chain.base.units import GWEI
from chain.contracts.abi import selector
from chain.contracts.networks import network_named
from chain.devnet.world.writing import sign_transaction
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import (
    BlockMissing,
    Reorged,
    Reverted,
    RpcRefused,
    SendRefusal,
    SendRefused,
)
from chain.rpc.records import AccountOverride, LogFilter
from chain.rpc.requests import Request
from tests.chain_view import GENESIS_TIME, ChainView
from tests.small_contracts import (
    ALICE,
    ALICE_KEY,
    BOB,
    COUNTER,
    ECHO,
    NOBODY,
    REVERT,
    chain_of_small_contracts,
    signed,
    word,
)

TOPIC = word(7)


@dataclass(frozen=True)
class Setting:
    client: RpcClient
    chain: ChainView
    web3: Web3
    """Blocking: to be used in a thread."""
    hashes: tuple[str, ...]
    """Of three transactions to the counter, one in each of the blocks 1 to 3."""


@pytest.fixture
async def setting() -> AsyncIterator[Setting]:
    with chain_of_small_contracts() as chain:
        async with RpcClient(network_named("devnet"), [chain.url]) as client:
            chain("evm_setAutomine", False)
            hashes = []
            for nonce in range(3):
                hashes.append(await client.ask(requests.send_raw(signed(nonce=nonce).raw)))
                chain.mine()
            yield Setting(client, chain, Web3(HTTPProvider(chain.url)), tuple(hashes))


async def test_blocks(setting: Setting) -> None:
    theirs: Any = await asyncio.to_thread(setting.web3.eth.get_block, 2)
    for ref in (2, "0x" + theirs["hash"].hex()):
        block = await setting.client.ask(requests.block(ref))
        assert block is not None
        assert block.number == theirs["number"] == 2
        assert block.hash == "0x" + theirs["hash"].hex()
        assert block.parent_hash == "0x" + theirs["parentHash"].hex()
        assert block.timestamp == theirs["timestamp"] > GENESIS_TIME
        assert block.base_fee_per_gas == theirs["baseFeePerGas"]
        assert (block.gas_used, block.gas_limit) == (theirs["gasUsed"], theirs["gasLimit"])
    assert await setting.client.ask(requests.block(99)) is None
    assert await setting.client.ask(requests.block("0x" + "12" * 32)) is None
    assert (await setting.client.head()).number == 3


async def test_state_at_any_block(setting: Setting) -> None:
    client, eth = setting.client, setting.web3.eth
    for number in range(4):
        storage, balance, nonce, code = await client.together(
            requests.storage(COUNTER, 0, number),
            requests.balance(ALICE, number),
            requests.transaction_count(ALICE, number),
            requests.code(COUNTER, number),
        )
        assert int(storage, 16) == 41 + number
        assert nonce == number
        counter, alice = Web3.to_checksum_address(COUNTER), Web3.to_checksum_address(ALICE)
        assert balance == await asyncio.to_thread(eth.get_balance, alice, number)
        assert code == await asyncio.to_thread(eth.get_code, counter, number)
    assert await client.ask(requests.storage(COUNTER, word(0), "finalized")) == word(41)


async def test_calls_and_their_refusals(setting: Setting) -> None:
    client = setting.client
    assert await client.ask(requests.call(ECHO, b"hello")) == b"hello"
    assert await client.ask(requests.call(COUNTER, b"", 1)) == (43).to_bytes(32)
    pretended = {COUNTER: AccountOverride(storage={word(0): word(99)})}
    overridden = requests.call(COUNTER, b"", state_override=pretended, sender=BOB, gas=90_000)
    assert await client.ask(overridden) == (100).to_bytes(32)
    custom = selector("NotApproved(address)") + bytes(32)
    with pytest.raises(Reverted) as caught:
        await client.ask(requests.call(REVERT, custom))
    assert caught.value.data == custom
    with pytest.raises(RpcRefused):
        await client.ask(requests.call(ECHO, b"", sender=NOBODY, value=1))
    for unknown in (10**6, "0x" + "12" * 32):
        with pytest.raises(BlockMissing):
            await client.ask(requests.call(ECHO, b"", unknown))
        with pytest.raises(BlockMissing):
            await client.ask(requests.storage(COUNTER, 0, unknown))
    with pytest.raises(BlockMissing):
        await client.ask(requests.logs(LogFilter(COUNTER, (), 10**6, 10**6 + 5)))
    with pytest.raises(RpcRefused) as missing:
        await client.ask(Request("eth_nothing", (), str))
    assert missing.value.lasting
    assert not missing.value.retryable
    with pytest.raises(RpcRefused, match="OutOfGas"):
        await client.ask(requests.call(COUNTER, b"", gas=22_000))


async def test_gas_and_fees(setting: Setting) -> None:
    client, eth = setting.client, setting.web3.eth
    estimate, price, tip = await client.together(
        requests.estimate_gas(COUNTER, b"", sender=ALICE),
        requests.gas_price(),
        requests.max_priority_fee(),
    )
    sent: Any = {"to": Web3.to_checksum_address(COUNTER), "from": Web3.to_checksum_address(ALICE)}
    assert estimate == await asyncio.to_thread(eth.estimate_gas, sent)
    assert price == await asyncio.to_thread(lambda: eth.gas_price)
    assert tip == await asyncio.to_thread(lambda: eth.max_priority_fee)
    ours = await client.ask(requests.fee_history(3, 3, [10, 50]))
    assert ours is not None
    newest: Any = 3
    theirs: Any = await asyncio.to_thread(eth.fee_history, 3, newest, [10, 50])
    assert ours.oldest_block == theirs["oldestBlock"]
    assert list(ours.base_fees) == theirs["baseFeePerGas"]
    assert list(ours.gas_used_ratios) == theirs["gasUsedRatio"]
    assert [list(row) for row in ours.rewards] == theirs["reward"]


async def test_logs(setting: Setting) -> None:
    logs = await setting.client.ask(requests.logs(LogFilter(COUNTER, (TOPIC,), 0, 3)))
    wanted: Any = {"address": Web3.to_checksum_address(COUNTER), "fromBlock": 0, "toBlock": 3}
    theirs: Any = await asyncio.to_thread(setting.web3.eth.get_logs, wanted)
    assert len(logs) == len(theirs) == 3
    for ours, other in zip(logs, theirs, strict=True):
        assert ours.block_number == other["blockNumber"]
        assert ours.block_hash == "0x" + other["blockHash"].hex()
        assert ours.transaction_hash == "0x" + other["transactionHash"].hex()
        assert (ours.log_index, ours.transaction_index) == (0, 0)
        assert ours.data == bytes(other["data"])
        assert list(ours.topics) == ["0x" + topic.hex() for topic in other["topics"]]
    some = LogFilter((COUNTER, ECHO), (None,), 2, "latest")
    assert [log.block_number for log in await setting.client.ask(requests.logs(some))] == [2, 3]
    others = LogFilter((), ((word(8), word(9)),), "earliest", "latest")
    assert await setting.client.ask(requests.logs(others)) == ()


async def test_transactions_and_receipts(setting: Setting) -> None:
    client, eth = setting.client, setting.web3.eth
    wanted: Any = setting.hashes[1]
    transaction, receipt = await client.together(
        requests.transaction(wanted), requests.receipt(wanted)
    )
    assert transaction is not None
    assert receipt is not None
    theirs: Any = await asyncio.to_thread(eth.get_transaction_receipt, wanted)
    assert receipt.gas_used == theirs["gasUsed"]
    assert receipt.effective_gas_price == theirs["effectiveGasPrice"]
    assert receipt.cumulative_gas_used == theirs["cumulativeGasUsed"]
    assert (receipt.succeeded, receipt.block_number, receipt.l1_fee) == (True, 2, None)
    assert (receipt.sender, receipt.to) == (ALICE, COUNTER)
    assert [log.topics for log in receipt.logs] == [(TOPIC,)]
    assert (transaction.nonce, transaction.to, transaction.block_number) == (1, COUNTER, 2)
    assert transaction.max_fee_per_gas == 2 * GWEI
    assert await client.ask(requests.receipt(word(5))) is None
    assert await client.ask(requests.transaction(word(5))) is None


async def test_sends_are_refused_with_reasons(setting: Setting) -> None:
    async def refusal(raw: bytes) -> SendRefusal:
        with pytest.raises(SendRefused) as caught:
            await setting.client.ask(requests.send_raw(raw))
        return caught.value.reason

    assert await refusal(signed(nonce=0).raw) is SendRefusal.NONCE_TOO_LOW
    assert await refusal(signed(nonce=3, value=10**24).raw) is SendRefusal.INSUFFICIENT_FUNDS
    for gas in (20_000, 70_000_000):
        assert await refusal(signed(nonce=3, gas=gas).raw) is SendRefusal.GAS_LIMIT
    assert await refusal(signed(nonce=3, fee=1, tip=1).raw) is SendRefusal.UNDERPRICED
    elsewhere = sign_transaction(
        ALICE_KEY, nonce=3, to=COUNTER, gas=100_000, max_fee_per_gas=2 * GWEI,
        max_priority_fee_per_gas=1, chain_id=1,
    )  # fmt: skip
    assert await refusal(elsewhere.raw) is SendRefusal.WRONG_CHAIN_ID
    assert await refusal(b"\x02\xc0") is SendRefusal.OTHER
    waiting = signed(nonce=3)
    assert await setting.client.ask(requests.send_raw(waiting.raw))
    assert await refusal(waiting.raw) is SendRefusal.ALREADY_KNOWN
    other = signed(nonce=3, data=b"other")
    assert await refusal(other.raw) is SendRefusal.REPLACEMENT_UNDERPRICED
    assert await setting.client.ask(requests.transaction_count(ALICE, "pending")) == 4


async def test_a_pinned_reader_through_a_real_reorganisation(setting: Setting) -> None:
    client = setting.client
    reader = client.at(await client.head())
    counter = requests.storage(COUNTER, 0)
    assert int(await reader.ask(counter), 16) == 44
    setting.chain.reorg(2)
    with pytest.raises(Reorged):
        await reader.ask(counter)
    now = await client.at(await client.head()).ask(counter)
    assert int(now, 16) == setting.chain.storage(COUNTER, 0) == 42


async def test_it_says_of_which_chain_it_is(setting: Setting) -> None:
    assert await setting.client.ask(requests.chain_id()) == 31337
