"""The bus: flows do not mix, keep their order, and always end, once."""

import asyncio
import json
from collections.abc import AsyncGenerator
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from agents.bus.bus import Bus, BusFullError, FlowSpec
from agents.bus.envelope import CLI, Envelope, EnvelopeError, FailureCause, FlowFailed, Kind, Role
from agents.bus.record import MemorySink, RecordWriter
from agents.bus.replay import RecordBrokenError, RecordedTurns, read_record
from agents.bus.run import RemoteAgents, replay_flow
from agents.bus.worker import (
    Ambient,
    Board,
    BusLimits,
    HandlerContext,
    Outgoing,
    QueueTransport,
    StageFailedError,
)
from chain.base.clean_text import Redactor
from chain.base.strict_json import canonical
from tests.agents.bus.running import REQUEST, assert_replays, run_jury
from tests.fakes.jury import (
    CLERK,
    EXPERTS,
    JUDGE,
    JURY,
    JuryKind,
    JuryServices,
    Opinion,
    Verdict,
    aloud,
    expert,
)
from tests.fakes.small_debate import (
    AGENTS,
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


def failure(envelope: Envelope) -> FlowFailed:
    assert isinstance(envelope.payload, FlowFailed), envelope
    return envelope.payload


async def one(bus: Bus[Script], script: Script, *, rounds: int = 2) -> Envelope:
    flow = await bus.start(Start(position=7, rounds=rounds), services=script)
    return await flow.outcome()


async def test_a_debate_passes_from_role_to_role_and_ends_in_a_plan() -> None:
    seen: list[Envelope] = []
    async with small_bus() as bus:
        flow = await bus.start(
            Start(position=7, rounds=2),
            services=Script(),
            observers=[seen.append],
        )
        reached = [envelope async for envelope in flow]
    structural = [envelope.kind for envelope in seen if envelope.kind != Kind.AGENT_THOUGHT]
    assert structural == [
        "flow_start",
        "context_observed",
        "proposal",
        "critique",
        "revision",
        "plan_ready",
    ]
    assert reached[-1].payload == Plan(position=7, rounds=2)
    assert reached == [envelope for envelope in seen if envelope.recipient == CLI]
    assert await flow.outcome() == reached[-1]
    assert [envelope.sender for envelope in seen if envelope.kind == "revision"] == ["strategist"]


async def test_the_same_script_gives_the_same_bytes() -> None:
    async def run() -> list[bytes]:
        wires: list[bytes] = []
        async with small_bus() as bus:
            flow = await bus.start(
                Start(position=7, rounds=3),
                services=Script(),
                observers=[lambda envelope: wires.append(envelope.wire)],
            )
            await flow.outcome()
        return wires

    first = await run()
    assert len(first) == 22
    assert all([await run() == first for _ in range(20)])


async def test_debates_at_once_do_not_mix() -> None:
    random = Random(5)

    async def dawdle(envelope: Envelope, context: HandlerContext[Script]) -> None:
        assert envelope.request_id == context.request_id
        await asyncio.sleep(random.random() * 0.003)

    async def debate(bus: Bus[Script], position: int) -> None:
        seen: list[Envelope] = []
        script = Script(dawdle)
        flow = await bus.start(
            Start(position=position, rounds=1 + position % 4),
            services=script,
            observers=[seen.append],
        )
        outcome = await flow.outcome()
        assert outcome.payload == Plan(position=position, rounds=1 + position % 4)
        assert {envelope.request_id for envelope in seen} == {flow.request_id}
        assert len(script.turns) == 1 + 2 * (1 + position % 4)

    async with small_bus() as bus:
        await asyncio.gather(*(debate(bus, position) for position in range(100)))
        assert bus.active == frozenset()


async def test_one_requests_messages_are_handled_in_order() -> None:
    handled: list[int] = []
    random = Random(3)

    async def burst(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        for round_ in range(30):
            turn = Turn(position=1, rounds=30, round=round_)
            yield Outgoing(SmallKind.CONTEXT_OBSERVED, STRATEGIST, turn)

    async def slowly(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        assert isinstance(envelope.payload, Turn)
        await asyncio.sleep(random.random() * 0.002)
        handled.append(envelope.payload.round)
        if envelope.payload.round == 29:
            yield Outgoing(SmallKind.PLAN_READY, CLI, Plan(position=1, rounds=30))

    bus = small_bus(handlers={SCOUT: burst, STRATEGIST: slowly})
    async with bus:
        assert (await one(bus, Script())).kind == SmallKind.PLAN_READY
    assert handled == list(range(30))


async def test_a_slow_request_does_not_hold_up_the_others() -> None:
    forever = asyncio.Event()

    async def stuck(envelope: Envelope, context: HandlerContext[Script]) -> None:
        await forever.wait()

    async with small_bus() as bus:
        slow = await bus.start(Start(position=1, rounds=1), services=Script(stuck))
        outcomes = await asyncio.wait_for(
            asyncio.gather(*(one(bus, Script()) for _ in range(30))), timeout=60
        )
        assert {outcome.kind for outcome in outcomes} == {"plan_ready"}
        assert bus.active == {slow.request_id}
        forever.set()
        assert (await slow.outcome()).kind == SmallKind.PLAN_READY


async def test_agents_with_full_queues_do_not_lock_each_other() -> None:
    limits = BusLimits(side_by_side=1, quiet_seconds=2, deadline_seconds=10)
    async with small_bus(
        transport=QueueTransport(REGISTRY.roles, capacity=1), limits=limits
    ) as bus:
        outcomes = await asyncio.gather(*(one(bus, Script(), rounds=6) for _ in range(60)))
    assert {outcome.kind for outcome in outcomes} == {"plan_ready"}


async def test_a_full_queue_drops_thoughts_and_no_structural_message() -> None:
    chatter = 200

    async def chatty(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        for index in range(chatter):
            yield thought(f"thought {index}")
        async for outgoing in scout(envelope, context):
            yield outgoing

    seen: list[Envelope] = []
    bus = small_bus(
        handlers={**AGENTS, SCOUT: chatty},
        transport=QueueTransport(REGISTRY.roles, capacity=4),
        limits=BusLimits(inbox=10, quiet_seconds=2),
    )
    async with bus:
        flow = await bus.start(
            Start(position=7, rounds=2),
            services=Script(),
            observers=[seen.append],
        )
        assert (await flow.outcome()).payload == Plan(position=7, rounds=2)
        reached = [envelope async for envelope in flow]
    assert bus.counters.dropped > 0
    assert reached[-1].kind == SmallKind.PLAN_READY
    assert len(reached) <= 11
    assert sum(envelope.kind == Kind.AGENT_THOUGHT for envelope in seen) == chatter + 10


async def test_prose_is_heard_while_it_is_written_and_is_no_message() -> None:
    heard: list[tuple[Role, str]] = []
    seen: list[Envelope] = []

    async def speak(envelope: Envelope, context: HandlerContext[Script]) -> None:
        context.prose("so ")
        await asyncio.sleep(0)
        context.prose("it goes")

    def listen(role: Role, text: str) -> None:
        heard.append((role, text))
        if role == CRITIC:
            raise RuntimeError("a torn pane")

    async with small_bus() as bus:
        flow = await bus.start(
            Start(position=7, rounds=1),
            services=Script(speak),
            observers=[seen.append],
            on_prose=listen,
        )
        assert (await flow.outcome()).kind == SmallKind.PLAN_READY
    assert heard[:2] == [(SCOUT, "so "), (SCOUT, "it goes")]
    assert not any(b"it goes" in envelope.wire for envelope in seen)


async def test_too_many_flows_and_repeated_ids_are_refused_at_the_door() -> None:
    async def stuck(envelope: Envelope, context: HandlerContext[Script]) -> None:
        await asyncio.Event().wait()

    async with small_bus(limits=BusLimits(flows=2)) as bus:
        payload = Start(position=1, rounds=1)
        await bus.start(payload, services=Script(stuck), request_id="a")
        with pytest.raises(ValueError, match="under way already"):
            await bus.start(payload, services=Script(), request_id="a")
        await bus.start(payload, services=Script(stuck), request_id="b")
        with pytest.raises(BusFullError, match="cancel one"):
            await bus.start(payload, services=Script())
        assert await bus.cancel("a")
        assert (await one(bus, Script())).kind == SmallKind.PLAN_READY


async def test_a_handler_that_gives_up_says_why() -> None:
    async def refuse(envelope: Envelope, context: HandlerContext[Script]) -> None:
        raise StageFailedError("Position 7 is not on this network. Try: zuno positions")

    async with small_bus() as bus:
        failed = failure(await one(bus, Script(refuse)))
    assert (failed.stage, failed.cause) == ("scout", FailureCause.REFUSED)
    assert failed.reason == "Position 7 is not on this network. Try: zuno positions"


async def test_time_and_ids_come_from_outside() -> None:
    ticks = iter(range(1, 100))
    ambient = Ambient(clock=lambda: next(ticks) / 4, new_id=Ids())
    stamps: list[int] = []
    async with small_bus(ambient=ambient) as bus:
        flow = await bus.start(
            Start(position=7, rounds=1),
            services=Script(),
            observers=[lambda envelope: stamps.append(envelope.ts)],
        )
        await flow.outcome()
    assert flow.request_id == "req_1"
    assert stamps == [250 * count for count in range(1, len(stamps) + 1)]


async def test_another_flow_brings_its_own_kinds_and_first_role() -> None:
    trader = Role("trader")
    registry = REGISTRY.extend(
        {"trade_start": Start, "trade_ready": Plan}, roles=[trader], final=["trade_ready"]
    )

    async def trade(
        envelope: Envelope, context: HandlerContext[Script]
    ) -> AsyncGenerator[Outgoing, None]:
        yield Outgoing("trade_ready", CLI, Plan(position=3, rounds=0))

    spec = FlowSpec(
        name="trade",
        package="tests.fakes",
        registry=registry,
        handlers={trader: trade},
        first=trader,
        starts=("trade_start",),
        recorded_services=lambda _: Script(),
    )
    ambient = Ambient(clock=lambda: 0.0, new_id=Ids())
    async with Bus(spec, QueueTransport(registry.roles), ambient=ambient) as bus:
        flow = await bus.start(Start(position=3, rounds=0), services=Script())
        assert (await flow.outcome()).kind == "trade_ready"
        with pytest.raises(EnvelopeError, match="starts no flow"):
            await bus.start(Plan(position=3, rounds=0), services=Script())


@pytest.mark.parametrize("order", permutations(EXPERTS), ids=" ".join)
async def test_experts_at_once_replay_byte_for_byte(
    tmp_path: Path, order: tuple[Role, ...]
) -> None:
    ran = await run_jury(tmp_path / "record.jsonl", order=order)
    verdict = ran.outcome.result
    assert isinstance(verdict, Verdict)
    assert verdict.heard == EXPERTS, "who was faster makes no difference to the board"
    spoken = [str(body["from"]) for body in ran.record.messages() if body["from"] in EXPERTS]
    assert spoken[:3] == list(EXPERTS), "all have begun before the first is done"
    opinions = [body for body in ran.record.messages() if body["kind"] == JuryKind.OPINION]
    assert [body["from"] for body in opinions] == list(order)
    assert ran.said_by(JUDGE) == ["agent_thought"] * 3 + ["verdict"]
    await assert_replays(ran)


class SlowEnd(QueueTransport):
    """Lets everybody go on for a while before the verdict arrives."""

    async def receive(self, role: Role) -> Envelope:
        envelope = await super().receive(role)
        if envelope.kind == JuryKind.VERDICT:
            for _ in range(50):
                await asyncio.sleep(0)
        return envelope


async def test_a_word_said_here_while_the_end_is_under_way_is_too_late(tmp_path: Path) -> None:
    concluded = asyncio.Event()

    class Heard(SlowEnd):
        async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
            if envelope.kind == JuryKind.VERDICT:
                concluded.set()
            return await super().send(envelope, droppable=droppable)

    async def slow_to_finish(
        envelope: Envelope, context: HandlerContext[JuryServices]
    ) -> AsyncGenerator[Outgoing, None]:
        async for outgoing in expert(envelope, context):
            yield outgoing
            if outgoing.kind == JuryKind.OPINION:
                await concluded.wait()

    ran = await run_jury(
        tmp_path / "record.jsonl",
        spec=structs.replace(JURY, handlers={**JURY.handlers, EXPERTS[2]: slow_to_finish}),
        remote=RemoteAgents((), Heard(JURY.registry.roles)),
    )
    assert ran.record.messages()[-1]["kind"] == JuryKind.VERDICT
    await assert_replays(ran)


async def test_a_word_from_elsewhere_while_the_end_is_under_way_is_too_late(tmp_path: Path) -> None:
    speaker = EXPERTS[2]

    def sealed(outgoing: Outgoing) -> Envelope:
        return JURY.registry.seal(
            REQUEST,
            sender=speaker,
            recipient=outgoing.to,
            kind=outgoing.kind,
            payload=outgoing.payload,
            ts=0,
        )

    class Played(SlowEnd):
        async def send(self, envelope: Envelope, *, droppable: bool) -> bool:
            if envelope.kind == JuryKind.VERDICT:
                await self.put(CLI, sealed(aloud("one more thing")))
            if envelope.recipient != speaker:
                return await super().send(envelope, droppable=droppable)
            if envelope.kind == JuryKind.QUESTION:
                opinion = Opinion(score=5, words="from elsewhere")
                await self.put(CLI, sealed(Outgoing(JuryKind.OPINION, JUDGE, opinion)))
            return True

    ran = await run_jury(
        tmp_path / "record.jsonl", remote=RemoteAgents((speaker,), Played(JURY.registry.roles))
    )
    assert ran.record.messages()[-1]["kind"] == JuryKind.VERDICT
    assert ran.said_by(speaker) == [JuryKind.OPINION]


async def test_two_lines_that_changed_places_differ(tmp_path: Path) -> None:
    """The chain of a record that was written anew holds; its order is not what was said."""
    path = tmp_path / "record.jsonl"
    ran = await run_jury(path)
    header, *lines = map(json.loads, path.read_bytes().splitlines())
    places = [n for n, line in enumerate(lines) if line["body"].get("from") == EXPERTS[1]][-2:]
    first, second = places
    lines[first]["body"], lines[second]["body"] = lines[second]["body"], lines[first]["body"]
    sink = MemorySink()
    body = header["body"]
    writer = RecordWriter(sink, body["requestId"], body["versions"], Redactor(), flow="jury")
    for line in lines:
        writer._line(line["type"], canonical(line["body"]))
    path.write_bytes(b"".join(sink.lines))
    report, _ = await replay_flow(JURY, read_record(path))
    assert report.difference is not None
    assert report.difference.line == first + 2
    assert ran.record.last_hash != writer.last_hash


async def test_a_record_of_another_flow_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    await run_jury(path)
    data = path.read_bytes()
    assert b'"flow":"jury"' in data.splitlines()[0]
    other = structs.replace(JURY, name="trial")
    with pytest.raises(RecordBrokenError, match="jury"):
        await replay_flow(other, read_record(path))


async def test_a_board_is_the_same_whatever_came_first(tmp_path: Path) -> None:
    ran = await run_jury(tmp_path / "record.jsonl")
    opened = [JURY.registry.open(wire) for wire in ran.record.envelopes()]
    boards = []
    for order in (opened, opened[::-1]):
        board = Board(JURY.registry.roles)
        for envelope in order:
            board.add(envelope)
        boards.append(board)
    first, second = boards
    assert first.messages_of(JuryKind.OPINION) == second.messages_of(JuryKind.OPINION)
    assert [one.sender for one in first.messages_of(JuryKind.OPINION)] == list(EXPERTS)
    assert first.messages_of(JuryKind.OPINION, JuryKind.ASKED)[0].kind == JuryKind.ASKED
    assert first.messages_of("nothing") == ()


async def test_a_replay_whose_next_speaker_is_silent_goes_on_without_order(tmp_path: Path) -> None:
    ran = await run_jury(tmp_path / "record.jsonl")
    turns = RecordedTurns(ran.record, patience=100)
    await turns.turn(CLI)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(turns.turn(JUDGE), timeout=60)
    await asyncio.wait_for(turns.turn(JUDGE), timeout=600)
    await asyncio.wait_for(turns.turn(CLERK), timeout=60)
