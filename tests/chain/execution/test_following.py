"""How long a resumed step is waited for, by whether its endpoints agree and their heads lag."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.heads import Genesis
from chain.execution.outbox.lookup import EMBEDDED, Evidence, NamedReader
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, Doubt, EndCode, Inclusion, PlanStep, StepState
from chain.execution.outbox.sender import Sender
from chain.rpc.errors import SendRefusal, SendRefused
from chain.rpc.records import Json
from tests.chain.execution.outbox_kit import planned, signed_by, transfer
from tests.chain.execution.sending_kit import PATIENCE, Waits
from tests.chain.execution.told_node import ANCHOR, HEAD, NONCE, Node, block, receipt_in
from tests.fakes.told_reader import ToldReader

FIRST_BLOCKS: dict[object, object] = {0: block(0), ANCHOR.number: block(ANCHOR.number)}
WITNESS_SECONDS = 20.0


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        yield opened


def node(*, included: bool = False, nonce: int = NONCE) -> Node:
    receipt = receipt_in(HEAD) if included else None
    return Node(blocks=FIRST_BLOCKS, receipt=receipt, later=receipt, nonce=nonce)


def refuses(_method: str, _params: tuple[Json, ...]) -> object:
    return SendRefused(SendRefusal.UNDERPRICED, -32000, "no")


def takes(_method: str, _params: tuple[Json, ...]) -> object:
    return "0xab"


def sent_step(outbox: Outbox) -> PlanStep:
    plan = planned(transfer(NONCE), anchor=ANCHOR)
    outbox.plan(plan, now=0)
    outbox.approve(plan.hash, now=0)
    outbox.consume(plan.hash, now=1)
    signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
    return outbox.mark_sent(outbox.record_signed(plan.hash, 0, signed, now=2), signed.hash, now=3)


def sender_of(outbox: Outbox, waits: Waits, reads: ToldReader, evidence: Evidence) -> Sender:
    return Sender(
        outbox=outbox,
        reads=reads,
        route=Route(ToldReader(takes)),
        chain_id=outbox.dispatch("hash").chain_id,
        clock=waits.clock,
        sleep=waits,
        patience=replace(PATIENCE, witness_seconds=WITNESS_SECONDS),
        evidence=evidence,
    )


def two(*nodes: Node, doubt_seconds: float = 10.0) -> Evidence:
    named = (NamedReader(str(at), ToldReader(one)) for at, one in enumerate(nodes))
    return Evidence(tuple(named), doubt_seconds=doubt_seconds)


@pytest.mark.parametrize("unclear_before", [False, True])
async def test_endpoints_that_differ_are_waited_for_no_longer_than_that(
    outbox: Outbox, unclear_before: bool
) -> None:
    step = sent_step(outbox)
    if unclear_before:
        outbox.mark_unclear(step, Doubt.NO_SECOND_WITNESS, now=4)
    waits, differing = Waits(), two(node(included=True), node())
    sender = sender_of(outbox, waits, ToldReader(node(included=True)), differing)

    # A refusal by a node leaves what is known of the step as it was.
    refused = replace(sender, route=Route(ToldReader(refuses)))
    ended = await refused.resume("hash", 0)

    assert _unclear_for(ended) == Doubt.NO_SECOND_WITNESS
    assert waits.now == 1000 + WITNESS_SECONDS


async def test_a_nonce_that_both_call_taken_is_no_difference_between_them(outbox: Outbox) -> None:
    sent_step(outbox)
    waits, patient = Waits(), 2 * WITNESS_SECONDS
    agreeing = two(node(nonce=NONCE + 1), node(nonce=NONCE + 1), doubt_seconds=patient)

    told: list[tuple[StepState, float]] = []
    sender = sender_of(outbox, waits, ToldReader(node()), agreeing)

    noting = replace(sender, changed=lambda step: told.append((step.state, waits.now)))
    ended = await noting.resume("hash", 0)

    assert told == [
        (StepState.SENT, 1000),
        (StepState.UNCLEAR, 1000),
        (StepState.REPLACED, 1000 + patient),
    ]
    assert ended.ended is not None
    assert ended.ended.code is EndCode.NONCE_SPENT
    assert waits.now == 1000 + patient


@dataclass
class Lagging(Node):
    """Several machines behind one address, of which some have not got the newest block."""

    heads: list[int] = field(default_factory=list)

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        if (method, params[0]) == ("eth_getBlockByNumber", "latest") and self.heads:
            return block(self.heads.pop(0))
        return super().__call__(method, params)


@pytest.mark.parametrize("heads", [[HEAD, HEAD - 1, HEAD], [HEAD, *[HEAD - 1] * 9]])
async def test_a_head_that_lags_once_is_no_restart_of_the_embedded_chain(
    outbox: Outbox, heads: list[int]
) -> None:
    sent_step(outbox)
    receipt = receipt_in(HEAD - 1)
    lagging = Lagging(blocks=FIRST_BLOCKS, receipt=receipt, later=receipt, heads=list(heads))

    ended = await sender_of(outbox, Waits(), ToldReader(lagging), EMBEDDED).resume("hash", 0)

    restarted = heads[-1] != HEAD
    assert (None if ended.ended is None else ended.ended.code) == (
        EndCode.CHAIN_RESTARTED if restarted else None
    )
    assert restarted or ended.steps[0].state is StepState.INCLUDED


@pytest.mark.parametrize(
    ("answer", "resend_seconds", "sends"),
    [(takes, 5, 1 + 60 // 6), (takes, 10, 1 + 60 // 10), (refuses, 0, 1)],
)
async def test_what_no_node_has_is_sent_again_now_and_then_until_one_refused_it(
    outbox: Outbox, answer: Callable[..., object], resend_seconds: float, sends: int
) -> None:
    sent_step(outbox)
    asked = ToldReader(answer)
    sender = sender_of(outbox, Waits(), ToldReader(node()), Evidence())

    await replace(
        sender,
        route=Route(asked),
        patience=replace(sender.patience, resend_seconds=resend_seconds),
    ).resume("hash", 0)

    assert len(asked.asked) == sends


async def test_a_node_that_refuses_what_it_took_before_is_reported_once(outbox: Outbox) -> None:
    sent_step(outbox)
    answers = [takes, takes, refuses]

    def next_answer(method: str, params: tuple[Json, ...]) -> object:
        answer = answers.pop(0)
        return answer(method, params)

    changing = ToldReader(next_answer)
    states: list[StepState] = []
    sender = sender_of(outbox, Waits(), ToldReader(node()), Evidence())
    patience = replace(sender.patience, resend_seconds=5)
    noting = replace(sender, changed=lambda step: states.append(step.state))

    await replace(noting, route=Route(changing), patience=patience).resume("hash", 0)

    # Sent again and taken is no change; refused by the node, and no other has it, is one.
    assert answers == []
    assert states == [StepState.SENT, StepState.DROPPED]


async def test_an_included_step_that_endpoints_differ_about_is_waited_for(outbox: Outbox) -> None:
    step = sent_step(outbox)
    receipt = receipt_in(HEAD - 1)
    inclusion = Inclusion(receipt.transaction_hash, receipt.block_number, receipt.block_hash)
    outbox.mark_included(step, inclusion, succeeded=True, now=4)
    waits, differing = Waits(), two(node(included=True), node())
    sender = sender_of(outbox, waits, ToldReader(node(included=True)), differing)

    chain = Genesis(outbox.dispatch("hash").chain_id, block(0).hash)
    assert not await sender._included("hash", 0, chain)

    assert _unclear_for(outbox.dispatch("hash")) == Doubt.NO_SECOND_WITNESS
    assert waits.now == 1000 + WITNESS_SECONDS


def _unclear_for(dispatch: Dispatch) -> str | None:
    step = dispatch.steps[0]
    return step.reason if step.state is StepState.UNCLEAR else None
