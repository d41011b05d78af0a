"""The jury as tests run it: here, or with experts elsewhere, and always on the record."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.bus.bus import FlowSpec
from agents.bus.envelope import Role
from agents.bus.record import FileSink, RecordWriter
from agents.bus.replay import Record, read_record
from agents.bus.run import FlowOutcome, Listener, RemoteAgents, replay_flow, run_flow
from agents.bus.worker import Ambient, BusLimits
from chain.base.clean_text import Redactor
from tests.fakes.jury import JURY, JuryServices, Parrot, Question

REQUEST = "req_jury"


@dataclass(frozen=True)
class Ran:
    outcome: FlowOutcome
    record: Record
    prose: list[tuple[Role, str]]

    def said_by(self, role: Role) -> list[str]:
        """The kinds of its messages, in the order of the record."""
        return [str(body["kind"]) for body in self.record.messages() if body["from"] == role]


class Turns:
    """When all have begun the first one looks, and who has looked lets the next one look."""

    def __init__(self, order: Sequence[Role]) -> None:
        self._order = list(order)
        self._free = [asyncio.Event() for _ in range(len(order) + 1)]
        self._begun = 0

    async def wait(self, role: Role) -> None:
        self._begun += 1
        if self._begun == len(self._order):
            self._free[0].set()
        if role in self._order:
            await self._free[self._order.index(role)].wait()

    def look(self, role: Role) -> str:
        if role in self._order:
            self._free[self._order.index(role) + 1].set()
        return f"{role} looked"


async def run_jury(
    path: Path,
    *,
    spec: FlowSpec[JuryServices] = JURY,
    order: Sequence[Role] = (),
    remote: RemoteAgents | None = None,
    limits: BusLimits | None = None,
) -> Ran:
    """Experts in this order look one after the other, though all have begun."""
    prose: list[tuple[Role, str]] = []
    turns = Turns(order)
    record = RecordWriter(FileSink(path), REQUEST, {"zuno": "test"}, Redactor(), flow=JURY.name)
    outcome = await run_flow(
        spec,
        Question(symbol="ETH"),
        JuryServices(Parrot(), turns.look, turns.wait),
        record,
        ambient=Ambient(time.time, lambda: REQUEST),
        request_id=REQUEST,
        limits=limits,
        tokens=777,
        remote=remote,
        listener=Listener(on_prose=lambda role, text: prose.append((role, text))),
    )
    record.close()
    return Ran(outcome, read_record(path), prose)


async def assert_replays(ran: Ran) -> None:
    """With no model and nobody elsewhere, every byte comes out as it was recorded."""
    report, again = await replay_flow(JURY, ran.record)
    assert report.matches, report.difference
    assert report.compared == len(ran.record.lines)
    assert report.last_hash == ran.record.last_hash
    assert again == ran.outcome
