"""How a debate goes: rounds, revisions, deadlock, the Arbiter, and how it can fail."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.bus.envelope import Envelope, FailureCause, Role
from agents.bus.record import MemorySink, RecordWriter
from agents.bus.run import ArgumentEnd
from agents.bus.worker import (
    Ambient,
    BusLimits,
    StageFailedError,
)
from agents.lp.advice_words import option_letter
from agents.lp.conclude import rules_alone
from agents.lp.debate import HANDLERS, hold_debate
from agents.lp.facts import CreateContext, CreateGoal, MarketContext, PastFacts
from agents.lp.payloads import (
    ARBITER,
    CRITIC,
    DEBATE,
    ContextObserved,
    Deadlock,
    Debate,
    DebateKind,
    Proposal,
)
from agents.lp.plan import Plan
from agents.model.interface import (
    Answer,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
    Usage,
)
from agents.numbers.advice import AdviceReason
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import MAX_CANDIDATES
from chain.base.clean_text import Redactor
from chain.protocols.reference import PositionRef
from tests.agents.lp.debating import NOW, REQUEST, Argued, argue_over, start_of
from tests.agents.lp.made_up import HOOK_POWER, TOKEN0, Market
from tests.agents.lp.made_up_markets import market_context
from tests.agents.lp.second_opinion import FLOORS, check_argued, waits_beside
from tests.virtual_time import pass_time

DEADLOCKED = market_context("idle day", RiskProfile.CONSERVATIVE)
"""Yesterday paid so little that the Critic sends every move back, though a week pays for them."""
DEAR = Market(0.03, 1.3, off_centre=2.5, gwei=5_000).position()
"""No move can pay for its gas."""
NARROW = DEADLOCKED


def envelopes(argued: Argued) -> list[Envelope]:
    lines = [json.loads(line) for line in argued.record.splitlines()]
    found = [line["body"] for line in lines if line["type"] == "envelope"]
    return [DEBATE.open(json.dumps(body).encode()) for body in found]


def kinds(argued: Argued) -> list[str]:
    return [one.kind for one in envelopes(argued) if one.kind in list(DebateKind)]


async def test_a_first_round_that_is_accepted_is_the_last() -> None:
    argued = await argue_over(Market(0.02, 1.3, half_width=0.1, off_centre=2.5).position())
    assert kinds(argued) == ["flow_start", "context_observed", "proposal", "plan_ready"]
    assert argued.plan.rounds == 1
    assert argued.plan.decided_by == "critic"
    assert argued.plan.decision == "accept"


async def test_a_revision_answers_every_point_and_takes_the_width_the_floor_asked_for() -> None:
    argued = await argue_over(DEADLOCKED)
    revision = next(one.payload for one in envelopes(argued) if one.kind == "revision")
    assert isinstance(revision, Proposal)
    first, second = revision.rounds
    assert first.objections
    assert [answer.point for answer in second.answers] == [one.point for one in first.objections]
    needed = [one.needed_multiplier for one in first.objections if one.needed_multiplier]
    assert needed
    floor = FLOORS[DEADLOCKED.profile.value]
    for move in second.candidates[:3]:
        assert move.buffer_hours is not None
        assert move.shape is not None
        assert move.buffer_hours.at_1x >= floor
        assert move.shape.width_multiplier > min(needed)


@pytest.mark.parametrize("rounds", [1, 2, 3])
async def test_after_the_last_round_a_deadlock_goes_to_the_arbiter(rounds: int) -> None:
    argued = await argue_over(DEADLOCKED, rounds=rounds)
    check_argued(DEADLOCKED, argued, rounds)
    assert argued.plan.decided_by == "arbiter"
    assert argued.plan.rounds == rounds
    assert kinds(argued) == [
        *("flow_start", "context_observed", "proposal"),
        *("critique", "revision") * (rounds - 1),
        *("deadlock", "plan_ready"),
    ]
    (decision,) = argued.said("decision")
    assert decision.startswith("After one round" if rounds == 1 else f"After {rounds} rounds")


async def test_the_arbiter_chooses_among_what_is_not_vetoed() -> None:
    argued = await argue_over(DEADLOCKED)
    plan = argued.plan
    verdicts = [move.judgment.verdict.value for move in plan.candidates if move.judgment]
    swapping = [
        verdict
        for verdict, move in zip(verdicts, plan.candidates, strict=True)
        if not waits_beside(move)
    ]
    assert set(swapping) == {"revise"}
    assert plan.choice.kind == "move"
    assert plan.choice.index is not None
    assert verdicts[plan.choice.index] == "revise"
    # Conservative likes half as much again as its floor, then the highest net wins.
    roomy = 1.5 * FLOORS["conservative"]
    nets = {
        index: move.net_7d or 0.0
        for index, move in enumerate(plan.candidates)
        if verdicts[index] == "revise" and move.buffer_hours and move.buffer_hours.at_1x >= roomy
    }
    assert len(nets) > 1
    assert plan.choice.index == max(nets, key=lambda index: nets[index])
    assert plan.verdict == "approve_with_caution"
    letter = option_letter(plan.choice.index)
    assert f" {letter} should net the most" in argued.said("decision")[0]


class Stubborn:
    """A model that speaks as the Arbiter alone, and always names the same candidate."""

    def __init__(self, index: int) -> None:
        self._index = index

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        if role is not ARBITER:
            raise ModelUnavailable(Unavailability.TIMED_OUT, "The model took too long.")
        said = {"rationale": "I have read the whole debate twice.", "chosenIndex": self._index}
        return Answer(schema.model_validate(said), Usage(1, 1, False), json.dumps(said), "test")


async def test_an_arbiter_may_choose_otherwise_but_nothing_worse() -> None:
    rules = (await argue_over(DEADLOCKED)).plan
    own = rules.recommended.net_7d or 0.0
    followed = 0
    for index in range(MAX_CANDIDATES + 1):
        argued = await argue_over(DEADLOCKED, model=Stubborn(index % MAX_CANDIDATES))
        plan = argued.plan
        check_argued(DEADLOCKED, argued)
        assert plan.rules_alone.kind == rules.choice.kind
        assert (plan.recommended.net_7d or 0.0) >= own
        overruled = argued.said("floor") != []
        assert bool(plan.dissent) is overruled
        assert all(dissent.role == "arbiter" for dissent in plan.dissent)
        assert overruled or plan.choice.index == index % MAX_CANDIDATES
        followed += not overruled
    assert followed > 0


@pytest.mark.parametrize("rounds", [1, 2, 3])
async def test_when_all_is_vetoed_the_plan_is_hold_with_every_reason(rounds: int) -> None:
    argued = await argue_over(DEAR, rounds=rounds)
    check_argued(DEAR, argued, rounds)
    plan = argued.plan
    assert plan.rounds == rounds
    assert (plan.choice.kind, plan.decision, plan.verdict) == ("hold", "veto_all", "reject")
    assert plan.choice.reasons[0] == "every move breaks a limit of your profile"
    assert len(plan.choice.reasons) == 1 + len(plan.candidates)
    assert all("over twice the ceiling" in reason for reason in plan.choice.reasons[1:])
    assert {one.round for one in plan.rejected} == set(range(1, rounds + 1))
    assert plan.choice.codes[0] is AdviceReason.NO_CANDIDATE


async def test_no_capital_enters_a_pool_that_may_keep_it() -> None:
    market = Market(0.03, 2.0, danger="dangerous")
    argued = await argue_over(market.opening((TOKEN0, 10**18)))
    plan = argued.plan
    assert (plan.choice.kind, plan.verdict) == ("hold", "reject")
    assert HOOK_POWER.rstrip(".") in plan.choice.reasons[1]
    safe = await argue_over(replace(market, danger="caution").opening((TOKEN0, 10**18)))
    assert safe.plan.choice.kind == "move"


async def test_without_a_model_the_debate_is_what_the_rules_alone_would_choose() -> None:
    for context in (DEADLOCKED, DEAR, NARROW, Market(0.02).opening((TOKEN0, 10**18))):
        plan = (await argue_over(context)).plan
        assert plan.rules_alone == plan.choice == rules_alone(context, 2).choice


async def test_every_number_of_scout_travels_verbatim_with_its_hash() -> None:
    argued = await argue_over(DEADLOCKED)
    said = [one.payload for one in envelopes(argued)]
    seen = [payload for payload in said if isinstance(payload, ContextObserved | Debate)]
    assert len(seen) == 5
    assert {one.context_hash for one in seen} == {argued.plan.context_hash}
    assert len({one.context.model_dump_json() for one in seen}) == 1


# --- how it can fail ---


class Blind:
    """Eyes that see nothing but trouble."""

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, *_: object
    ) -> MarketContext:
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()
        raise AssertionError

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        raise AssertionError

    async def position_past(self, ref: PositionRef) -> PastFacts:
        raise AssertionError


async def looked(eyes: Blind, crashes: list[Exception], **limits: float) -> ArgumentEnd[Plan]:
    return await hold_debate(
        start_of(NARROW, 2),
        eyes,
        None,
        RecordWriter(MemorySink(), REQUEST, {}, Redactor(), flow="lp"),
        ambient=Ambient(lambda: NOW, lambda: REQUEST),
        request_id=REQUEST,
        limits=BusLimits(**limits),  # type: ignore[arg-type]
        on_crash=lambda _, error: crashes.append(error),
    )


async def test_a_reason_not_to_go_on_is_said_as_it_is() -> None:
    crashes: list[Exception] = []
    ended = await looked(Blind(StageFailedError("The chain sleeps. Wake it.")), crashes)
    assert ended.plan is None
    assert ended.failure is not None
    assert (ended.failure.stage, ended.failure.cause) == ("scout", FailureCause.REFUSED)
    assert ended.failure.reason == "The chain sleeps. Wake it."
    assert crashes == []


async def test_a_crash_says_its_kind_and_keeps_its_text_to_itself() -> None:
    crashes: list[Exception] = []
    ended = await looked(Blind(OSError("https://rpc.example/v2/sk-secret")), crashes)
    assert ended.failure is not None
    assert (ended.failure.stage, ended.failure.cause) == ("scout", FailureCause.CRASHED)
    assert ended.failure.reason == "scout stopped with OSError."
    assert len(crashes) == 1


async def test_eyes_that_never_answer_end_at_the_deadline() -> None:
    ended = await looked(Blind(None), [], deadline_seconds=0.2, quiet_seconds=0.05)
    assert ended.failure is not None
    assert (ended.failure.stage, ended.failure.cause) == ("scout", FailureCause.DEADLINE)


async def test_who_stops_waiting_leaves_nothing_running() -> None:
    before = asyncio.all_tasks()
    waiting = asyncio.create_task(looked(Blind(None), []))
    await pass_time(0.05)
    assert len(asyncio.all_tasks()) > len(before) + 1
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() == before


async def test_a_deadlock_is_no_business_of_the_critic(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that gets a message meant for another ends the flow in words, not in silence."""

    async def confused(envelope, context):  # type: ignore[no-untyped-def]
        async for outgoing in HANDLERS[ARBITER](envelope, context):
            yield outgoing

    monkeypatch.setitem(HANDLERS, CRITIC, confused)
    argued = await argue_over(NARROW)
    failure = argued.ended.failure
    assert failure is not None
    assert (failure.stage, failure.cause) == ("critic", FailureCause.SILENT)
    assert not any(isinstance(one.payload, Deadlock) for one in envelopes(argued))
