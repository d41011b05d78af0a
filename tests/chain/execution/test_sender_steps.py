"""Each part of sending by itself, step by step: what is asked, waited for, written and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox import sender as sending
from chain.execution.outbox.delivery import (
    DeliveredTransaction,
    Handing,
    NotThisWayError,
    Observed,
    Route,
)
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED, Evidence, NonceState, Sighting
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Doubt, EndCode, StepState
from chain.execution.outbox.rules import PlanOverError
from chain.execution.outbox.same_chain import Genesis, Head
from chain.execution.outbox.sender import (
    Fees,
    NotSentError,
    Patience,
    Sender,
    _Following,
    cancellation,
    speed_up,
)
from chain.rpc.errors import HttpFault, NoEndpoint, SendRefusal, SendRefused, Unreachable
from tests.chain.execution.outbox_kit import GWEI, planned, signed_by, transfer
from tests.chain.execution.told_node import ANCHOR, HEAD, NONCE, block
from tests.fakes.told_reader import ToldReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chain.execution.outbox.records import Dispatch, PlanStep
    from chain.execution.transaction import SignedTransaction, UnsignedTransaction

S = StepState
CHAIN = Genesis(31337, block(0).hash)
PATIENCE = Patience(
    poll_seconds=2,
    inclusion_seconds=10,
    finality_seconds=20,
    resend_seconds=6,
    witness_seconds=4,
    anchor_seconds=3,
)
AWAY = Unreachable("is away", endpoint="x")
IN_VAIN = HttpFault(401, endpoint="x")
"""An answer that the same endpoint would give again."""
NO = SendRefused(SendRefusal.UNDERPRICED, -32000, "no")


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        plan = planned(
            *(transfer(NONCE + place, step=f"s{place}") for place in range(3)), anchor=ANCHOR
        )
        opened.plan(plan, now=0)
        opened.approve(plan.hash, now=0)
        yield opened


def put(
    outbox: Outbox,
    position: int,
    state: StepState,
    *,
    settled: bool = False,
    included: bool = False,
    reason: str = "",
) -> PlanStep:
    """A step as the journal would have it after whatever came before."""
    place = ("0xin", 150, f"block {position}") if included else (None, None, None)
    outbox._connection.execute(
        "UPDATE outbox_steps SET state = ?, settled = ?, included_hash = ?, block_number = ?,"
        " block_hash = ?, reason = ? WHERE position = ?",
        (state, settled, *place, reason, position),
    )
    return outbox.dispatch("hash").steps[position]


def sign(outbox: Outbox, position: int) -> PlanStep:
    """With signed bytes in the journal, whatever its state."""
    from chain.execution.outbox.journal import add_version
    from chain.execution.outbox.records import VersionKind

    step = outbox.dispatch("hash").steps[position]
    signed = signed_by(DEMO_WALLET, step.transaction)
    add_version(outbox._connection, step, VersionKind.ORIGINAL, signed, 1.0)
    return outbox.dispatch("hash").steps[position]


class Time:
    """A clock that moves while it is slept; then whatever a test wants happens."""

    def __init__(self, *meanwhile: Callable[[], object]) -> None:
        self.now, self.sleeps = 100.0, list[float]()
        self.meanwhile, self.looks = list(meanwhile), 0

    def clock(self) -> float:
        self.looks += 1
        assert self.looks < 1_000, "nothing is waited for"
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.sleeps.append(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()


def sender_of(
    outbox: Outbox,
    time: Time | None = None,
    *,
    reads: Callable[..., object] = lambda *_: block(HEAD),
    evidence: Evidence | None = None,
    **parts: Any,
) -> tuple[Sender, list[tuple[int, StepState]]]:
    time, told = time or Time(), list[tuple[int, StepState]]()
    made = Sender(
        outbox=outbox,
        reads=ToldReader(reads),
        route=parts.pop("route", Route(ToldReader(lambda *_: "0xab"))),
        chain_id=31337,
        clock=time.clock,
        sleep=time.sleep,
        patience=PATIENCE,
        evidence=evidence or Evidence(),
        changed=lambda step: told.append((step.position, step.state)),
        **parts,
    )
    return made, told


def first(outbox: Outbox) -> PlanStep:
    return outbox.dispatch("hash").steps[0]


@pytest.mark.parametrize(
    ("head", "deadline", "late"),
    [
        (None, None, True),
        (block(HEAD, timestamp=99), None, False),
        (block(HEAD, timestamp=99), 100, False),
        (block(HEAD, timestamp=100), 100, True),
        (block(HEAD, timestamp=101), 100, True),
        (None, 100, True),
    ],
)
async def test_a_step_is_late_once_a_block_has_its_deadline(
    outbox: Outbox, head: object, deadline: int | None, late: bool
) -> None:
    sender, _ = sender_of(outbox, reads=lambda *_: head)
    for position in (0, 1):
        step = replace(outbox.dispatch("hash").steps[position], deadline=deadline)
        assert await sender._is_late(step) is late


async def test_a_later_step_waits_for_an_endpoint_that_is_away(outbox: Outbox) -> None:
    time, answers = Time(), [AWAY, AWAY, block(HEAD, timestamp=50)]
    sender, _ = sender_of(outbox, time, reads=lambda *_: answers.pop(0))
    step = replace(outbox.dispatch("hash").steps[1], deadline=50)
    assert await sender._is_late(step)
    assert time.sleeps == [2, 2]
    for position, sleeps in ((0, []), (1, [2] * 5), (2, [2] * 5)):
        away, _ = sender_of(outbox, time := Time(), reads=lambda *_: AWAY)
        with pytest.raises(Unreachable):
            await away._is_late(outbox.dispatch("hash").steps[position])
        assert time.sleeps == sleeps


class Objections:
    """What is found when a step is tried, one after the other."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.tried = list(answers), list[tuple[str, str]]()

    async def __call__(self, transaction: UnsignedTransaction, block_hash: str) -> str | None:
        self.tried.append((transaction.step, block_hash))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return cast("str | None", answer)


async def test_the_first_step_was_tried_when_it_was_approved(outbox: Outbox) -> None:
    objections = Objections("no")
    sender, told = sender_of(outbox, objection=objections)
    assert await sender._is_objected_to(first(outbox), CHAIN) is False
    assert (objections.tried, told) == ([], [])


@pytest.mark.parametrize("position", [1, 2])
async def test_a_later_step_is_tried_where_the_one_before_it_is(
    outbox: Outbox, position: int
) -> None:
    step = outbox.dispatch("hash").steps[position]
    sender, told = sender_of(outbox, objection=Objections(None))
    with pytest.raises(OutboxError, match=f"s{position} waits for the step before it"):
        await sender._is_objected_to(step, CHAIN)
    put(outbox, position - 1, S.INCLUDED, included=True)
    tried = Objections(None)
    sender, told = sender_of(outbox, objection=tried)
    assert await sender._is_objected_to(step, CHAIN) is False
    assert tried.tried == [(f"s{position}", f"block {position - 1}")]
    assert told == []
    sender, told = sender_of(outbox, objection=Objections("it fails"))
    assert await sender._is_objected_to(step, CHAIN) is True
    ended = outbox.dispatch("hash").steps[position]
    assert (ended.state, ended.reason) == (S.DISCARDED, "it fails")
    assert told == [(position, S.DISCARDED)]


async def test_while_nobody_answers_the_step_before_is_looked_at_again(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, stands = list[object](), [True]

    async def included(_: Sender, *given: object) -> bool:
        looked.append(given)
        put(outbox, 1, S.INCLUDED, included=True)
        outbox._connection.execute("UPDATE outbox_steps SET block_hash = 'moved'")
        return stands[0]

    monkeypatch.setattr(Sender, "_included", included)
    put(outbox, 1, S.INCLUDED, included=True)
    step, time = outbox.dispatch("hash").steps[2], Time()
    trials = Objections(AWAY, None)
    sender, _ = sender_of(outbox, time, objection=trials)
    assert await sender._is_objected_to(step, CHAIN) is False
    assert looked == [("hash", 1, CHAIN)]
    assert (trials.tried[1], time.sleeps) == (("s2", "moved"), [2])

    stands[0] = False
    sender, told = sender_of(outbox, objection=Objections(AWAY))
    assert await sender._is_objected_to(step, CHAIN) is True
    assert told == []
    assert outbox.dispatch("hash").steps[2].state is S.APPROVED

    stands[0] = True
    sender, _ = sender_of(outbox, time := Time(), objection=Objections(AWAY))
    with pytest.raises(Unreachable):
        await sender._is_objected_to(step, CHAIN)
    assert time.sleeps == [2] * 5


def handing(*outcomes: tuple[Handing, object]) -> tuple[Any, list[Any]]:
    """Delivering as a test says, and what was to be delivered when."""
    left, given = list(outcomes), list[Any]()

    async def deliver(*parts: Any, now: float, evidence: Evidence) -> DeliveredTransaction:
        given.append((parts, now, evidence))
        how, error = left.pop(0) if len(left) > 1 else left[0]
        step = parts[4]
        sent = replace(step, state=S.SENT) if how is not Handing.NOT_SENT else step
        return DeliveredTransaction(sent, how, cast("Any", error))

    return deliver, given


LOST = (Handing.NOT_SENT, AWAY)


@pytest.mark.parametrize(
    ("outcomes", "sleeps", "told", "error"),
    [
        ([(Handing.TAKEN, None)], 0, [(0, S.SENT)], None),
        ([(Handing.UNCLEAR, AWAY)], 0, [(0, S.SENT)], None),
        ([(Handing.REFUSED, NO)], 0, [(0, S.SENT)], None),
        ([LOST, LOST, (Handing.TAKEN, None)], 2, [(0, S.SENT)], None),
        ([LOST], 3, [], AWAY),
        ([LOST, (Handing.NOT_SENT, IN_VAIN)], 1, [], IN_VAIN),
        ([(Handing.NOT_SENT, NO)], 0, [], NO),
        ([(Handing.NOT_SENT, None)], 0, [], None),
    ],
)
async def test_what_could_not_be_sent_in_passing_is_tried_for_a_while(
    outbox: Outbox,
    monkeypatch: pytest.MonkeyPatch,
    outcomes: list[tuple[Handing, object]],
    sleeps: int,
    told: list[tuple[int, StepState]],
    error: Exception | None,
) -> None:
    deliver, given = handing(*outcomes)
    monkeypatch.setattr(sending, "deliver", deliver)
    sender, reported = sender_of(outbox, time := Time())
    dispatch, step = outbox.dispatch("hash"), first(outbox)
    if told:
        await sender._first_send(dispatch, step)
    else:
        with pytest.raises(NotSentError) as failed:
            await sender._first_send(dispatch, step)
        assert failed.value.error is error
        assert ("is away" in str(failed.value)) is (error is AWAY)
    assert (time.sleeps, reported) == ([2] * sleeps, told)
    assert [now for _, now, _ in given] == [100 + 2 * place for place in range(sleeps + 1)]
    assert given[0][0] == (outbox, sender.reads, sender.route, dispatch, step)
    assert given[0][2] is sender.evidence


def looks(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch, *happenings: Callable[[], object]
) -> list[tuple[int, float]]:
    """A look that finds whatever has happened to the steps by then."""
    left, seen = list(happenings), list[tuple[int, float]]()

    async def look(self: Sender, _: Dispatch, step: PlanStep, following: _Following) -> None:
        # Only where something may be sent again is the chain of it known.
        assert following.chain in (None, CHAIN)
        seen.append((step.position, self.clock()))
        if left:
            left.pop(0)()

    monkeypatch.setattr(Sender, "_look", look)
    return seen


@pytest.mark.parametrize(
    ("state", "settled", "included", "result"),
    [
        (S.INCLUDED, False, True, True),
        (S.FINAL, True, True, True),
        (S.REVERTED, False, True, False),
        (S.DROPPED, False, False, False),
        (S.REPLACED, False, True, False),
        (S.REPLACED, True, False, False),
        (S.REPLACED, True, True, False),
        # A nonce that went elsewhere in a block that may still go: waited for.
        (S.REPLACED, False, False, None),
        (S.SENT, False, False, None),
        (S.UNCLEAR, False, False, None),
    ],
)
async def test_a_step_is_waited_for_until_it_is_in_a_block_or_cannot_be(
    outbox: Outbox,
    monkeypatch: pytest.MonkeyPatch,
    state: StepState,
    settled: bool,
    included: bool,
    result: bool | None,
) -> None:
    put(outbox, 0, S.INCLUDED, included=True)
    put(outbox, 1, S.SENT)
    seen = looks(
        outbox,
        monkeypatch,
        lambda: None,
        lambda: put(outbox, 1, state, settled=settled, included=included),
    )
    sender, told = sender_of(outbox, time := Time())

    found = await sender._included("hash", 1, CHAIN)

    assert found is (result is True)
    waited = 5 if result is None else 0
    assert time.sleeps == [2] * waited
    looked = [(0, 100.0), (1, 100.0)]
    assert seen[:2] == looked
    # The step after it is not looked at; those before it are, until they are settled.
    assert {position for position, _ in seen} == {0, 1}
    assert told == []


async def test_a_settled_step_is_not_looked_at_and_a_plan_that_ended_is_over(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(outbox, 0, S.FINAL, settled=True, included=True)
    put(outbox, 1, S.INCLUDED, included=True)
    seen = looks(outbox, monkeypatch)
    sender, _ = sender_of(outbox)
    assert await sender._included("hash", 1, CHAIN) is True
    assert seen == [(1, 100.0)]
    outbox.end("hash", EndCode.OTHER_CHAIN, now=5)
    assert await sender._included("hash", 1, CHAIN) is False


async def test_one_earlier_step_that_was_taken_back_is_enough_to_wait(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(outbox, 0, S.SENT)
    put(outbox, 1, S.INCLUDED, included=True)
    seen = looks(
        outbox, monkeypatch, *[lambda: None] * 2, lambda: put(outbox, 0, S.INCLUDED, included=True)
    )
    sender, _ = sender_of(outbox, time := Time())
    assert await sender._included("hash", 1, CHAIN) is True
    assert (time.sleeps, seen[-1]) == ([2], (1, 102.0))
    put(outbox, 0, S.REVERTED, included=True)
    assert await sender._included("hash", 1, CHAIN) is False


async def test_endpoints_that_differ_hold_up_what_is_in_a_block(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(outbox, 0, S.INCLUDED, included=True)

    async def look(self: Sender, _: Dispatch, step: PlanStep, following: _Following) -> None:
        assert following.chain is CHAIN
        following.differs(step.position, differing[0], self.clock())

    differing = [True]
    monkeypatch.setattr(Sender, "_look", look)
    sender, told = sender_of(outbox, time := Time(lambda: differing.__setitem__(0, False)))
    assert await sender._included("hash", 0, CHAIN) is True
    assert (time.sleeps, told) == ([2], [])
    differing[0] = True
    sender, told = sender_of(outbox, time := Time())
    assert await sender._included("hash", 0, CHAIN) is False
    assert (time.sleeps, told) == ([2, 2], [(0, S.UNCLEAR)])
    assert first(outbox).reason == Doubt.NO_SECOND_WITNESS


@pytest.mark.parametrize(
    ("since", "late"), [({}, ()), ({0: 97.0}, ()), ({0: 96.0}, (0,)), ({0: 1.0, 1: 99.0}, (0,))]
)
def test_a_difference_that_lasts_is_given_up(
    outbox: Outbox, since: dict[int, float], late: tuple[int, ...]
) -> None:
    for position in (0, 1):
        put(outbox, position, S.SENT)
    sender, told = sender_of(outbox)
    following = _Following(0.0, CHAIN)
    following.split_since = since
    assert sender._gave_up_on(outbox.dispatch("hash"), following) is bool(late)
    assert told == [(position, S.UNCLEAR) for position in late]
    for position in (0, 1):
        step = outbox.dispatch("hash").steps[position]
        assert (step.reason == Doubt.NO_SECOND_WITNESS) is (position in late)
        assert step.changed_at == (100.0 if position in late else 0.0)


def test_what_is_remembered_while_a_step_is_followed() -> None:
    following = _Following(10.0, None)
    assert following.chain is None
    following.differs(0, True, 11.0)
    following.differs(0, True, 12.0)
    following.differs(1, True, 13.0)
    assert following.split_since == {0: 11.0, 1: 13.0}
    following.differs(0, False, 14.0)
    following.differs(2, False, 14.0)
    assert following.split_since == {1: 13.0}
    assert [following.resend_due(0, now, 5.0) for now in (14.9, 15.0, 19.9, 20.0)] == [
        False,
        True,
        False,
        True,
    ]
    assert following.resend_due(1, 15.0, 5.0) is True


def sighting(number: int = HEAD) -> Sighting:
    return Sighting(block(number), HEAD - 10, True, None, False, NONCE, 0)


class Looking:
    """Observing as a test says, and what came of a look."""

    def __init__(self, outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outbox, self.noted, self.asked = outbox, list[Any](), list[Any]()
        self.answer: Any = None
        self.deliver, self.delivered = handing((Handing.TAKEN, None))

        async def observe(*given: object, now: float, evidence: object) -> Observed:
            self.asked.append((given, now, evidence))
            if isinstance(self.answer, Exception):
                raise self.answer
            return cast("Observed", self.answer)

        async def deliver(*given: Any, **named: Any) -> DeliveredTransaction:
            return cast("DeliveredTransaction", await self.deliver(*given, **named))

        monkeypatch.setattr(sending, "observe", observe)
        monkeypatch.setattr(sending, "deliver", deliver)
        monkeypatch.setattr(
            sending,
            "note_seen",
            lambda *given, now: self.noted.append((given[1:3], given[3].number, now)),
        )

    def sees(self, standing: NonceState, step: PlanStep, number: int = HEAD) -> None:
        self.answer = Observed(step, standing, sighting(number))


@pytest.fixture
def looking(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> Looking:
    return Looking(outbox, monkeypatch)


N = NonceState


@pytest.mark.parametrize(
    ("standing", "state", "reason", "differs"),
    [
        (N.UNCLEAR, S.SENT, "", True),
        (N.UNCLEAR, S.INCLUDED, "", True),
        (N.UNCLEAR, S.UNCLEAR, Doubt.NO_SECOND_WITNESS, True),
        (N.UNCLEAR, S.UNCLEAR, Doubt.NONCE_TAKEN, False),
        (N.UNCLEAR, S.UNCLEAR, Doubt.BLOCK_GONE, False),
        (N.PENDING, S.SENT, "", False),
        (N.FINAL, S.FINAL, "", False),
        (N.MISSING, S.SENT, "", False),
    ],
)
async def test_only_what_endpoints_differ_about_is_a_difference(
    looking: Looking, standing: NonceState, state: StepState, reason: str, differs: bool
) -> None:
    outbox = looking.outbox
    step = put(outbox, 0, S.SENT)
    sender, told = sender_of(outbox)
    dispatch, following = outbox.dispatch("hash"), _Following(100.0, CHAIN)
    following.differs(0, True, 90.0)
    looking.sees(standing, replace(step, state=state, reason=reason))

    await sender._look(dispatch, step, following)

    assert following.split_since == ({0: 90.0} if differs else {})
    assert told == ([] if state is S.SENT else [(0, state)])
    assert looking.asked == [((outbox, sender.reads, dispatch, step), 100.0, sender.evidence)]
    assert looking.noted == [((sender.evidence, CHAIN), HEAD, 100.0)]
    assert looking.delivered == []


async def test_a_silence_is_no_sight_and_nothing_is_sent_by_watching(looking: Looking) -> None:
    step = put(looking.outbox, 0, S.SENT)
    sender, told = sender_of(looking.outbox)
    following = _Following(0.0, CHAIN)
    looking.answer = AWAY
    await sender._look(looking.outbox.dispatch("hash"), step, following)
    assert (told, looking.noted, following.split_since) == ([], [], {})

    looking.sees(N.MISSING, replace(step, state=S.UNCLEAR))
    await sender._look(looking.outbox.dispatch("hash"), step, _Following(0.0, None))
    assert told == [(0, S.UNCLEAR)]
    assert (looking.noted, looking.delivered) == ([], [])


@pytest.mark.parametrize(
    ("standing", "state", "started", "over", "is_sent"),
    [
        (N.MISSING, S.SENT, 94.0, False, True),
        (N.MISSING, S.SENT, 94.1, False, False),
        (N.MISSING, S.SENT, 94.0, True, False),
        (N.MISSING, S.DROPPED, 94.0, False, False),
        (N.UNCLEAR, S.SENT, 94.0, False, False),
        (N.PENDING, S.SENT, 94.0, False, False),
        (N.REPLACED, S.SENT, 94.0, False, False),
    ],
)
async def test_only_what_no_node_has_is_sent_again_once_it_is_due(
    looking: Looking,
    standing: NonceState,
    state: StepState,
    started: float,
    over: bool,
    is_sent: bool,
) -> None:
    outbox = looking.outbox
    step = put(outbox, 0, state)
    dispatch = outbox.dispatch("hash")
    if over:
        outbox.end("hash", EndCode.NONCE_SPENT, now=5)
    sender, told = sender_of(outbox)
    looking.sees(standing, step)
    following = _Following(started, CHAIN)
    await sender._look(dispatch, step, following)
    assert bool(looking.delivered) is is_sent
    assert told == []
    await sender._look(dispatch, step, following)
    assert len(looking.delivered) == is_sent
    if is_sent:
        assert looking.delivered[0][0][3:] == (dispatch, step)


async def test_what_is_sent_again_is_reported_where_it_changes(looking: Looking) -> None:
    step = put(looking.outbox, 0, S.SIGNED)
    sender, told = sender_of(looking.outbox)
    looking.sees(N.MISSING, step)
    await sender._look(looking.outbox.dispatch("hash"), step, _Following(0.0, CHAIN))
    assert told == [(0, S.SENT)]


@pytest.mark.parametrize(
    ("highest", "answers", "noted"),
    [
        (None, [], HEAD),
        (HEAD, [], HEAD),
        (HEAD + 1, [block(HEAD + 2)], HEAD + 2),
        (HEAD + 1, [AWAY], None),
    ],
)
async def test_the_embedded_chain_is_asked_again_while_it_is_lower_than_it_was(
    looking: Looking, highest: int | None, answers: list[object], noted: int | None
) -> None:
    outbox = looking.outbox
    if highest is not None:
        outbox.note_head(CHAIN, Head(highest, "0x1"), now=1)
    step = put(outbox, 0, S.SENT)
    sender, _ = sender_of(outbox, reads=lambda *_: answers.pop(0), evidence=EMBEDDED)
    looking.sees(N.MISSING, step)
    await sender._look(outbox.dispatch("hash"), step, _Following(0.0, CHAIN))
    assert [number for _, number, _ in looking.noted] == ([] if noted is None else [noted])
    assert bool(looking.delivered) is (noted is not None)
    assert answers == []


async def test_a_live_chain_is_not_asked_again(looking: Looking) -> None:
    outbox = looking.outbox
    outbox.note_head(CHAIN, Head(HEAD + 1, "0x1"), now=1)
    step = put(outbox, 0, S.SENT)
    sender, _ = sender_of(outbox)
    looking.sees(N.PENDING, step)
    await sender._look(outbox.dispatch("hash"), step, _Following(0.0, CHAIN))
    assert [number for _, number, _ in looking.noted] == [HEAD]
    assert cast("ToldReader", sender.reads).asked == []


async def test_watching_looks_at_what_is_signed_and_open_until_it_is_final(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for position in (0, 1):
        sign(outbox, position)
    put(outbox, 0, S.FINAL, settled=True)
    put(outbox, 1, S.SENT)
    seen = looks(
        outbox, monkeypatch, *[lambda: None] * 2, lambda: put(outbox, 1, S.FINAL, settled=True)
    )
    sender, _ = sender_of(outbox, time := Time())
    ended = await sender.watch("hash")
    assert seen == [(1, 100.0), (1, 102.0), (1, 104.0)]
    assert (time.sleeps, ended) == ([2, 2, 2], outbox.dispatch("hash"))
    put(outbox, 1, S.SENT)
    sender, _ = sender_of(outbox, time := Time())
    await sender.watch("hash")
    assert time.sleeps == [2] * 10
    with pytest.raises(OutboxError, match="is for another network"):
        await replace(sender, chain_id=1).watch("hash")


class Signs:
    def __init__(self) -> None:
        self.signed: list[str] = []

    def sign(self, transaction: UnsignedTransaction) -> SignedTransaction:
        self.signed.append(transaction.step)
        return signed_by(DEMO_WALLET, transaction)


@pytest.mark.parametrize(("late", "objected"), [(True, False), (False, True), (True, True)])
async def test_what_is_late_or_objected_to_is_not_signed(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch, late: bool, objected: bool
) -> None:
    async def is_late(*_: object) -> bool:
        return late

    async def is_objected_to(*_: object) -> bool:
        assert not late
        return objected

    monkeypatch.setattr(Sender, "_is_late", is_late)
    monkeypatch.setattr(Sender, "_is_objected_to", is_objected_to)
    sender, told = sender_of(outbox)
    signs = Signs()
    assert await sender._take(outbox.dispatch("hash"), first(outbox), signs, CHAIN) is False
    assert (signs.signed, told) == ([], [])


async def test_a_step_is_signed_written_down_sent_and_followed(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, result = list[Any](), [True]

    async def first_send(_: Sender, dispatch: Dispatch, step: PlanStep) -> None:
        assert outbox.dispatch("hash").steps[0].versions
        done.append(("sent", dispatch.hash, step.position, step.state))

    async def included(_: Sender, *given: object) -> bool:
        done.append(("included", *given))
        return result[0]

    monkeypatch.setattr(Sender, "_first_send", first_send)
    monkeypatch.setattr(Sender, "_included", included)
    outbox.consume("hash", now=1)
    sender, told = sender_of(outbox)
    taken = await sender._take(outbox.dispatch("hash"), first(outbox), Signs(), CHAIN)
    assert taken is True
    assert done == [("sent", "hash", 0, S.SIGNED), ("included", "hash", 0, CHAIN)]
    assert told == [(0, S.SIGNED)]
    assert first(outbox).changed_at == 100.0


async def test_steps_are_taken_in_turn_until_one_is_not(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[int]()

    async def take(_: Sender, __: Dispatch, step: PlanStep, *___: object) -> bool:
        taken.append(step.position)
        return step.position == 0

    async def same(_: Sender, dispatch_hash: str) -> Genesis:
        assert (dispatch_hash, outbox.dispatch("hash").consumed_at) == ("hash", None)
        return CHAIN

    monkeypatch.setattr(Sender, "_take", take)
    monkeypatch.setattr(Sender, "_same_chain", same)
    sender, _ = sender_of(outbox)
    ended = await sender.apply("hash", Signs(), at=77.0)
    assert taken == [0, 1]
    assert (ended.consumed_at, ended) == (77.0, outbox.dispatch("hash"))
    assert {(step.state, step.reason) for step in ended.steps} == {
        (S.DISCARDED, "the plan ended before it")
    }


async def test_a_plan_for_another_way_is_refused_before_its_approval_is_used(
    outbox: Outbox,
) -> None:
    outbox._connection.execute("UPDATE outbox_dispatches SET private_host = 'private'")
    sender, _ = sender_of(outbox)
    with pytest.raises(NotThisWayError, match="through private alone"):
        await sender.apply("hash", Signs(), at=1.0)
    assert outbox.dispatch("hash").consumed_at is None
    with pytest.raises(NotThisWayError):
        await sender.replace("hash", 0, transfer(NONCE), Signs(), at=1.0)


async def test_only_one_zuno_applies_or_resumes(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr(Outbox, "applying", lambda _: nullcontext(False))
    sender, _ = sender_of(outbox)
    with pytest.raises(OutboxError, match="Another zuno is applying a plan"):
        await sender.apply("hash", Signs(), at=1.0)
    with pytest.raises(OutboxError, match="Another zuno is applying a plan"):
        await sender.resume("hash", 0)
    assert outbox.dispatch("hash").consumed_at is None


async def test_one_step_is_resumed_where_those_before_it_stand(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = list[Any]()

    async def first_send(_: Sender, dispatch: Dispatch, step: PlanStep) -> None:
        done.append((dispatch.hash, step.position))

    async def included(_: Sender, *given: object) -> bool:
        done.append(given)
        return False

    async def same(_: Sender, dispatch_hash: str) -> Genesis:
        done.append(dispatch_hash)
        return CHAIN

    monkeypatch.setattr(Sender, "_first_send", first_send)
    monkeypatch.setattr(Sender, "_included", included)
    monkeypatch.setattr(Sender, "_same_chain", same)
    sender, _ = sender_of(outbox)
    put(outbox, 0, S.FINAL, settled=True)
    put(outbox, 1, S.SIGNED)
    assert await sender.resume("hash", 1) == outbox.dispatch("hash")
    assert done == ["hash", ("hash", 1), ("hash", 1, CHAIN)]
    put(outbox, 0, S.REVERTED)
    with pytest.raises(OutboxError, match="s0 comes first and is reverted"):
        await sender.resume("hash", 1)
    with pytest.raises(OutboxError, match="is for another network"):
        await replace(sender, chain_id=1).resume("hash", 1)
    done.clear()
    outbox.end("hash", EndCode.NONCE_SPENT, now=5)
    with pytest.raises(PlanOverError):
        await sender.resume("hash", 1)
    assert done == []


async def test_what_is_sent_once_more_is_reported_or_kept(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, told = sender_of(outbox)
    for how in (Handing.TAKEN, Handing.UNCLEAR, Handing.REFUSED):
        deliver, _ = handing((how, None))
        monkeypatch.setattr(sending, "deliver", deliver)
        assert (await sender.resend(first(outbox))).state is S.SENT
    assert told == [(0, S.SENT)] * 3
    deliver, _ = handing(LOST)
    monkeypatch.setattr(sending, "deliver", deliver)
    with pytest.raises(
        NotSentError, match=r"s0 is signed and kept, but it could not be sent\. x is"
    ):
        await sender.resend(first(outbox))
    assert len(told) == 3
    assert NotSentError(first(outbox), None).sentence.endswith("could not be sent.")


async def test_a_dearer_version_is_approved_signed_written_down_and_sent(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver, given = handing((Handing.TAKEN, None))
    monkeypatch.setattr(sending, "deliver", deliver)
    sign(outbox, 0)
    put(outbox, 0, S.SENT)
    dearer = speed_up(first(outbox), market=Fees(0, 0), cap=Fees(10**15, 10**15))
    sender, told = sender_of(outbox)
    signs = Signs()
    with pytest.raises(OutboxError, match="never approved"):
        await sender.replace("hash", 0, dearer, signs, at=50.0)
    assert signs.signed == []
    outbox.approve_replacement("hash", 0, dearer, now=40.0)
    found = await sender.replace("hash", 0, dearer, signs, at=50.0)
    assert (found.state, told) == (S.SENT, [(0, S.SIGNED), (0, S.SENT)])
    newest = given[0][0][4].newest
    assert (newest.transaction.unsigned, newest.signed_at) == (dearer, 100.0)


@pytest.mark.parametrize(
    ("market", "fees"),
    [
        # An eighth more than before in both, or what the market asks.
        (Fees(0, 0), Fees(22_500_000_000, 1_125_000_000)),
        (Fees(30 * GWEI, GWEI), Fees(30 * GWEI, 1_125_000_000)),
        (Fees(0, 2 * GWEI), Fees(22_500_000_000, 2 * GWEI)),
        (Fees(0, 25 * GWEI), Fees(25 * GWEI, 25 * GWEI)),
    ],
)
def test_what_replaces_a_step_pays_the_market_and_an_eighth_more(
    outbox: Outbox, market: Fees, fees: Fees
) -> None:
    sign(outbox, 0)
    step = put(outbox, 0, S.SENT)
    cap = Fees(fees.max_fee_per_gas, fees.max_priority_fee_per_gas)
    faster, nothing = (
        speed_up(step, market=market, cap=cap),
        cancellation(step, market=market, cap=cap),
    )
    paid = {
        "max_fee_per_gas": fees.max_fee_per_gas,
        "max_priority_fee_per_gas": fees.max_priority_fee_per_gas,
    }
    assert faster == replace(step.transaction, **paid)
    own = step.transaction.sender
    assert nothing == replace(step.transaction, **paid, to=own, value=0, data=b"", gas=21_000)
    assert cancellation(step, market=market, cap=cap, gas=30_000).gas == 30_000
    for low in (
        Fees(cap.max_fee_per_gas - 1, cap.max_priority_fee_per_gas),
        Fees(cap.max_fee_per_gas, cap.max_priority_fee_per_gas - 1),
    ):
        with pytest.raises(OutboxError, match=f"{fees.max_fee_per_gas} wei per gas, over the cap"):
            speed_up(step, market=market, cap=low)


def test_only_what_was_signed_and_waits_is_replaced(outbox: Outbox) -> None:
    free, cap = Fees(0, 0), Fees(10**15, 10**15)
    with pytest.raises(OutboxError, match="was never signed: there is nothing to replace"):
        speed_up(put(outbox, 0, S.SENT), market=free, cap=cap)
    sign(outbox, 0)
    with pytest.raises(OutboxError, match="nothing to speed up or cancel"):
        speed_up(put(outbox, 0, S.INCLUDED), market=free, cap=cap)
    with pytest.raises(OutboxError, match="nothing to speed up or cancel"):
        speed_up(put(outbox, 0, S.SENT, settled=True), market=free, cap=cap)


async def test_which_chain_it_is_is_asked_with_this_senders_patience(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = list[Any]()

    async def required(*parts: object, **named: Any) -> Genesis:
        given.append((parts, named))
        await named["wait"]()
        return CHAIN

    monkeypatch.setattr(sending, "require_same_chain", required)
    sender, _ = sender_of(outbox, time := Time())
    assert await sender._same_chain("hash") == CHAIN
    ((parts, named),) = given
    assert parts == (outbox, sender.reads, sender.evidence, outbox.dispatch("hash"))
    assert (named["clock"](), named["seconds"], time.sleeps) == (102.0, 3, [2])


def test_nobody_there_is_no_way_to_send() -> None:
    assert NotSentError.failure is NoEndpoint.failure
