"""Agents elsewhere: heard, recorded and replayed like those of the desk's own process."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from agents.bus.bus import Bus
from agents.bus.envelope import CLI, Envelope, FailureCause, FlowFailed, FlowTerms, Kind, Role
from agents.bus.run import RemoteAgents
from agents.bus.worker import Ambient, BusLimits, QueueTransport
from tests.agents.bus.running import REQUEST, assert_replays, run_jury
from tests.fakes.jury import (
    EXPERTS,
    JUDGE,
    JURY,
    JuryKind,
    JuryServices,
    Opinion,
    Parrot,
    Question,
    Verdict,
    aloud,
)
from tests.fakes.remote_agents import hosted_agents
from tests.virtual_time import pass_time

NEWS, CHARTS, FLOWS = EXPERTS
QUICK = BusLimits(quiet_seconds=0.7, deadline_seconds=600)


async def test_an_agent_that_thinks_longer_than_silence_may_last_is_heard(tmp_path: Path) -> None:
    def slow(request_id: str, terms: FlowTerms) -> JuryServices:
        return JuryServices(Parrot(), lambda role: "x", lambda _: pass_time(200))

    async with hosted(CHARTS, services=slow) as remote:
        limits = BusLimits(quiet_seconds=10, deadline_seconds=600)
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote, limits=limits)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure


def looking(request_id: str, terms: FlowTerms) -> JuryServices:
    return JuryServices(Parrot(), lambda role: f"{role} looked")


def hosted(
    *roles: Role,
    services: Callable[[str, FlowTerms], JuryServices] = looking,
    alter: Callable[[Envelope], Envelope] = lambda envelope: envelope,
    desk: QueueTransport | None = None,
) -> AbstractAsyncContextManager[RemoteAgents]:
    return hosted_agents(JURY, *roles, services=services, alter=alter, desk=desk)


async def test_agents_elsewhere_who_speak_to_each_other_are_on_the_record(tmp_path: Path) -> None:
    async with hosted(*EXPERTS, JUDGE) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    kinds = [str(body["kind"]) for body in ran.record.messages()]
    assert kinds.count(JuryKind.OPINION) == 3
    assert kinds.count(Kind.MODEL_REPLY) == 3
    await assert_replays(ran)


async def test_a_models_words_are_heard_from_elsewhere_while_it_speaks(tmp_path: Path) -> None:
    def slow(request_id: str, terms: FlowTerms) -> JuryServices:
        return JuryServices(Murmuring(), lambda role: "nothing")

    async with hosted(NEWS, services=slow) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote)
    assert "".join(text for role, text in ran.prose if role == NEWS).startswith("news was told")
    await assert_replays(ran)


class Murmuring(Parrot):
    async def ask(self, role, prompt, schema, on_prose):  # type: ignore[no-untyped-def]
        answer = await super().ask(role, prompt, schema, on_prose)
        await pass_time(0.15)
        return answer


async def test_services_that_cannot_be_made_end_the_flow_in_words(tmp_path: Path) -> None:
    def broken(request_id: str, terms: FlowTerms) -> JuryServices:
        raise OSError("https://example.com/v2/secret")

    async with hosted(NEWS, services=broken) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote)
    failure = ran.outcome.failure
    assert failure is not None
    assert (failure.stage, failure.cause) == (NEWS, FailureCause.CRASHED)
    assert "OSError" in failure.reason
    assert "secret" not in failure.reason


async def test_nobody_elsewhere_can_speak_for_an_agent_here(tmp_path: Path) -> None:
    def as_the_judge(envelope: Envelope) -> Envelope:
        if envelope.kind != JuryKind.OPINION:
            return envelope
        return JURY.registry.seal(
            envelope.request_id,
            sender=JUDGE,
            recipient=CLI,
            kind=JuryKind.VERDICT,
            payload=Verdict(total=666, heard=()),
            ts=envelope.ts,
        )

    async with hosted(NEWS, alter=as_the_judge) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote, limits=QUICK)
    assert ran.outcome.failure is not None
    assert ran.outcome.failure.cause is FailureCause.LOST
    assert all(body["kind"] != JuryKind.VERDICT for body in ran.record.messages())


async def test_a_flood_from_elsewhere_ends_the_flow(tmp_path: Path) -> None:
    def chatty(request_id: str, terms: FlowTerms) -> JuryServices:
        return JuryServices(Parrot(), lambda role: "x", lambda _: pass_time(10))

    desk = QueueTransport(JURY.registry.roles)
    limits = BusLimits(remote_messages=50, quiet_seconds=5)
    async with hosted(NEWS, services=chatty, desk=desk) as remote:
        running = asyncio.create_task(
            run_jury(tmp_path / "record.jsonl", remote=remote, limits=limits)
        )
        for number in range(60):
            flood = JURY.registry.seal(
                REQUEST,
                sender=NEWS,
                recipient=CLI,
                kind=Kind.AGENT_THOUGHT,
                payload=aloud(f"{number}").payload,
                ts=number,
            )
            await desk.put(CLI, flood)
            await asyncio.sleep(0)
        ran = await asyncio.wait_for(running, timeout=60)
    assert ran.outcome.failure is not None
    assert (ran.outcome.failure.stage, ran.outcome.failure.cause) == (NEWS, FailureCause.OVERLOADED)
    assert len(ran.record.messages()) < 70


async def test_a_flow_that_is_cancelled_stops_the_work_elsewhere() -> None:
    stopped = asyncio.Event()

    class Endless(Parrot):
        async def ask(self, role, prompt, schema, on_prose):  # type: ignore[no-untyped-def]
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    asked = asyncio.Event()

    def services(request_id: str, terms: FlowTerms) -> JuryServices:
        return JuryServices(Endless(), lambda role: "x")

    async with hosted(NEWS, services=services) as remote:
        ambient = Ambient(time.time, lambda: REQUEST)
        bus = Bus(JURY, remote.transport, ambient=ambient, remote=remote.roles)
        async with bus:
            here = JuryServices(Parrot(), lambda role: "x")
            await bus.start(Question(symbol="ETH"), services=here)
            await asyncio.wait_for(asked.wait(), timeout=60)
            assert not stopped.is_set()
            await bus.cancel(REQUEST)
            await asyncio.wait_for(stopped.wait(), timeout=60)


async def test_a_host_opens_a_request_it_has_not_been_told_of_and_none_of_another_flow() -> None:
    desk = QueueTransport(JURY.registry.roles)
    told: list[FlowTerms] = []

    def services(request_id: str, terms: FlowTerms) -> JuryServices:
        told.append(terms)
        return looking(request_id, terms)

    async def send(request_id: str, kind: str, payload: Question | FlowTerms) -> None:
        envelope = JURY.registry.seal(
            request_id, sender=CLI, recipient=NEWS, kind=kind, payload=payload, ts=1
        )
        await desk.send(envelope, droppable=False)

    async def heard(kind: str) -> Envelope:
        while (envelope := await asyncio.wait_for(desk.receive(CLI), timeout=60)).kind != kind:
            pass
        return envelope

    async with hosted(NEWS, services=services, desk=desk):
        await send("req_a", JuryKind.QUESTION, Question(symbol="ETH"))
        opinion = await heard(JuryKind.OPINION)
        assert isinstance(opinion.payload, Opinion)
        assert (opinion.request_id, opinion.recipient) == ("req_a", JUDGE)
        assert [terms.tokens for terms in told] == [None]
        terms = FlowTerms(flow="lp", seconds=9.0, quiet_seconds=1.0, tokens=None)
        await send("req_b", Kind.FLOW_TERMS, terms)
        failed = await heard(Kind.FLOW_FAILED)
        assert isinstance(failed.payload, FlowFailed)
        assert (failed.request_id, failed.payload.cause) == ("req_b", FailureCause.REFUSED)
        assert len(told) == 1
