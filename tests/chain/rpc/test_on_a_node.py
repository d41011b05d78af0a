"""What a real node refuses, and a reader pinned to a block that it takes back."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

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
from tests.chain_view import ChainView
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


@dataclass(frozen=True)
class Setting:
    client: RpcClient
    chain: ChainView


@pytest.fixture
async def setting() -> AsyncIterator[Setting]:
    """With three transactions to the counter, one in each of the blocks 1 to 3."""
    with chain_of_small_contracts() as chain:
        async with RpcClient(network_named("devnet"), [chain.url]) as client:
            chain("evm_setAutomine", False)
            for nonce in range(3):
                await client.ask(requests.send_raw(signed(nonce=nonce).raw))
                chain.mine()
            yield Setting(client, chain)


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
