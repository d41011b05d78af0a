"""What an endpoint's answers make of a step, at every edge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.journal_records import Anchor, Dispatch, Step
from chain.execution.outbox import Outbox
from chain.execution.sending_lookup import FINAL_DEPTH, Sighting, Standing, look_up, standing
from chain.rpc.errors import Malformed, Refused, RpcError, StatePruned
from chain.rpc.types import Block, Receipt, Transaction
from tests.chain.execution.outbox_kit import planned, signed_by, transfer
from tests.fakes.told_reader import ToldReader

if TYPE_CHECKING:
    from chain.rpc.types import Json

NONCE, DEADLINE = 5, 10_000
HEAD = 200
BROKEN = Malformed("nothing", endpoint="the RPC")


def block(number: int, *, timestamp: int = 0, fork: str = "aa") -> Block:
    return Block(number, f"0x{fork}{number:062x}", f"0x{fork}{number - 1:062x}", timestamp, 1, 0, 1)


ANCHOR = Anchor(100, block(100).hash)


def sent(*, deadline: int | None = DEADLINE) -> tuple[Dispatch, Step]:
    plan = planned(transfer(NONCE), anchor=ANCHOR, deadline=deadline)
    with Outbox.in_memory() as outbox:
        outbox.plan(plan, now=0)
        outbox.approve(plan.hash, now=0)
        outbox.consume(plan.hash, now=1)
        signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
        step = outbox.record_signed(plan.hash, 0, signed, now=2)
        step = outbox.mark_sent(step, signed.hash, now=3)
        return outbox.dispatch(plan.hash), step


def receipt_in(number: int, *, fork: str = "aa", step: Step | None = None) -> Receipt:
    newest = (step or sent()[1]).newest
    assert newest is not None
    there = block(number, fork=fork)
    wallet = DEMO_WALLET.address
    return Receipt(
        newest.transaction.hash,
        0,
        number,
        there.hash,
        wallet,
        wallet,
        None,
        True,
        1,
        1,
        1,
        None,
        (),
    )


SEEN = Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"receipt": receipt_in(HEAD - 10)}, Standing.FINAL),
        ({"receipt": receipt_in(HEAD - 9)}, Standing.INCLUDED),
        ({"final_nonce": NONCE + 1}, Standing.REPLACED_FOR_GOOD),
        ({"final_nonce": NONCE}, Standing.MISSING),
        ({"nonce": NONCE + 1}, Standing.REPLACED),
        ({"nonce": NONCE + 1, "final_nonce": NONCE}, Standing.REPLACED),
        ({"waiting": True}, Standing.PENDING),
        ({"waiting": True, "same_chain": False}, Standing.PENDING),
        ({"same_chain": False}, Standing.OTHER_CHAIN),
        ({}, Standing.MISSING),
        ({"head": block(HEAD, timestamp=DEADLINE - 1)}, Standing.MISSING),
        ({"head": block(HEAD, timestamp=DEADLINE)}, Standing.EXPIRED),
    ],
)
def test_what_is_seen_has_a_name(changes: dict[str, object], expected: Standing) -> None:
    _, step = sent()

    assert standing(step, replace(SEEN, **changes)) is expected  # type: ignore[arg-type]


def test_what_was_in_a_block_and_is_not_is_gone_and_without_a_deadline_nothing_expires() -> None:
    _, step = sent(deadline=None)
    late = replace(SEEN, head=block(HEAD, timestamp=2 * DEADLINE))

    assert standing(step, late) is Standing.MISSING
    assert standing(replace(step, was_included=True), late) is Standing.GONE


@dataclass
class Node:
    """What one endpoint knows; a field that holds an error is answered with it."""

    head: object = field(default_factory=lambda: block(HEAD))
    finalized: object = field(default_factory=lambda: block(HEAD - 10))
    blocks: dict[object, object] = field(default_factory=lambda: {ANCHOR.number: block(100)})
    nonce: object = NONCE
    final_nonce: object = NONCE
    receipt: object = None
    later: object = None
    """The receipt when it is asked for again."""
    pooled: object = None
    receipts_asked: int = 0
    knows_head: bool = True
    """Whether whoever is asked again has the newest block, too."""

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        match method, params[0]:
            case "eth_getBlockByNumber", "latest":
                return self.head
            case "eth_getBlockByNumber", "finalized":
                return self.finalized
            case "eth_getBlockByNumber", str(number):
                return self.blocks.get(int(number, 16))
            case "eth_getBlockByHash", _:
                return self.head if self.knows_head else None
            case "eth_getTransactionCount", _:
                return self.nonce if params[1] == "latest" else self.final_nonce
            case "eth_getTransactionReceipt", _:
                self.receipts_asked += 1
                return self.receipt if self.receipts_asked == 1 else self.later
            case "eth_getTransactionByHash", _:
                return self.pooled
        raise AssertionError(method)


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
    "finalized", [None, Refused(-32602, "no such tag", endpoint="x"), StatePruned("gone")]
)
@pytest.mark.parametrize(("head", "final"), [(HEAD, HEAD - FINAL_DEPTH), (10, 0), (64, 0)])
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


def pooled(block_hash: str | None) -> Transaction:
    wallet = DEMO_WALLET.address
    place = None if block_hash is None else 7
    return Transaction(
        "0x1", NONCE, wallet, wallet, 0, b"", 1, None, 1, 1, place, block_hash, place
    )


async def test_only_what_is_in_no_block_waits() -> None:
    assert (await looked(Node(pooled=pooled(None)))).waiting
    assert not (await looked(Node(pooled=pooled("0x" + "ab" * 32)))).waiting


@pytest.mark.parametrize(
    ("head", "anchor", "lags", "same"),
    [
        (HEAD, block(100), True, True),
        (HEAD, block(100, fork="bb"), True, False),
        (HEAD, None, True, False),
        (100, None, True, False),
        (99, None, True, True),
        (99, None, False, False),
        (100 - FINAL_DEPTH, None, True, True),
        (99 - FINAL_DEPTH, None, True, False),
    ],
)
async def test_a_head_a_little_short_may_lag(
    head: int, anchor: Block | None, lags: bool, same: bool
) -> None:
    seen = await looked(Node(head=block(head), blocks={100: anchor}), lags=lags)

    assert seen.same_chain is same
