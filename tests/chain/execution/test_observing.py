"""What each standing of a step writes down, and how often bytes are handed over and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox import delivery
from chain.execution.outbox.delivery import (
    DeliveredTransaction,
    Handing,
    NotThisWayError,
    Observed,
    Route,
    _included,
    _sent,
    deliver,
    hand_over_to,
    observe,
)
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED, Evidence, NonceState, Sighting, Verdict
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Doubt, EndCode, Inclusion, StepState
from chain.execution.outbox.rules import PlanOverError
from chain.rpc.errors import HttpFault, RateLimited, SendRefusal, SendRefused, Unreachable
from chain.rpc.records import SpentNonce
from tests.chain.execution.outbox_kit import planned, signed_by, transfer
from tests.chain.execution.told_node import ANCHOR, HEAD, NONCE, block, receipt_in
from tests.fakes.told_reader import ToldReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.outbox.records import PlanStep

N, S = NonceState, StepState
AT_ONCE, PATIENT = Evidence(doubt_seconds=0.0), Evidence(doubt_seconds=10.0)
SEEN = Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)
READS = ToldReader(lambda *_: None)
OTHER = SpentNonce("0x" + "ee" * 32, DEMO_WALLET.address, NONCE)
TAKEN = "its nonce was used by a transaction this journal does not know"
PAUSES = delivery._TRIED_AGAIN
"""As they are where no test shortens them."""


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        plan = planned(transfer(NONCE), transfer(NONCE + 1), anchor=ANCHOR)
        opened.plan(plan, now=0)
        opened.approve(plan.hash, now=0)
        opened.consume(plan.hash, now=1)
        signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
        step = opened.record_signed(plan.hash, 0, signed, now=2)
        opened.mark_sent(step, signed.hash, now=3)
        yield opened


def first(outbox: Outbox) -> PlanStep:
    return outbox.dispatch("hash").steps[0]


def put(outbox: Outbox, state: StepState, reason: str = "", changed_at: float = 3.0) -> PlanStep:
    outbox._connection.execute(
        "UPDATE outbox_steps SET state = ?, reason = ?, changed_at = ? WHERE position = 0",
        (state, reason, changed_at),
    )
    return first(outbox)


class Seen:
    """What looking up finds, and who is found to have spent the nonce."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spender: SpentNonce | None = OTHER
        self.asked: list[Any] = []
        self.standing, self.sighting = N.MISSING, SEEN

        async def find_verdict(*given: object) -> Verdict:
            self.asked.append(given)
            return Verdict(self.standing, self.sighting)

        async def find_spender(*given: object, **named: object) -> SpentNonce | None:
            self.asked.append((given, named))
            return self.spender

        monkeypatch.setattr(delivery, "find_verdict", find_verdict)
        monkeypatch.setattr(delivery, "find_spender", find_spender)

    async def observed(
        self, outbox: Outbox, standing: NonceState, evidence: Evidence = AT_ONCE, now: float = 9.0
    ) -> Observed:
        self.standing = standing
        dispatch = outbox.dispatch("hash")
        step = dispatch.steps[0]
        found = await observe(outbox, READS, dispatch, step, now=now, evidence=evidence)
        assert found.seen is self.sighting
        assert found.step == first(outbox)
        assert self.asked[0] == (READS, evidence, dispatch, step)
        return found


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


@pytest.mark.parametrize("succeeded", [True, False])
@pytest.mark.parametrize("standing", [N.INCLUDED, N.FINAL])
async def test_a_step_in_a_block_is_written_down_with_it(
    outbox: Outbox, seen: Seen, standing: NonceState, succeeded: bool
) -> None:
    receipt = replace(receipt_in(HEAD, step=first(outbox)), succeeded=succeeded)
    seen.sighting = replace(SEEN, receipt=receipt)
    found = await seen.observed(outbox, standing)
    final = standing is N.FINAL
    state = (S.FINAL if final else S.INCLUDED) if succeeded else S.REVERTED
    assert (found.standing, found.step.state, found.step.settled) == (standing, state, final)
    assert found.step.inclusion == Inclusion(receipt.transaction_hash, HEAD, receipt.block_hash)
    assert found.step.changed_at == 9.0


def test_nothing_is_in_a_block_without_a_receipt(outbox: Outbox) -> None:
    with pytest.raises(OutboxError, match="transfer cannot be included without a receipt"):
        _included(outbox, first(outbox), SEEN, now=9.0)


@pytest.mark.parametrize(
    ("standing", "before", "after", "reason"),
    [
        (N.PENDING, S.SIGNED, S.SENT, ""),
        (N.PENDING, S.UNCLEAR, S.SENT, ""),
        (N.PENDING, S.SENT, S.SENT, "before"),
        (N.PENDING, S.DROPPED, S.SENT, ""),
        (N.PENDING, S.REPLACED, S.SENT, "its block was reorganised away"),
        (N.MISSING, S.SENT, S.SENT, "before"),
        (N.MISSING, S.SIGNED, S.SIGNED, "before"),
        (N.MISSING, S.DROPPED, S.DROPPED, "before"),
        (N.MISSING, S.UNCLEAR, S.SENT, ""),
        (N.MISSING, S.REPLACED, S.SENT, "its block was reorganised away"),
        (N.EXPIRED, S.SENT, S.DROPPED, "no node has it and its deadline has passed"),
        (N.UNCLEAR, S.SENT, S.SENT, "before"),
        (N.UNCLEAR, S.INCLUDED, S.INCLUDED, "before"),
    ],
)
async def test_what_a_standing_makes_of_a_step(
    outbox: Outbox,
    seen: Seen,
    standing: NonceState,
    before: StepState,
    after: StepState,
    reason: str,
) -> None:
    put(outbox, before, "before")
    found = await seen.observed(outbox, standing)
    assert (found.standing, found.step.state, found.step.reason) == (standing, after, reason)
    assert outbox.dispatch("hash").ended is None


async def test_what_is_missing_of_a_plan_that_ended_is_dropped_for_that(
    outbox: Outbox, seen: Seen
) -> None:
    outbox.end("hash", EndCode.NONCE_SPENT, now=5)
    found = await seen.observed(outbox, N.MISSING)
    assert (found.step.state, found.step.reason) == (S.DROPPED, EndCode.NONCE_SPENT)


@pytest.mark.parametrize(
    ("standing", "doubt", "code"),
    [
        (N.REPLACED, Doubt.NONCE_TAKEN, EndCode.NONCE_SPENT),
        (N.REPLACED_FOR_GOOD, Doubt.NONCE_TAKEN, EndCode.NONCE_SPENT),
        (N.GONE, Doubt.BLOCK_GONE, EndCode.STEP_GONE),
        (N.OTHER_CHAIN, Doubt.OTHER_CHAIN, EndCode.OTHER_CHAIN),
    ],
)
async def test_a_sign_that_a_plan_is_over_must_last(
    outbox: Outbox, seen: Seen, standing: NonceState, doubt: Doubt, code: EndCode
) -> None:
    for now in (100.0, 109.9):
        found = await seen.observed(outbox, standing, PATIENT, now)
        assert (found.standing, found.step.state) == (N.UNCLEAR, S.UNCLEAR)
        assert (found.step.reason, found.step.changed_at) == (doubt, 100.0)
        seen.asked.clear()
    assert outbox.dispatch("hash").ended is None

    found = await seen.observed(outbox, standing, PATIENT, 110.0)

    ended = outbox.dispatch("hash").ended
    assert ended == (code, 110.0)
    spent = code is EndCode.NONCE_SPENT
    assert found.standing is standing
    assert found.step.state is (S.REPLACED if spent else S.DROPPED)
    assert found.step.reason == (TAKEN if spent else code)
    assert found.step.settled is (standing is N.REPLACED_FOR_GOOD)
    assert outbox.dispatch("hash").steps[1].state is S.DISCARDED
    if spent:
        given, named = seen.asked[1]
        assert given[0] is READS
        assert named == {"after": ANCHOR.number, "head": HEAD}
    else:
        assert len(seen.asked) == 1


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (S.UNCLEAR, Doubt.NO_SECOND_WITNESS),
        (S.UNCLEAR, Doubt.BLOCK_GONE),
        (S.SENT, Doubt.NONCE_TAKEN),
        (S.INCLUDED, Doubt.NONCE_TAKEN),
    ],
)
async def test_another_doubt_before_does_not_count(
    outbox: Outbox, seen: Seen, state: StepState, reason: str
) -> None:
    put(outbox, state, reason, changed_at=1.0)
    found = await seen.observed(outbox, N.REPLACED, PATIENT, 1_000.0)
    assert (found.standing, found.step.reason) == (N.UNCLEAR, Doubt.NONCE_TAKEN)
    assert outbox.dispatch("hash").ended is None


async def test_a_nonce_is_spent_once_it_is_seen_by_whom(outbox: Outbox, seen: Seen) -> None:
    seen.spender = None
    found = await seen.observed(outbox, N.REPLACED)
    assert (found.standing, found.step.state) == (N.UNCLEAR, S.UNCLEAR)
    assert found.step.reason == Doubt.NONCE_TAKEN
    newest = first(outbox).newest
    assert newest is not None
    seen.asked.clear()
    seen.spender = replace(OTHER, hash=newest.transaction.hash)
    found = await seen.observed(outbox, N.REPLACED)
    assert (found.standing, found.step.state) == (N.PENDING, S.SENT)
    assert outbox.dispatch("hash").ended is None


async def test_what_ended_a_plan_is_not_doubted_again(outbox: Outbox, seen: Seen) -> None:
    outbox.end("hash", EndCode.STEP_GONE, now=5)
    found = await seen.observed(outbox, N.REPLACED, PATIENT)
    assert (found.standing, found.step.state) == (N.REPLACED, S.REPLACED)
    assert outbox.dispatch("hash").ended == (EndCode.STEP_GONE, 5.0)
    assert len(seen.asked) == 1


@pytest.mark.parametrize(
    ("standing", "code"),
    [(N.OTHER_CHAIN, EndCode.CHAIN_RESTARTED), (N.GONE, EndCode.STEP_GONE)],
)
async def test_the_embedded_chain_is_restarted_and_no_other(
    outbox: Outbox, seen: Seen, standing: NonceState, code: EndCode
) -> None:
    found = await seen.observed(outbox, standing, EMBEDDED)
    assert outbox.dispatch("hash").ended == (code, 9.0)
    assert (found.step.state, found.step.reason) == (S.DROPPED, code)


def test_what_was_never_signed_or_waits_already_is_left_as_it_is(outbox: Outbox) -> None:
    bare = replace(first(outbox), versions=(), state=S.UNCLEAR)
    assert _sent(outbox, bare, now=9.0) is bare
    waiting = first(outbox)
    assert _sent(outbox, waiting, now=9.0) is waiting


NO = SendRefused(SendRefusal.UNDERPRICED, -32000, "no")


@pytest.mark.parametrize(
    ("standing", "private", "sent", "handing", "state"),
    [
        (N.MISSING, None, True, Handing.REFUSED, S.DROPPED),
        (N.MISSING, "private", True, Handing.UNCLEAR, S.SENT),
        (N.MISSING, "private", False, Handing.REFUSED, S.DROPPED),
        (N.OTHER_CHAIN, "private", True, Handing.REFUSED, S.DROPPED),
        (N.GONE, None, True, Handing.UNCLEAR, S.DROPPED),
        (N.UNCLEAR, None, True, Handing.UNCLEAR, S.SENT),
        (N.UNCLEAR, None, False, Handing.UNCLEAR, S.SENT),
        (N.EXPIRED, None, True, Handing.UNCLEAR, S.DROPPED),
    ],
)
async def test_what_a_node_refuses_is_looked_for_before_it_is_given_up(
    outbox: Outbox,
    seen: Seen,
    standing: NonceState,
    private: str | None,
    sent: bool,
    handing: Handing,
    state: StepState,
) -> None:
    if not sent:
        outbox._connection.execute("UPDATE outbox_versions SET sent_at = NULL")
    seen.standing = standing
    route = Route(ToldReader(lambda *_: NO), private)
    dispatch, step = outbox.dispatch("hash"), first(outbox)
    found = await deliver(outbox, READS, route, dispatch, step, now=9.0, evidence=AT_ONCE)
    assert found == DeliveredTransaction(first(outbox), handing, NO)
    assert found.step.state is state
    if handing is Handing.REFUSED and standing is N.MISSING:
        assert found.step.reason == NO.sentence


async def test_why_it_may_not_have_been_taken_is_kept(outbox: Outbox, seen: Seen) -> None:
    known = SendRefused(SendRefusal.ALREADY_KNOWN, -32000, "known")
    for answer, reason in ((known, known.sentence), ("0xab", "")):
        step = put(outbox, S.SIGNED)
        route = Route(ToldReader(lambda *_, answer=answer: answer))
        found = await deliver(outbox, READS, route, outbox.dispatch("hash"), step, now=9.0)
        assert (found.step.state, found.step.reason) == (S.SENT, reason)
    assert seen.asked == []


async def test_nothing_of_a_plan_that_is_over_is_sent(outbox: Outbox) -> None:
    before, step = outbox.dispatch("hash"), first(outbox)
    outbox.end("hash", EndCode.STEP_GONE, now=5)
    asked = ToldReader(lambda *_: "0xab")
    with pytest.raises(PlanOverError):
        await deliver(outbox, READS, Route(asked), before, step, now=9.0)
    assert asked.asked == []


def test_a_way_that_is_not_named_now_will_not_be_a_moment_later() -> None:
    refusal = NotThisWayError("private")
    assert refusal.lasting
    assert "It is sent through private alone" in refusal.sentence
    assert "ZUNO_SEND_RPC" in refusal.next_step


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits = list[float]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("chain.execution.outbox.delivery.asyncio.sleep", sleep)
    monkeypatch.setattr(delivery, "_TRIED_AGAIN", PAUSES)
    return waits


@pytest.mark.parametrize(
    ("retry_after", "waits"),
    [
        (None, [0.4, 1.0, 2.0]),
        (0.0, [0.4, 1.0, 2.0]),
        (1.5, [1.5, 1.5, 2.0]),
        (4.9, [4.9, 4.9, 4.9]),
        (60.0, [5.0, 5.0, 5.0]),
    ],
)
async def test_a_gateway_is_left_alone_for_as_long_as_it_asks_up_to_a_limit(
    slept: list[float], retry_after: float | None, waits: list[float]
) -> None:
    busy = RateLimited(endpoint="x", retry_after=retry_after)
    asked = ToldReader(lambda *_: busy)
    assert await hand_over_to([asked], b"\1") == (Handing.NOT_SENT, busy)
    assert (slept, len(asked.asked)) == (waits, 4)


@pytest.mark.parametrize(
    ("answer", "handing"),
    [
        ("0xab", Handing.TAKEN),
        (NO, Handing.REFUSED),
        (HttpFault(401, endpoint="x"), Handing.NOT_SENT),
        (SendRefused(SendRefusal.NONCE_TOO_LOW, -32000, "low"), Handing.UNCLEAR),
    ],
)
async def test_what_says_enough_is_not_asked_again(
    slept: list[float], answer: object, handing: Handing
) -> None:
    asked = ToldReader(lambda *_: answer)
    error = None if handing is Handing.TAKEN else answer
    assert await hand_over_to([asked], b"\1") == (handing, error)
    assert (slept, len(asked.asked)) == ([], 1)


async def test_every_try_is_with_all_endpoints(slept: list[float]) -> None:
    away = Unreachable("is away", endpoint="x")
    answers: list[object] = [away, "0xab"]
    one, other = ToldReader(lambda *_: away), ToldReader(lambda *_: answers.pop(0))
    assert await hand_over_to([one, other], b"\1") == (Handing.TAKEN, None)
    assert (len(one.asked), len(other.asked), slept) == (2, 2, [0.4])
