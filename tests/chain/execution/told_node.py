"""One step that was sent, and an endpoint that knows of it what a test says."""

from dataclasses import dataclass, field

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, Dispatch, PlanStep
from chain.rpc.records import Block, Json, Receipt, SpentNonce
from tests.chain.execution.outbox_kit import planned, signed_by, transfer

NONCE, DEADLINE = 5, 10_000
HEAD = 200


def block(number: int, *, timestamp: int = 0, fork: str = "aa") -> Block:
    return Block(number, f"0x{fork}{number:062x}", f"0x{fork}{number - 1:062x}", timestamp, 1, 0, 1)


ANCHOR = Anchor(100, block(100).hash)


def sent(*, deadline: int | None = DEADLINE) -> tuple[Dispatch, PlanStep]:
    plan = planned(transfer(NONCE), anchor=ANCHOR, deadline=deadline)
    with Outbox.in_memory() as outbox:
        outbox.plan(plan, now=0)
        outbox.approve(plan.hash, now=0)
        outbox.consume(plan.hash, now=1)
        signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
        step = outbox.record_signed(plan.hash, 0, signed, now=2)
        step = outbox.mark_sent(step, signed.hash, now=3)
        return outbox.dispatch(plan.hash), step


def receipt_in(number: int, *, fork: str = "aa", step: PlanStep | None = None) -> Receipt:
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
    spent: object = field(
        default_factory=lambda: (SpentNonce("0x" + "ee" * 32, DEMO_WALLET.address, NONCE),)
    )
    """What the wallet sent in any block, as its transactions tell."""
    knows_head: bool = True
    """Whether whoever is asked again has the newest block, too."""

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        match method, params[0]:
            case "eth_getBlockByNumber", "latest":
                return self.head
            case "eth_getBlockByNumber", "finalized":
                return self.finalized
            case "eth_getBlockByNumber", str() if params[1] is True:
                return self.spent
            case "eth_getBlockByNumber", str(number):
                return self.blocks.get(int(number, 16))
            case "eth_getBlockByHash", _:
                return self.head if self.knows_head else None
            case "eth_getTransactionCount", _:
                recent = params[1] == "latest" or int(str(params[1]), 16) > HEAD - 10
                return self.nonce if recent else self.final_nonce
            case "eth_getTransactionReceipt", _:
                self.receipts_asked += 1
                return self.receipt if self.receipts_asked == 1 else self.later
            case "eth_getTransactionByHash", _:
                return self.pooled
        raise AssertionError(method)
