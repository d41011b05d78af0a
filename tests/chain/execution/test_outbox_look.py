"""One look at the outbox, with the chain played: what is asked, ended, given up and said."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox import resume
from chain.execution.outbox.delivery import Observed
from chain.execution.outbox.journal import add_version
from chain.execution.outbox.lookup import Evidence, NonceState, Sighting
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import (
    Doubt,
    EndCode,
    Inclusion,
    PlanEnd,
    StepState,
    VersionKind,
)
from chain.execution.outbox.resume import (
    StepFinding,
    StepSituation,
    _adds,
    _by_state,
    _finding,
    _Found,
    _over,
    _telling,
    look,
)
from chain.execution.outbox.same_chain import ChainSight, ChainState, Genesis, Head
from chain.rpc.errors import Unreachable
from tests.chain.execution.made_up_dispatches import dispatch
from tests.chain.execution.outbox_kit import HALF_WAY, planned, signed_by, transfer
from tests.chain.execution.told_node import ANCHOR, DEADLINE, HEAD, NONCE, block
from tests.fakes.told_reader import ToldReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.outbox.records import Dispatch, PlanStep

N, S, T = NonceState, StepState, StepSituation
CHAIN = Genesis(31337, block(0).hash)
SEEN = Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)
READS, EVIDENCE = ToldReader(lambda *_: None), Evidence()
AWAY = Unreachable("is away", endpoint="x")
IN = Inclusion("0xab", 7, "0xb7")


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        yield opened


def plan(outbox: Outbox, name: str = "plan", *, chain_id: int = 31337, steps: int = 2) -> None:
    """A plan that was begun; `hash` is its name."""
    made = (replace(transfer(NONCE + at, step=f"s{at}"), chain_id=chain_id) for at in range(steps))
    outbox.plan(planned(*made, plan_id=name, hash=name, anchor=ANCHOR, deadline=DEADLINE), now=0)
    outbox.approve(name, now=0)
    outbox.consume(name, now=1)


def put(
    outbox: Outbox, name: str, position: int, state: StepState, *, settled: bool = False
) -> PlanStep:
    """Signed, and in this state."""
    step = outbox.dispatch(name).steps[position]
    if not step.versions:
        signed = signed_by(DEMO_WALLET, step.transaction)
        add_version(outbox._connection, step, VersionKind.ORIGINAL, signed, 1.0)
    outbox._connection.execute(
        "UPDATE outbox_steps SET state = ?, settled = ? WHERE dispatch = ? AND position = ?",
        (state, settled, name, position),
    )
    return outbox.dispatch(name).steps[position]


class Chain:
    """A chain as it is sighted, and each step of it as it is observed."""

    def __init__(self, outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outbox, self.asked, self.kept = outbox, list[Any](), list[Any]()
        self.state: ChainState | Exception = ChainState.KNOWN
        self.observations: dict[tuple[str, int], Any] = {}
        self.seen = SEEN

        async def sight(*given: object, now: float) -> ChainSight:
            self.asked.append((*given, now))
            if isinstance(self.state, Exception):
                raise self.state
            return ChainSight(CHAIN, block(HEAD), Head(10**6, "0x1"), self.state, embedded=False)

        async def observe(*given: Any, now: float, evidence: object) -> Observed:
            assert (given[:2], now, evidence) == ((outbox, READS), 50.0, EVIDENCE)
            step = given[3]
            self.asked.append((given[2].hash, step.position))
            found = self.observations.get((given[2].hash, step.position), N.PENDING)
            if isinstance(found, Exception):
                raise found
            if isinstance(found, tuple):
                standing, state = found
                step = replace(step, state=state)
                return Observed(step, standing, self.seen)
            return Observed(step, found, self.seen)

        monkeypatch.setattr(resume, "sight_chain", sight)
        monkeypatch.setattr(resume, "observe", observe)
        monkeypatch.setattr(
            resume, "keep_sight", lambda _, sight, now: self.kept.append((sight.state, now))
        )

    async def look(self, **given: Any) -> list[tuple[str, int, StepSituation]]:
        found = await look(
            self.outbox, READS, chain_id=31337, clock=lambda: 50.0, evidence=EVIDENCE, **given
        )
        self.sentences = [finding.sentence for finding in found]
        return [(each.dispatch.hash, each.step.position, each.situation) for each in found]


@pytest.fixture
def chain(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> Chain:
    return Chain(outbox, monkeypatch)


@pytest.mark.parametrize(
    ("observed", "timestamp", "situation", "state"),
    [
        (N.PENDING, DEADLINE - 1, T.PENDING, S.SENT),
        (N.PENDING, DEADLINE, T.PENDING_TOO_LATE, S.SENT),
        (N.MISSING, 0, T.NOT_SENT, S.SENT),
        ((N.MISSING, S.DROPPED), 0, T.DROPPED, S.SENT),
        (N.UNCLEAR, 0, T.UNCLEAR, S.UNCLEAR),
        ((N.UNCLEAR, S.UNCLEAR), 0, T.UNCLEAR, S.SENT),
        ((N.INCLUDED, S.INCLUDED), 0, T.INCLUDED, S.SENT),
        ((N.FINAL, S.FINAL), 0, T.FINAL, S.SENT),
        ((N.FINAL, S.REVERTED), 0, T.REVERTED, S.SENT),
        ((N.REPLACED, S.REPLACED), 0, T.REPLACED, S.SENT),
        ((N.EXPIRED, S.DROPPED), 0, T.DROPPED, S.SENT),
    ],
)
async def test_what_is_observed_of_a_step_is_its_situation(
    chain: Chain, observed: Any, timestamp: int, situation: StepSituation, state: StepState
) -> None:
    plan(chain.outbox, steps=1)
    put(chain.outbox, "plan", 0, S.SENT)
    chain.observations["plan", 0] = observed
    chain.seen = replace(SEEN, head=block(HEAD, timestamp=timestamp))

    assert await chain.look() == [("plan", 0, situation)]

    step = chain.outbox.dispatch("plan").steps[0]
    assert step.state is state
    assert chain.asked == [(chain.outbox, READS, EVIDENCE, 31337, 50.0), ("plan", 0)]
    assert chain.kept == [(ChainState.KNOWN, 50.0)]
    if state is S.UNCLEAR:
        assert (step.reason, step.changed_at) == (Doubt.NO_SECOND_WITNESS, 50.0)


async def test_only_plans_of_this_chain_that_need_it_are_looked_up(chain: Chain) -> None:
    for name, chain_id in (("here", 31337), ("elsewhere", 1), ("done", 31337)):
        plan(chain.outbox, name, chain_id=chain_id, steps=1)
        put(chain.outbox, name, 0, S.SENT, settled=name == "done")
    assert await chain.look() == [("here", 0, T.PENDING)]


async def test_what_nobody_signs_any_more_is_given_up(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(chain.outbox)
    put(chain.outbox, "plan", 0, S.INCLUDED)
    monkeypatch.setattr(Outbox, "applying", lambda _: nullcontext(False))
    chain.observations["plan", 0] = (N.INCLUDED, S.INCLUDED)
    assert await chain.look() == [("plan", 0, T.INCLUDED), ("plan", 1, T.BEING_APPLIED)]
    monkeypatch.setattr(Outbox, "applying", lambda _: nullcontext(True))
    assert await chain.look() == [("plan", 0, T.INCLUDED), ("plan", 1, T.NEVER_SIGNED)]
    step = chain.outbox.dispatch("plan").steps[1]
    assert (step.state, step.changed_at) == (S.DISCARDED, 50.0)
    assert step.reason == "zuno ended before it was signed"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (AWAY, AWAY.sentence),
        (ChainState.LAGGING, "the endpoint lags, or is of another chain"),
        (TimeoutError(), "The chain did not answer in time."),
    ],
)
async def test_a_chain_that_cannot_be_told_leaves_the_last_word(
    chain: Chain, fault: Any, words: str
) -> None:
    plan(chain.outbox)
    put(chain.outbox, "plan", 0, S.SENT)
    chain.state = fault
    assert (await chain.look())[0] == ("plan", 0, T.UNKNOWN)
    assert "was last known as sent." in chain.sentences[0]
    assert words in chain.sentences[0]
    assert len(chain.asked) == 1
    assert chain.kept == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [(AWAY, AWAY.sentence), (TimeoutError(), "The chain did not answer in time.")],
)
async def test_a_step_that_cannot_be_told_does_not_keep_the_others_from_it(
    chain: Chain, fault: Exception, words: str
) -> None:
    plan(chain.outbox)
    for position in (0, 1):
        put(chain.outbox, "plan", position, S.SENT)
    chain.observations["plan", 0] = fault
    assert await chain.look() == [("plan", 0, T.UNKNOWN), ("plan", 1, T.PENDING)]
    assert words in chain.sentences[0]


async def test_a_look_takes_no_longer_than_it_may(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    plan(chain.outbox, steps=1)
    put(chain.outbox, "plan", 0, S.SENT)
    monkeypatch.setattr(resume, "observe", never)
    assert await chain.look(within=0.01) == [("plan", 0, T.UNKNOWN)]
    monkeypatch.setattr(resume, "sight_chain", never)
    assert await chain.look(within=0.01) == [("plan", 0, T.UNKNOWN)]
    assert resume.WITHIN_SECONDS == 4


async def test_what_is_signed_and_missing_on_a_rewritten_chain_is_over(chain: Chain) -> None:
    for name in ("missing", "waiting", "settled", "unsigned"):
        plan(chain.outbox, name)
    plan(chain.outbox, "elsewhere", chain_id=1)
    for name in ("missing", "elsewhere"):
        put(chain.outbox, name, 1, S.SENT)
    put(chain.outbox, "waiting", 0, S.SENT)
    put(chain.outbox, "settled", 0, S.FINAL, settled=True)
    for name in ("missing", "settled", "unsigned", "elsewhere"):
        for position in (0, 1):
            chain.observations[name, position] = N.MISSING
    chain.state = ChainState.REWRITTEN

    await chain.look()

    codes = {each.hash: each.ended for each in chain.outbox.dispatches()}
    assert codes["missing"] == PlanEnd(EndCode.CHAIN_RESTARTED, 50.0)
    assert {name for name, ended in codes.items() if ended} == {"missing"}
    assert chain.asked[1:3] == [("missing", 1), ("waiting", 0)]
    assert chain.kept == [(ChainState.REWRITTEN, 50.0)]
    chain.state = ChainState.KNOWN
    assert ("waiting", 0, T.PENDING) in await chain.look()


async def test_of_a_plan_that_is_over_only_what_may_still_come_is_told_besides(
    chain: Chain,
) -> None:
    plan(chain.outbox, steps=3)
    for position in (0, 1, 2):
        put(chain.outbox, "plan", position, S.SENT)
    chain.outbox.end("plan", EndCode.NONCE_SPENT, now=5)
    chain.observations["plan", 0] = (N.INCLUDED, S.INCLUDED)
    chain.observations["plan", 1] = N.PENDING
    chain.observations["plan", 2] = AWAY
    plan(chain.outbox, "other", steps=1)
    put(chain.outbox, "other", 0, S.SENT)
    assert await chain.look() == [
        ("other", 0, T.PENDING),
        ("plan", 2, T.OVER),
        ("plan", 1, T.PENDING),
        ("plan", 2, T.UNKNOWN),
    ]


@pytest.mark.parametrize("situation", list(StepSituation))
def test_what_may_still_come_to_a_block_is_told_of_a_plan_that_is_over(
    situation: StepSituation,
) -> None:
    made, found = dispatch(S.SENT), _Found("hash of plan", 0, situation)
    over = replace(made, ended=PlanEnd(EndCode.NONCE_SPENT, 5.0))
    assert _adds(made, found)
    assert _adds(over, found) is (
        situation in (T.PENDING, T.PENDING_TOO_LATE, T.UNCLEAR, T.UNKNOWN, T.BEING_APPLIED)
    )


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (dispatch(S.SENT, S.SENT), [0, 1]),
        (dispatch(S.FINAL, S.SENT, settled=(0,)), [1]),
        (dispatch(S.FINAL, S.REVERTED, S.DISCARDED, settled=(0, 1, 2)), [1]),
        (dispatch(S.FINAL, S.FINAL, settled=(0, 1)), []),
    ],
)
def test_what_is_open_and_where_it_stopped_is_told(plan: Dispatch, told: list[int]) -> None:
    assert [step.position for step in _telling(plan)] == told


@pytest.mark.parametrize(
    ("state", "situation"),
    [
        (S.PLANNED, T.BEING_APPLIED),
        (S.APPROVED, T.BEING_APPLIED),
        (S.SIGNED, T.NOT_SENT),
        (S.SENT, T.PENDING),
        (S.UNCLEAR, T.UNCLEAR),
        (S.INCLUDED, T.INCLUDED),
        (S.FINAL, T.FINAL),
        (S.REVERTED, T.REVERTED),
        (S.REPLACED, T.REPLACED),
        (S.DROPPED, T.DROPPED),
        (S.DISCARDED, T.NEVER_SIGNED),
    ],
)
def test_a_situation_by_what_is_written_down(state: StepState, situation: StepSituation) -> None:
    (step,) = dispatch(state).steps
    assert _by_state(step) is situation
    cancelled = T.CANCELLED if state is S.REPLACED else situation
    assert _by_state(replace(step, inclusion=IN)) is cancelled


@pytest.mark.parametrize("situation", [each for each in T if each is not T.OVER])
def test_a_reason_is_told_where_it_says_more(situation: StepSituation) -> None:
    made = dispatch(S.SENT)
    because = replace(made, steps=(replace(made.steps[0], reason="so it is"),))
    found = _Found(made.hash, 0, situation)
    with_reason = _finding(because, found)
    assert ("(so it is)" in with_reason.sentence) is (
        situation in (T.DROPPED, T.NOT_SENT, T.UNCLEAR)
    )
    assert with_reason == StepFinding(because, because.steps[0], situation, with_reason.sentence)
    assert "(" not in _finding(made, found).sentence
    detailed = _finding(made, replace(found, detail="More of it."))
    assert detailed.sentence == f"{_finding(made, found).sentence} More of it."


def test_where_one_stands_is_told_where_it_is_known() -> None:
    half = dispatch(S.FINAL, S.REVERTED)
    told = _finding(half, _Found(half.hash, 1, T.REVERTED)).sentence
    assert told.endswith(f" Where you stand: {HALF_WAY}.")
    waiting = dispatch(S.FINAL, S.SENT)
    assert "you stand" not in _finding(waiting, _Found(waiting.hash, 1, T.PENDING)).sentence


def test_the_end_of_a_plan_is_told_where_it_stopped_or_at_its_last_step() -> None:
    stopped = dispatch(S.FINAL, S.REVERTED, S.DISCARDED)
    whole = dispatch(S.FINAL, S.FINAL, S.FINAL)
    assert _over(stopped, EndCode.STEP_GONE).step is stopped.steps[1]
    told = _over(whole, EndCode.STEP_GONE)
    assert (told.step, told.situation) == (whole.steps[2], T.OVER)
    assert "Plan plan is over: a step that was in a block is in none any more." in told.sentence
