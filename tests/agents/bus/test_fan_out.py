"""Three experts who work at once and a judge who joins them: whoever is faster, it replays."""

import asyncio
import json
from collections.abc import AsyncGenerator
from itertools import permutations
from pathlib import Path

import pytest
from msgspec import structs

from agents.bus.envelope import CLI, Envelope, Role
from agents.bus.record import MemorySink, RecordWriter
from agents.bus.replay import RecordBrokenError, RecordedTurns, read_record
from agents.bus.run import RemoteAgents, replay_flow
from agents.bus.worker import Board, HandlerContext, Outgoing, QueueTransport
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
