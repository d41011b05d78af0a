"""Whatever breaks or is lost, a flow ends by name and leaves nothing behind."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from random import Random

import pytest

from agents.bus.bus import Bus
from agents.bus.envelope import CLI, Envelope, FailureCause, Kind, Role, Thought
from agents.bus.worker import (
    Ambient,
    BusLimits,
    HandlerContext,
    Outgoing,
    QueueTransport,
    TransportError,
)
from tests.agents.bus.failing_handlers import (
    crash,
    failure,
    hang,
    kill_own_task,
    one,
    raise_cancelled,
    when,
)
from tests.fakes.faulty_transport import FaultyTransport
from tests.fakes.small_debate import (
    AGENTS,
    ARBITER,
    CRITIC,
    REGISTRY,
    SCOUT,
    STRATEGIST,
    Ids,
    Plan,
    Script,
    SmallKind,
    Start,
    Turn,
    scout,
    small_bus,
    thought,
)
from tests.virtual_time import pass_time

CANARY = "sk-canary-0123456789"
START = Start(position=7, rounds=2)


@pytest.mark.parametrize("role", [SCOUT, STRATEGIST, CRITIC])
async def test_a_crashed_handler_ends_the_flow_and_names_only_the_kind_of_error(role: Role) -> None:
    crashes: list[tuple[Role, Exception]] = []
    async with small_bus(on_crash=lambda *crash: crashes.append(crash)) as bus:
        outcome = await one(bus, Script(when(role, crash)))
        assert (await one(bus)).kind == SmallKind.PLAN_READY
    failed = failure(outcome)
    assert (failed.stage, failed.cause) == (role, FailureCause.CRASHED)
    assert outcome.sender == role
    assert outcome.recipient == CLI
    assert "ConnectionError" in failed.reason
    assert CANARY.encode() not in outcome.wire
    assert [(where, type(error)) for where, error in crashes] == [(role, ConnectionError)]


@pytest.mark.parametrize("killing", [kill_own_task, raise_cancelled])
async def test_a_killed_handler_ends_the_flow(killing: Callable[[], Awaitable[None]]) -> None:
    async with small_bus() as bus:
        failed = failure(await one(bus, Script(when(STRATEGIST, killing))))
        assert (failed.stage, failed.cause) == ("strategist", FailureCause.CRASHED)
        assert (await one(bus)).kind == SmallKind.PLAN_READY


async def test_an_agent_that_says_nothing_ends_the_flow_at_once() -> None:
    async def mute(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        yield thought("hm")

    limits = BusLimits(quiet_seconds=30, deadline_seconds=60)
    async with small_bus(handlers={**AGENTS, CRITIC: mute}, limits=limits) as bus:
        failed = failure(await asyncio.wait_for(one(bus), timeout=60))
    assert (failed.stage, failed.cause) == ("critic", FailureCause.SILENT)
    assert "proposal" in failed.reason


async def test_an_agent_that_says_what_it_may_not_ends_the_flow() -> None:
    async def forger(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        yield Outgoing(SmallKind.PLAN_READY, CLI, Thought(round=0, tag="", text="trust me"))

    async with small_bus(handlers={**AGENTS, STRATEGIST: forger}) as bus:
        failed = failure(await one(bus))
    assert (failed.stage, failed.cause) == ("strategist", FailureCause.CRASHED)
    assert "plan_ready cannot carry a Thought" in failed.reason


async def test_writing_to_nobody_ends_the_flow() -> None:
    async def lost(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        yield Outgoing(SmallKind.DEADLOCK, ARBITER, Turn(position=1, rounds=1, round=1))

    roles = [role for role in REGISTRY.roles if role != ARBITER]
    bus = small_bus(transport=QueueTransport(roles), handlers={**AGENTS, STRATEGIST: lost})
    async with bus:
        failed = failure(await one(bus))
    assert (failed.stage, failed.cause) == ("strategist", FailureCause.LOST)
    assert "arbiter" in failed.reason


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        ("flow_start", "scout"),
        ("context_observed", "strategist"),
        ("proposal", "critic"),
        ("critique", "strategist"),
        ("plan_ready", "cli"),
    ],
)
async def test_a_lost_structural_message_ends_the_flow(kind: str, stage: str) -> None:
    transport = FaultyTransport(
        QueueTransport(REGISTRY.roles),
        Random(1),
        lose=1,
        only=lambda envelope: envelope.kind == kind,
    )
    limits = BusLimits(quiet_seconds=0.05, deadline_seconds=5)
    async with small_bus(transport=transport, limits=limits) as bus:
        failed = failure(await asyncio.wait_for(one(bus), timeout=60))
    assert (failed.stage, failed.cause) == (stage, FailureCause.LOST)
    assert kind in failed.reason


async def test_lost_thoughts_change_nothing() -> None:
    transport = FaultyTransport(
        QueueTransport(REGISTRY.roles),
        Random(1),
        lose=0.5,
        reorder=0.5,
        only=lambda envelope: envelope.kind == Kind.AGENT_THOUGHT,
    )
    async with small_bus(transport=transport) as bus:
        damaged = await one(bus)
        await transport.arrived()
    async with small_bus() as bus:
        assert damaged == await one(bus)
    assert transport.lost
    assert transport.delayed


async def test_work_that_takes_long_is_not_taken_for_loss_but_meets_the_deadline() -> None:
    slept: list[float] = []

    async def hurry(seconds: float) -> None:
        slept.append(seconds)
        await pass_time(0.001)

    ambient = Ambient(clock=lambda: 0.0, new_id=Ids(), sleep=hurry)
    limits = BusLimits(quiet_seconds=4, deadline_seconds=30)
    async with small_bus(ambient=ambient, limits=limits) as bus:
        failed = failure(await one(bus, Script(when(CRITIC, hang))))
    assert (failed.stage, failed.cause) == ("critic", FailureCause.DEADLINE)
    assert "30 seconds" in failed.reason
    assert sum(slept) == 30


async def test_reading_that_ran_out_of_time_says_what_to_do() -> None:
    limits = BusLimits(reading_seconds=0.02, reading_advice="Progress is saved.")
    async with small_bus(limits=limits) as bus:
        failed = failure(await one(bus, Script(when(SCOUT, hang))))
    assert (failed.stage, failed.cause) == ("scout", FailureCause.DEADLINE)
    assert failed.reason.endswith(" after 0.02 seconds. Progress is saved.")


async def test_a_flow_may_have_a_deadline_of_its_own() -> None:
    async with small_bus() as bus:
        flow = await bus.start(
            START,
            services=Script(when(SCOUT, hang)),
            deadline_seconds=0.02,
        )
        failed = failure(await flow.outcome())
    assert (failed.stage, failed.cause) == ("scout", FailureCause.DEADLINE)


async def test_cancel_stops_the_handler_and_nothing_leaks_afterwards() -> None:
    seen: list[Envelope] = []
    heard: list[str] = []
    reached = asyncio.Event()
    stopped: list[bool] = []

    async def hold(envelope: Envelope, context: HandlerContext[Script]) -> None:
        if context.role != STRATEGIST:
            return
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
            context.prose("famous last words")

    async with small_bus() as bus:
        flow = await bus.start(
            START,
            services=Script(hold),
            observers=[seen.append],
            on_prose=lambda _, text: heard.append(text),
        )
        await reached.wait()
        assert await bus.cancel(flow.request_id)
        assert stopped == [True]
        before = len(seen)
        assert not await bus.cancel(flow.request_id)
        await pass_time(0.01)
        reached_the_desk = [envelope async for envelope in flow]
        assert bus.lanes == 0
    assert len(seen) == before
    assert seen[-1] == reached_the_desk[-1] == await flow.outcome()
    assert failure(seen[-1]).cause == FailureCause.CANCELLED
    assert heard == []


async def test_a_handler_that_will_not_stop_is_not_heard() -> None:
    seen: list[Envelope] = []
    reached, spoke = asyncio.Event(), asyncio.Event()

    async def stubborn(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            spoke.set()
        yield Outgoing(SmallKind.PLAN_READY, CLI, Plan(position=666, rounds=0))

    async with small_bus(handlers={**AGENTS, STRATEGIST: stubborn}) as bus:
        flow = await bus.start(START, services=Script(), observers=[seen.append])
        await reached.wait()
        await bus.cancel(flow.request_id)
        assert spoke.is_set()
        assert bus.counters.late == 1
    assert failure(await flow.outcome()).cause == FailureCause.CANCELLED
    assert seen[-1].kind == Kind.FLOW_FAILED


async def test_a_handler_that_never_stops_holds_nobody_up() -> None:
    released = asyncio.Event()
    reached = asyncio.Event()

    async def deaf(envelope: Envelope, context: HandlerContext[Script]) -> None:
        reached.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    async with small_bus(limits=BusLimits(farewell_seconds=0.05)) as bus:
        flow = await bus.start(START, services=Script(deaf))
        await reached.wait()
        await asyncio.wait_for(bus.cancel(flow.request_id), timeout=60)
        assert (await one(bus)).kind == SmallKind.PLAN_READY
        released.set()
        await bus.wait_settled()
        assert bus.counters.late == 1
    assert failure(await flow.outcome()).cause == FailureCause.CANCELLED


async def test_duplicates_are_counted_and_have_no_effect() -> None:
    transport = FaultyTransport(QueueTransport(REGISTRY.roles), Random(1), repeat=1)
    script = Script()
    async with small_bus(transport=transport) as bus:
        outcome = await one(bus, script)
        await pass_time(0.01)
        ignored = bus.counters.duplicates + bus.counters.late
    assert outcome.payload == Plan(position=7, rounds=2)
    assert len(script.turns) == 5
    assert len(transport.repeated) == ignored
    assert bus.counters.duplicates > 0


async def test_late_and_stray_messages_are_counted_and_have_no_effect() -> None:
    transport = QueueTransport(REGISTRY.roles)
    async with small_bus(transport=transport) as bus:
        flow = await bus.start(START, services=Script())
        outcome = await flow.outcome()
        for role, request_id in ((CRITIC, flow.request_id), (CLI, "req_unknown")):
            stray = REGISTRY.seal(
                request_id,
                sender=STRATEGIST,
                recipient=role,
                kind=SmallKind.PROPOSAL,
                payload=Turn(position=1, rounds=1, round=1),
                ts=1,
            )
            await transport.send(stray, droppable=False)
        await pass_time(0.01)
        assert bus.counters.late == 2
        assert bus.lanes == 0
        assert outcome == await flow.outcome()


async def test_a_flood_within_one_request_ends_that_request_only() -> None:
    async def flood(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        for index in range(1000):
            turn = Turn(position=1, rounds=1, round=index)
            yield Outgoing(SmallKind.CONTEXT_OBSERVED, STRATEGIST, turn)

    async def pick(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        assert isinstance(envelope.payload, Start)
        chosen = flood if envelope.payload.position == 0 else scout
        async for outgoing in chosen(envelope, context):
            yield outgoing

    bus = small_bus(handlers={**AGENTS, SCOUT: pick}, limits=BusLimits(mailbox=8, quiet_seconds=1))
    async with bus:
        flooded = await bus.start(
            Start(position=0, rounds=1),
            services=Script(when(STRATEGIST, hang)),
        )
        others = await asyncio.gather(*(one(bus) for _ in range(10)))
        failed = failure(await flooded.outcome())
    assert (failed.stage, failed.cause) == ("strategist", FailureCause.OVERLOADED)
    assert {outcome.kind for outcome in others} == {"plan_ready"}


@pytest.mark.parametrize("failing", ["flow_start", "proposal", "agent_thought", "plan_ready"])
async def test_a_record_that_cannot_be_written_ends_the_flow(failing: str) -> None:
    def full_disk(envelope: Envelope) -> None:
        if envelope.kind in (failing, "flow_failed"):
            raise OSError(28, "No space left on device")

    async with small_bus() as bus:
        flow = await bus.start(START, services=Script(), observers=[full_disk])
        failed = failure(await flow.outcome())
        assert (await one(bus)).kind == SmallKind.PLAN_READY
    assert failed.cause == FailureCause.UNRECORDED


async def test_a_transport_that_breaks_ends_every_flow() -> None:
    class Broken(QueueTransport):
        async def receive(self, role: Role) -> Envelope:
            envelope = await super().receive(role)
            if role == CRITIC:
                raise TransportError("the mesh is gone")
            return envelope

    async with small_bus(transport=Broken(REGISTRY.roles)) as bus:
        failed = failure(await asyncio.wait_for(one(bus), timeout=60))
    assert failed.cause == FailureCause.LOST
    assert "transport" in failed.reason


async def test_leaving_the_bus_ends_what_still_runs() -> None:
    async with small_bus() as bus:
        flow = await bus.start(START, services=Script(when(CRITIC, hang)))
    assert failure(await flow.outcome()).cause == FailureCause.CANCELLED
    assert len(asyncio.all_tasks()) == 1


async def test_fifty_debates_of_which_ten_are_killed_leave_nothing_behind() -> None:
    transport = QueueTransport(REGISTRY.roles)
    random = Random(11)
    killers = [crash, kill_own_task, raise_cancelled]

    def script(index: int) -> Script:
        async def interfere(envelope: Envelope, context: HandlerContext[Script]) -> None:
            await asyncio.sleep(random.random() * 0.002)
            if index % 5 == 0 and context.role == list(AGENTS)[index % 3]:
                await killers[index % len(killers)]()

        return Script(interfere)

    async with small_bus(transport=transport) as bus:
        listening = asyncio.all_tasks()
        flows = [
            await bus.start(Start(position=index, rounds=2), services=script(index))
            for index in range(50)
        ]
        outcomes = await asyncio.gather(*(flow.outcome() for flow in flows))
        await bus.wait_settled()
        assert asyncio.all_tasks() == listening
        assert bus.active == frozenset()
        assert bus.lanes == 0
        assert transport.pending_count() == 0
        del flows
        gc.collect()
        assert [thing for thing in gc.get_objects() if type(thing) is Script] == []
    plans = [outcome.payload for outcome in outcomes if outcome.kind == SmallKind.PLAN_READY]
    failures = [failure(outcome) for outcome in outcomes if outcome.kind == Kind.FLOW_FAILED]
    assert plans == [Plan(position=index, rounds=2) for index in range(50) if index % 5]
    assert [failed.cause for failed in failures] == [FailureCause.CRASHED] * 10


@pytest.mark.parametrize("seed", range(8))
async def test_every_flow_over_a_bad_mesh_ends_once_in_a_plan_or_a_failure(seed: int) -> None:
    transport = FaultyTransport(
        QueueTransport(REGISTRY.roles, capacity=8), Random(seed), lose=0.08, repeat=0.2, reorder=0.3
    )
    limits = BusLimits(quiet_seconds=0.05, deadline_seconds=5)

    async def debate(bus: Bus[Script]) -> Envelope:
        finals: list[Envelope] = []
        flow = await bus.start(START, services=Script())
        async for envelope in flow:
            if REGISTRY.is_final(envelope.kind):
                finals.append(envelope)
        assert len(finals) == 1
        return finals[0]

    async with small_bus(transport=transport, limits=limits) as bus:
        outcomes = await asyncio.wait_for(
            asyncio.gather(*(debate(bus) for _ in range(40))), timeout=600
        )
        await transport.arrived()
        await bus.wait_settled()
        assert bus.active == frozenset()
        assert bus.lanes == 0
    for outcome in outcomes:
        if outcome.kind == Kind.FLOW_FAILED:
            assert failure(outcome).cause == FailureCause.LOST
        else:
            assert outcome.payload == Plan(position=7, rounds=2)
    assert {outcome.kind for outcome in outcomes} == {"plan_ready", "flow_failed"}
