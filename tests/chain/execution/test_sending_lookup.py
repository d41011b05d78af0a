"""What an endpoint's answers make of a step, at every edge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.lookup import (
    NonceState,
    Sighting,
    find_spender,
    look_up,
    standing,
)
from chain.rpc.errors import Malformed, RpcError, RpcRefused, StatePruned
from chain.rpc.records import Block, SpentNonce, Transaction
from tests.chain.execution.told_node import DEADLINE, HEAD, NONCE, Node, block, receipt_in, sent
from tests.fakes.told_reader import ToldReader

if TYPE_CHECKING:
    from chain.rpc.records import Json

BROKEN = Malformed("nothing", endpoint="the RPC")


SEEN = Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"receipt": receipt_in(HEAD - 10)}, NonceState.FINAL),
        ({"receipt": receipt_in(HEAD - 9)}, NonceState.INCLUDED),
        ({"final_nonce": NONCE + 1}, NonceState.REPLACED_FOR_GOOD),
        ({"final_nonce": NONCE}, NonceState.MISSING),
        ({"nonce": NONCE + 1}, NonceState.REPLACED),
        ({"nonce": NONCE + 1, "final_nonce": NONCE}, NonceState.REPLACED),
        ({"waiting": True}, NonceState.PENDING),
        ({"waiting": True, "same_chain": False}, NonceState.PENDING),
        ({"same_chain": False}, NonceState.OTHER_CHAIN),
        ({}, NonceState.MISSING),
        ({"head": block(HEAD, timestamp=DEADLINE - 1)}, NonceState.MISSING),
        ({"head": block(HEAD, timestamp=DEADLINE)}, NonceState.EXPIRED),
    ],
)
def test_what_is_seen_has_a_name(changes: dict[str, object], expected: NonceState) -> None:
    _, step = sent()

    assert standing(step, replace(SEEN, **changes)) is expected


def test_what_was_in_a_block_and_is_not_is_gone_and_without_a_deadline_nothing_expires() -> None:
    _, step = sent(deadline=None)
    late = replace(SEEN, head=block(HEAD, timestamp=2 * DEADLINE))

    assert standing(step, late) is NonceState.MISSING
    assert standing(replace(step, was_included=True), late) is NonceState.GONE


async def looked(node: Node, *, lags: bool = True) -> Sighting:
    return await look_up(ToldReader(node), *sent(), lags=lags)


async def test_a_quiet_chain_is_asked_once() -> None:
    node = Node()
    reader = ToldReader(node)

    seen = await look_up(reader, *sent())

    assert seen == Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)
    assert (len(reader.asked), node.receipts_asked) == (6, 1)


@pytest.mark.parametrize(
    ("node", "error"),
    [
        (Node(head=BROKEN), BROKEN),
        (Node(nonce=BROKEN), BROKEN),
        (Node(head=None), None),
        (Node(receipt=BROKEN), BROKEN),
        (Node(finalized=BROKEN), BROKEN),
    ],
)
async def test_an_answer_that_is_missing_is_no_sighting(node: Node, error: RpcError | None) -> None:
    with pytest.raises(RpcError) as raised:
        await looked(node)

    assert error is None or raised.value is error


@pytest.mark.parametrize(
    "finalized", [None, RpcRefused(-32602, "no such tag", endpoint="x"), StatePruned("gone")]
)
@pytest.mark.parametrize(("head", "final"), [(HEAD, HEAD - 64), (10, 0), (64, 0)])
async def test_without_a_word_for_it_depth_is_final(
    finalized: object, head: int, final: int
) -> None:
    seen = await looked(Node(head=block(head), finalized=finalized))

    assert seen.final_number == final


async def test_a_receipt_is_final_only_while_the_chain_holds_its_block() -> None:
    number = HEAD - 10
    held = Node(receipt=receipt_in(number), blocks={100: block(100), number: block(number)})
    other = Node(
        receipt=receipt_in(number), blocks={100: block(100), number: block(number, fork="bb")}
    )
    missing = Node(receipt=receipt_in(number))
    newer = Node(receipt=receipt_in(number + 1))

    assert (await looked(held)).final_number == number
    assert (await looked(other)).final_number == number - 1
    assert (await looked(missing)).final_number == number - 1
    assert (await looked(newer)).final_number == number


async def test_a_nonce_that_went_on_is_asked_about_again() -> None:
    there = receipt_in(HEAD)
    came = await looked(Node(nonce=NONCE + 1, later=there))
    spent = await looked(Node(nonce=NONCE + 1, final_nonce=NONCE + 1))
    unsure = await looked(Node(nonce=NONCE + 1, final_nonce=BROKEN))

    assert came.receipt == there
    assert (spent.receipt, spent.nonce, spent.final_nonce) == (None, NONCE + 1, NONCE + 1)
    assert unsure.final_nonce == 0
    behind = await looked(Node(nonce=NONCE + 1, knows_head=False))
    assert (behind.nonce, behind.final_nonce) == (NONCE, NONCE)


class ForgetfulNode(Node):
    """Several machines behind one name: only the first that is asked again has the newest block."""

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        answer = super().__call__(method, params)
        if method == "eth_getBlockByHash":
            self.knows_head = False
        return answer


async def test_a_head_that_one_of_several_machines_has_is_there() -> None:
    seen = await looked(ForgetfulNode(nonce=NONCE + 1))

    assert (seen.receipt, seen.nonce, seen.final_nonce) == (None, NONCE + 1, NONCE)


def pooled(block_hash: str | None) -> Transaction:
    wallet = DEMO_WALLET.address
    place = None if block_hash is None else 7
    return Transaction(
        "0x1", NONCE, wallet, wallet, 0, b"", 1, None, 1, 1, place, block_hash, place
    )


async def test_what_a_node_has_waits_and_is_mined_once_it_is_in_a_block() -> None:
    in_pool = await looked(Node(pooled=pooled(None)))
    in_block = await looked(Node(pooled=pooled("0x" + "ab" * 32)))

    assert (in_pool.waiting, in_pool.mined) == (True, False)
    assert (in_block.waiting, in_block.mined) == (True, True)


@pytest.mark.parametrize(
    ("head", "anchor", "lags", "same"),
    [
        (HEAD, block(100), True, True),
        (HEAD, block(100, fork="bb"), True, False),
        (HEAD, None, True, False),
        (100, None, True, False),
        (99, None, True, True),
        (99, None, False, False),
        (36, None, True, True),
        (35, None, True, False),
    ],
)
async def test_a_head_a_little_short_may_lag(
    head: int, anchor: Block | None, lags: bool, same: bool
) -> None:
    seen = await looked(Node(head=block(head), blocks={100: anchor}), lags=lags)

    assert seen.same_chain is same


@dataclass
class Spending:
    """Whose wallet's count passes the step's nonce in one block, by a transaction of it."""

    block: int
    spent: object
    asked: list[int] = field(default_factory=list)

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionCount":
            self.asked.append(int(str(params[1]), 16))
            return NONCE + (self.asked[-1] >= self.block)
        assert (method, params[0]) == ("eth_getBlockByNumber", hex(self.block))
        return self.spent


@pytest.mark.parametrize("at", [101, 102, 150, 199, 200])
async def test_whose_nonce_it_was_is_found_in_the_block_that_passed_it(at: int) -> None:
    _, step = sent()
    wallet = step.transaction.sender
    other, mine = SpentNonce("0x1", wallet, NONCE - 1), SpentNonce("0x2", wallet, NONCE)
    chain = Spending(at, (other, mine))
    assert await find_spender(ToldReader(chain), step, after=101, head=200) == mine
    assert len(chain.asked) <= 8
    unknown: tuple[object, ...] = (None, (), (other,), StatePruned("gone"))
    for spent in unknown:
        reader = ToldReader(Spending(at, spent))
        assert await find_spender(reader, step, after=101, head=200) is None


async def test_one_version_that_waits_is_enough() -> None:
    dispatch, step = sent()
    assert step.newest is not None
    other = replace(
        step.newest, transaction=replace(step.newest.transaction, hash="0x" + "cd" * 32)
    )
    two = replace(step, versions=(*step.versions, other))
    wallet = step.transaction.sender
    waits = Transaction("0x1", NONCE, wallet, wallet, 0, b"", 1, None, 1, 1, None, None, None)

    def first_alone(method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionByHash":
            return waits if params[0] == two.versions[0].transaction.hash else None
        return Node()(method, params)

    seen = await look_up(ToldReader(first_alone), dispatch, two)
    assert (seen.waiting, seen.mined) == (True, False)
