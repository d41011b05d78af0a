"""Where a hook's proxy passes calls on to, read from real storage written on the embedded chain."""

import pytest

from chain.contracts.hooks import BEACON_SLOT, IMPLEMENTATION_SLOTS, hook_passport
from chain.devnet.world.accounts import DEPLOYER
from chain.pools.state import passes_calls_on, read_hook_targets
from tests import node_rpc
from tests.chain.conftest import Desk
from tests.chain.moves import Moves

FIRST, SECOND = "0x" + "11" * 20, "0x" + "22" * 20
HOOK_WITH_NO_PERMISSION = "0x" + "ab" * 18 + "0000"


def storing(words: dict[bytes, str], answer: str | None = None) -> bytes:
    """Code that makes a contract with these words in its storage, which answers with one address.

    PUSH32 value, PUSH32 slot, SSTORE; then the contract itself: PUSH20 answer, MSTORE, RETURN.
    """
    runtime = (
        b"\xfd"
        if answer is None
        else b"\x73" + bytes.fromhex(answer[2:]) + bytes.fromhex("5f5260205ff3")
    )
    stores = b"".join(
        b"\x7f" + bytes(12) + bytes.fromhex(address[2:]) + b"\x7f" + slot + b"\x55"
        for slot, address in words.items()
    )
    # PUSH1 length, DUP1, PUSH2 where it begins, PUSH0, CODECOPY, PUSH0, RETURN
    begins = len(stores) + 10
    copy = b"\x60" + bytes([len(runtime)]) + b"\x80\x61" + begins.to_bytes(2, "big")
    return stores + copy + b"\x5f\x39\x5f\xf3" + runtime


def made(moves: Moves, code: bytes) -> str:
    from chain.devnet.world.writing import sign_transaction

    nonce = int(moves.rpc("eth_getTransactionCount", DEPLOYER.address, "latest"), 16)
    signed = sign_transaction(
        DEPLOYER.key,
        nonce=nonce,
        to=None,
        gas=2_000_000,
        max_fee_per_gas=10**11,
        max_priority_fee_per_gas=10**9,
        value=0,
        data=code,
    )
    sent = moves.rpc("eth_sendRawTransaction", "0x" + signed.raw.hex())
    receipt = node_rpc.receipt(moves.url, sent)
    assert receipt["status"] == "0x1"
    return str(receipt["contractAddress"]).lower()


@pytest.mark.parametrize("slot", IMPLEMENTATION_SLOTS)
async def test_an_upgrade_changes_what_is_told(desk: Desk, changing: Moves, slot: bytes) -> None:
    before = made(changing, storing({slot: FIRST}))
    after = made(changing, storing({slot: SECOND}))
    plain = made(changing, storing({}))
    head = await desk.client.head()

    targets = await read_hook_targets(desk.client.at(head), [before, after, plain])

    assert targets == {before: (FIRST,), after: (SECOND,), plain: ()}


async def test_a_beacon_is_asked_whom_it_names(desk: Desk, changing: Moves) -> None:
    beacon = made(changing, storing({}, answer=SECOND))
    broken = made(changing, storing({}))
    hook = made(changing, storing({BEACON_SLOT: beacon}))
    other = made(changing, storing({BEACON_SLOT: broken}))
    head = await desk.client.head()
    before = desk.client.round_trips

    targets = await read_hook_targets(desk.client.at(head), [hook, other])

    assert targets == {hook: (beacon, SECOND), other: (broken,)}
    assert desk.client.round_trips - before == 2


async def test_without_hooks_nobody_is_asked(desk: Desk) -> None:
    head = await desk.client.head()
    before = desk.client.round_trips

    assert await read_hook_targets(desk.client.at(head), []) == {}
    assert desk.client.round_trips == before


def test_only_code_that_names_such_a_place_is_looked_into() -> None:
    upgradeable = hook_passport(HOOK_WITH_NO_PERMISSION, 3000, b"\x7f" + IMPLEMENTATION_SLOTS[0])
    minimal = bytes.fromhex("363d3d373d3d3d363d73" + "11" * 20 + "5af43d82803e903d91602b57fd5bf3")

    assert passes_calls_on(upgradeable)
    assert not passes_calls_on(hook_passport(HOOK_WITH_NO_PERMISSION, 3000, minimal))
    assert not passes_calls_on(hook_passport(HOOK_WITH_NO_PERMISSION, 3000, b"\x00"))
