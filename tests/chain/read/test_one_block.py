"""Reads that are all of one block, however many requests they take."""

from typing import Any

import pytest
from msgspec.structs import replace

from chain.devnet.launch import DevnetReady
from chain.read import block_reader as one_block
from chain.read.block_reader import (
    NoSuchBlockError,
    OneBlock,
    decode_words,
    read_words,
    word_chunks,
)
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reorged
from chain.rpc.records import Block
from chain.rpc.requests import Call, CallOutcome
from tests.chain.between import Door
from tests.chain.conftest import Desk
from tests.chain.moves import Moves

ARB_SYS = "0x0000000000000000000000000000000000000064"
ANSWERS_BLOCK_NUMBER = "0x4360005260206000f3"


def words_of(desk: Desk, count: int) -> list[Call]:
    manager = desk.network.contracts.pool_manager
    return [read_words(manager, [slot]) for slot in range(count)]


def values(outcomes: list[CallOutcome]) -> list[int]:
    return [decode_words([0], outcome)[0] for outcome in outcomes]


async def test_calls_are_answered_in_order_whatever_they_are_packed_into(
    desk: Desk, devnet: DevnetReady, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = words_of(desk, 12)
    together = await OneBlock(desk.client, desk.network).read(calls)
    assert any(values(together.outcomes))
    monkeypatch.setattr(one_block, "GAS_PER_CALL", 40_000)
    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        apart = await OneBlock(client, desk.network).read(calls)
        assert door.requests == 1
        assert door.methods.count("eth_call") == 6
        monkeypatch.setattr(one_block, "ANSWER_BYTES_PER_REQUEST", 2_000)
        further = await OneBlock(client, desk.network).read(calls)
        assert door.requests == 1 + 6
    assert values(apart.outcomes) == values(further.outcomes) == values(together.outcomes)


async def test_an_old_block_by_number_and_by_hash(desk: Desk) -> None:
    fifth = await desk.client.ask(requests.block(5))
    assert fifth is not None
    for ref in (5, fifth.hash):
        at = OneBlock(desk.client, desk.network, ref)
        await at.read(words_of(desk, 1))
        assert at.block == fifth
        assert at.ref == fifth.hash


async def test_a_block_that_is_not_there(desk: Desk) -> None:
    with pytest.raises(NoSuchBlockError, match="1000000"):
        await OneBlock(desk.client, desk.network, 10**6).read(words_of(desk, 1))


async def test_other_questions_ride_along_once(desk: Desk) -> None:
    at = OneBlock(desk.client, desk.network)
    answers = await at.read(words_of(desk, 1), [requests.block(3), requests.block(4)])
    third, fourth = answers.beside
    assert isinstance(third, Block)
    assert isinstance(fourth, Block)
    assert (third.number, fourth.number) == (3, 4)


async def test_a_node_that_does_not_keep_to_the_block(
    desk: Desk, devnet: DevnetReady, moves: Moves
) -> None:
    def always_the_seventh(asked: dict[str, Any]) -> dict[str, Any] | None:
        if asked["method"] != "eth_call":
            return None
        return {"result": moves.rpc("eth_call", asked["params"][0], "0x7")}

    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        at = OneBlock(client, desk.network, 6)
        await at.read(words_of(desk, 1))
        assert at.block.number == 6
        door.meddle = always_the_seventh
        with pytest.raises(Reorged, match="block 6"):
            await at.read(words_of(desk, 1))
        with pytest.raises(Reorged, match="block 6"):
            await OneBlock(client, desk.network, 6).read(words_of(desk, 1))


async def test_arbitrum_is_asked_for_its_own_block_number(desk: Desk, changing: Moves) -> None:
    arbitrum = replace(desk.network, stack="arbitrum")
    with pytest.raises(Reorged):
        await OneBlock(desk.client, arbitrum).read(words_of(desk, 1))
    changing.rpc("hardhat_setCode", ARB_SYS, ANSWERS_BLOCK_NUMBER)
    changing.rpc("evm_mine")
    at = OneBlock(desk.client, arbitrum)
    await at.read(words_of(desk, 1))
    assert at.block.number == int(changing.rpc("eth_blockNumber"), 16)


def test_slots_are_asked_for_once_and_in_portions() -> None:
    chunks = word_chunks([*range(2500), *range(2500)])
    assert [len(chunk) for chunk in chunks] == [1000, 1000, 500]
    assert [slot for chunk in chunks for slot in chunk] == list(range(2500))
