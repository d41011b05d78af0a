"""The hash of a hook's code changes with everything that answers for it, on the embedded chain."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from chain.contracts.addresses import keccak
from chain.contracts.hooks import BEACON_SLOT, IMPLEMENTATION_SLOTS
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.rpc.client import RpcClient
from tests.chain.moves import Moves
from zuno_tui.gate.drift import read_hook_code

HOOK, BEACON = "0x" + "a1" * 20, "0x" + "b2" * 20
FIRST, SECOND = "0x" + "11" * 20, "0x" + "22" * 20
OWN, CODE, OTHER_CODE = "0x5f5ff3", "0x60015f5260205ff3", "0x60025f5260205ff3"
# PUSH0 SLOAD, PUSH0 MSTORE, PUSH1 32 PUSH0 RETURN: answers with its first word of storage.
NAMES_ITS_FIRST_WORD = "0x5f545f5260205ff3"
REVERTS = "0x5f5ffd"
ANSWERS_NOTHING = "0x5f5ff3"


@pytest.fixture
async def read(devnet: DevnetReady) -> AsyncIterator[Callable[[], Awaitable[str | None]]]:
    network = network_named("devnet")
    async with RpcClient(network, [devnet.url]) as client:

        async def now() -> str | None:
            return await read_hook_code(client, HOOK, (await client.head()).hash)

        yield now


def name(moves: Moves, contract: str, slot: bytes, address: str) -> None:
    moves.rpc("anvil_setStorageAt", contract, "0x" + slot.hex(), "0x" + "00" * 12 + address[2:])
    moves.rpc("evm_mine")


def put_code(moves: Moves, contract: str, code: str) -> None:
    moves.rpc("anvil_setCode", contract, code)
    moves.rpc("evm_mine")


async def test_code_that_names_nobody_is_its_own(
    moves: Moves, read: Callable[[], Awaitable[str | None]]
) -> None:
    assert await read() is None
    put_code(moves, HOOK, OWN)
    assert await read() == "0x" + keccak(bytes.fromhex(OWN[2:])).hex()
    name(moves, HOOK, BEACON_SLOT, BEACON)
    put_code(moves, HOOK, "0x")
    assert await read() is None


@pytest.mark.parametrize("slot", IMPLEMENTATION_SLOTS, ids=bytes.hex)
async def test_whom_it_names_and_their_code_count(
    moves: Moves, read: Callable[[], Awaitable[str | None]], slot: bytes
) -> None:
    put_code(moves, HOOK, OWN)
    seen = [await read()]
    name(moves, HOOK, slot, FIRST)
    seen.append(await read())
    name(moves, HOOK, slot, SECOND)
    seen.append(await read())
    put_code(moves, SECOND, CODE)
    seen.append(await read())
    put_code(moves, HOOK, OWN + "00")
    seen.append(await read())

    assert None not in seen
    assert len(set(seen)) == len(seen)


async def test_whom_a_beacon_names_counts_though_the_beacon_stays_the_same(
    moves: Moves, read: Callable[[], Awaitable[str | None]]
) -> None:
    put_code(moves, HOOK, OWN)
    put_code(moves, BEACON, NAMES_ITS_FIRST_WORD)
    name(moves, HOOK, BEACON_SLOT, BEACON)
    name(moves, BEACON, bytes(32), FIRST)
    put_code(moves, FIRST, CODE)
    seen = [await read()]
    name(moves, BEACON, bytes(32), SECOND)
    seen.append(await read())
    put_code(moves, SECOND, CODE)
    seen.append(await read())
    put_code(moves, SECOND, OTHER_CODE)
    seen.append(await read())

    assert len(set(seen)) == len(seen)
    name(moves, BEACON, bytes(32), FIRST)
    assert await read() == seen[0]


@pytest.mark.parametrize("code", [REVERTS, ANSWERS_NOTHING])
async def test_a_beacon_that_names_nobody_counts_itself(
    moves: Moves, read: Callable[[], Awaitable[str | None]], code: str
) -> None:
    put_code(moves, HOOK, OWN)
    put_code(moves, BEACON, code)
    name(moves, HOOK, BEACON_SLOT, BEACON)
    before = await read()
    put_code(moves, BEACON, code + "00")

    assert before is not None
    assert await read() != before
