"""What comes of handing signed bytes over, by what the endpoints answer and the chain shows."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from chain.base.units import APPROVAL_SECONDS
from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.delivery import (
    DeliveredTransaction,
    Handing,
    NotThisWayError,
    Route,
    deliver,
    hand_over,
    hand_over_to,
    observe,
)
from chain.execution.outbox.heads import Genesis
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence, NamedReader
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, Doubt, EndCode, Inclusion, PlanStep, StepState
from chain.execution.outbox.same_chain import require_same_chain
from chain.execution.outbox.sender import Patience, Sender
from chain.rpc.errors import (
    HttpFault,
    Malformed,
    NoEndpoint,
    RateLimited,
    RpcError,
    SendRefusal,
    SendRefused,
    SendUnclear,
    TimedOut,
)
from chain.rpc.records import Json, Transaction
from tests.chain.execution.outbox_kit import planned, signed_by, transfer
from tests.chain.execution.sending_kit import PATIENCE, Waits
from tests.chain.execution.told_node import (
    ANCHOR,
    DEADLINE,
    HEAD,
    NONCE,
    Node,
    block,
    receipt_in,
)
from tests.fakes.told_reader import ToldReader

GONE = NoEndpoint("Nobody is there.")
SILENT = Malformed("nothing", endpoint="x")
UNCLEAR = SendUnclear(SILENT)


def refused(reason: SendRefusal) -> SendRefused:
    return SendRefused(reason, -32000, "no")


def taking(answer: object = "0xab") -> ToldReader:
    """An endpoint for sends that answers so."""

    def say(method: str, _params: tuple[Json, ...]) -> object:
        assert method == "eth_sendRawTransaction"
        return answer

    return ToldReader(say)


def signed(outbox: Outbox, *, sent: bool = False) -> PlanStep:
    plan = planned(transfer(NONCE), anchor=ANCHOR, deadline=DEADLINE)
    outbox.plan(plan, now=0)
    outbox.approve(plan.hash, now=0)
    outbox.consume(plan.hash, now=1)
    transaction = signed_by(DEMO_WALLET, plan.steps[0].transaction)
    step = outbox.record_signed(plan.hash, 0, transaction, now=2)
    return outbox.mark_sent(step, transaction.hash, now=3) if sent else step


async def delivered(
    outbox: Outbox,
    answer: object,
    node: Node | None = None,
    *,
    private: str | None = None,
    sent: bool = False,
) -> DeliveredTransaction:
    step = signed(outbox, sent=sent)
    route = Route(taking(answer), private)
    reads = ToldReader(node or Node())
    return await deliver(
        outbox, reads, route, outbox.dispatch(step.dispatch), step, now=9, evidence=EMBEDDED
    )


@pytest.mark.parametrize(
    ("answer", "handing", "state"),
    [
        ("0xab", Handing.TAKEN, StepState.SENT),
        (UNCLEAR, Handing.UNCLEAR, StepState.SENT),
        (refused(SendRefusal.ALREADY_KNOWN), Handing.UNCLEAR, StepState.SENT),
        (refused(SendRefusal.NONCE_TOO_LOW), Handing.UNCLEAR, StepState.SENT),
        (refused(SendRefusal.NONCE_TOO_HIGH), Handing.REFUSED, StepState.DROPPED),
        (refused(SendRefusal.UNDERPRICED), Handing.REFUSED, StepState.DROPPED),
        (GONE, Handing.NOT_SENT, StepState.SIGNED),
        (SILENT, Handing.NOT_SENT, StepState.SIGNED),
    ],
)
async def test_what_an_answer_means(
    outbox: Outbox, answer: object, handing: Handing, state: StepState
) -> None:
    found = await delivered(outbox, answer)

    assert (found.handing, found.step.state) == (handing, state)
    assert found.error is (answer if isinstance(answer, RpcError) else None)
    assert outbox.dispatch("hash").steps[0].state is state


@pytest.mark.parametrize("reason", list(SendRefusal))
async def test_what_a_refusal_means_by_its_reason(reason: SendRefusal) -> None:
    known = (SendRefusal.ALREADY_KNOWN, SendRefusal.NONCE_TOO_LOW)
    expected = Handing.UNCLEAR if reason in known else Handing.REFUSED
    if reason is SendRefusal.IN_FLIGHT:  # of a delegated account, one at a time
        expected = Handing.NOT_SENT
    handing, error = await hand_over(taking(refused(reason)), b"\1")
    assert handing is expected
    assert isinstance(error, SendRefused)


@pytest.mark.parametrize("final", [NONCE, NONCE + 1])
async def test_a_nonce_that_went_elsewhere_ends_the_plan_for_that(
    outbox: Outbox, final: int
) -> None:
    signed(outbox, sent=True)
    spent = Node(nonce=NONCE + 1, final_nonce=final)
    await looked(outbox, Evidence(doubt_seconds=0.0), now=9, node=spent)
    ended = outbox.dispatch("hash").ended
    assert ended is not None
    assert ended.code is EndCode.NONCE_SPENT


def pooled() -> Transaction:
    wallet = DEMO_WALLET.address
    return Transaction("0x1", NONCE, wallet, wallet, 0, b"", 1, None, 1, 1, None, None, None)


NO = refused(SendRefusal.UNDERPRICED)


@pytest.mark.parametrize(
    ("node", "private", "sent", "handing", "state"),
    [
        (Node(), None, False, Handing.REFUSED, StepState.DROPPED),
        (Node(), None, True, Handing.REFUSED, StepState.DROPPED),
        (Node(), "private", False, Handing.REFUSED, StepState.DROPPED),
        # What a private endpoint once took may be in its keeping.
        (Node(), "private", True, Handing.UNCLEAR, StepState.SENT),
        (Node(pooled=pooled()), None, False, Handing.UNCLEAR, StepState.SENT),
        (Node(head=SILENT), None, False, Handing.UNCLEAR, StepState.SIGNED),
        (
            Node(blocks={100: block(100, fork="bb")}),
            "private",
            True,
            Handing.REFUSED,
            StepState.DROPPED,
        ),
    ],
)
async def test_what_one_node_refused_another_may_have(
    outbox: Outbox,
    node: Node,
    private: str | None,
    sent: bool,
    handing: Handing,
    state: StepState,
) -> None:
    found = await delivered(outbox, NO, node, private=private, sent=sent)

    assert (found.handing, found.step.state) == (handing, state)
    assert found.error is (SILENT if node.head is SILENT else NO)


async def test_others_get_the_bytes_only_when_they_are_sent_again(outbox: Outbox) -> None:
    first, other = taking(), taking()
    step = signed(outbox)
    dispatch = outbox.dispatch(step.dispatch)
    route = Route(first, None, (other,))

    once = await deliver(outbox, ToldReader(Node()), route, dispatch, step, now=9)
    assert (len(first.asked), len(other.asked)) == (1, 0)
    await deliver(outbox, ToldReader(Node()), route, dispatch, once.step, now=10)
    assert (len(first.asked), len(other.asked)) == (2, 1)


async def test_nothing_goes_another_way_than_was_promised_or_after_the_end(
    outbox: Outbox,
) -> None:
    step = signed(outbox)
    dispatch = replace(outbox.dispatch(step.dispatch), private_host="private")
    public, private = Route(taking()), Route(taking(), "private")
    found = await deliver(outbox, ToldReader(Node()), public, dispatch, step, now=9)

    assert found.handing is Handing.NOT_SENT
    assert isinstance(found.error, NotThisWayError)
    assert public.refusal(replace(dispatch, private_host=None)) is None
    assert private.refusal(dispatch) is private.refusal(replace(dispatch, private_host=None))
    with pytest.raises(OutboxError, match="never signed"):
        await deliver(
            outbox, ToldReader(Node()), private, dispatch, replace(step, versions=()), now=9
        )


@pytest.mark.parametrize(
    ("answers", "best"),
    [
        ((GONE, "0xab"), Handing.TAKEN),
        ((NO, UNCLEAR), Handing.UNCLEAR),
        ((GONE, NO), Handing.REFUSED),
        ((GONE, SILENT), Handing.NOT_SENT),
        (("0xab", UNCLEAR, NO, GONE), Handing.TAKEN),
    ],
)
async def test_of_several_answers_the_best_counts(
    answers: tuple[object, ...], best: Handing
) -> None:
    for turned in (answers, answers[::-1]):
        handing, _ = await hand_over_to([taking(one) for one in turned], b"\1")
        assert handing is best
    _, first = await hand_over_to([taking(GONE), taking(SILENT)], b"\1")
    assert first is GONE


def test_how_long_is_waited() -> None:
    assert Patience() == Patience(
        poll_seconds=2,
        inclusion_seconds=900,
        finality_seconds=1_800,
        resend_seconds=15,
        witness_seconds=60,
        anchor_seconds=4,
    )
    assert APPROVAL_SECONDS == 600


ELSEWHERE = Node(blocks={ANCHOR.number: block(ANCHOR.number, fork="bb")})
"""An endpoint on whose chain the plan was not approved."""


async def looked(
    outbox: Outbox, evidence: Evidence, *, now: float, node: Node = ELSEWHERE
) -> StepState:
    dispatch = outbox.dispatch("hash")
    reads = ToldReader(node)
    seen = await observe(outbox, reads, dispatch, dispatch.steps[0], now=now, evidence=evidence)
    return seen.step.state


@pytest.mark.parametrize(
    ("embedded", "code"), [(True, EndCode.CHAIN_RESTARTED), (False, EndCode.OTHER_CHAIN)]
)
async def test_only_the_embedded_chain_restarts(
    outbox: Outbox, embedded: bool, code: EndCode
) -> None:
    signed(outbox, sent=True)
    await looked(outbox, Evidence(doubt_seconds=0.0, embedded=embedded), now=9)

    ended = outbox.dispatch("hash").ended
    assert ended is not None
    assert ended.code is code


@pytest.mark.parametrize("embedded", [True, False])
async def test_a_head_short_of_the_plans_block_lags_except_on_the_embedded_chain(
    outbox: Outbox, embedded: bool
) -> None:
    signed(outbox, sent=True)
    short = Node(head=block(ANCHOR.number - 5), blocks={})
    await looked(outbox, Evidence(doubt_seconds=0.0, embedded=embedded), now=9, node=short)

    assert (outbox.dispatch("hash").ended is not None) is embedded


async def test_whose_chain_it_is_keeps_the_highest_head(outbox: Outbox) -> None:
    step = signed(outbox, sent=True)
    first = block(0)
    reads = ToldReader(Node(blocks={0: first, ANCHOR.number: block(ANCHOR.number)}))

    chain = await require_same_chain(
        outbox,
        reads,
        EMBEDDED,
        outbox.dispatch(step.dispatch),
        clock=lambda: 9.0,
        wait=_never,
        seconds=0.0,
    )

    highest = outbox.highest_head(chain)
    assert highest is not None
    assert (chain.hash, highest.number) == (first.hash, HEAD)


async def _never() -> None:
    raise AssertionError("nothing is waited for")


async def test_a_loss_is_believed_once_it_was_seen_for_long_however_old_the_step(
    outbox: Outbox,
) -> None:
    signed(outbox, sent=True)
    patient = Evidence(doubt_seconds=10.0)
    for now in (1_000.0, 1_009.9):
        assert await looked(outbox, patient, now=now) is StepState.UNCLEAR
        assert outbox.dispatch("hash").steps[0].reason == Doubt.OTHER_CHAIN
        assert outbox.dispatch("hash").ended is None
    await looked(outbox, patient, now=1_010.0)

    assert outbox.dispatch("hash").ended is not None


@pytest.mark.parametrize("code", list(EndCode))
async def test_an_end_that_a_block_disproves_is_lifted_and_no_other(
    outbox: Outbox, code: EndCode
) -> None:
    step = signed(outbox, sent=True)
    outbox.end(step.dispatch, code, now=4)
    included = Node(receipt=receipt_in(HEAD - 1, step=step))
    await looked(outbox, ONE_ENDPOINT, now=9, node=included)

    concluded_from_absence = code in (EndCode.NONCE_SPENT, EndCode.STEP_GONE)
    assert (outbox.dispatch("hash").ended is None) is concluded_from_absence


async def test_what_waits_again_says_that_its_block_is_gone(outbox: Outbox) -> None:
    step = signed(outbox, sent=True)
    assert await looked(outbox, EMBEDDED, now=4, node=Node(pooled=pooled())) is StepState.SENT
    assert outbox.dispatch("hash").steps[0].reason == ""
    receipt = receipt_in(HEAD - 1, step=step)
    inclusion = Inclusion(receipt.transaction_hash, receipt.block_number, receipt.block_hash)
    taken_back: tuple[Callable[[], object], ...] = (
        lambda: outbox.mark_included(step, inclusion, succeeded=True, now=5),
        lambda: outbox.mark_replaced(step, now=5, reason="another took its nonce"),
    )
    for before in taken_back:
        before()
        waiting = Node(pooled=pooled())
        assert await looked(outbox, EMBEDDED, now=6, node=waiting) is StepState.SENT
        assert outbox.dispatch("hash").steps[0].reason == "its block was reorganised away"


@pytest.mark.parametrize(
    ("faults", "handing", "sends"),
    [
        ([HttpFault(403, endpoint="x"), None], Handing.TAKEN, 2),
        ([RateLimited(endpoint="x", retry_after=0.0), HttpFault(404, endpoint="x"), None],
         Handing.TAKEN, 3),
        ([HttpFault(403, endpoint="x")] * 4, Handing.NOT_SENT, 4),
        # Nobody else will say otherwise: not tried again.
        ([HttpFault(401, endpoint="x")], Handing.NOT_SENT, 1),
        # It may have been taken: looked for before it is sent again.
        ([SendUnclear(TimedOut(1.0, endpoint="x"))], Handing.UNCLEAR, 1),
    ],
)  # fmt: skip
async def test_what_a_gateway_refuses_in_passing_is_handed_over_again(
    faults: list[RpcError | None], handing: Handing, sends: int
) -> None:
    """The same bytes: however often they are sent, a nonce is spent once."""
    reader = ToldReader(lambda _method, _params: faults[len(reader.asked) - 1] or "0x")

    found, _ = await hand_over_to([reader], b"\x02")

    assert (found, len(reader.asked)) == (handing, sends)
    assert len({params for _, params in reader.asked}) == 1


FIRST_BLOCKS: dict[object, object] = {0: block(0), ANCHOR.number: block(ANCHOR.number)}
WITNESS_SECONDS = 20.0


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
