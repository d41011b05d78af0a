"""Debates held with a real HTTP server as the model, and everything each leaves behind."""

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.bus.record import FileSink, MemorySink, RecordWriter, verify_record
from agents.bus.replay import read_record
from agents.bus.run import ArgumentEnd, Listener
from agents.bus.worker import Ambient, BusLimits
from agents.lp.debate import hold_debate, replay_debate
from agents.lp.facts import CreateContext, MarketContext, PastFacts
from agents.lp.plan import Plan
from agents.lp.plan_document import plan_document
from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits, TokenRate
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import ModelLimits, ModelSettings, RoleModels
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import Redactor
from chain.base.store import Store
from chain.protocols.reference import PositionRef
from tests.agents.lp.debating import Seen, start_of
from tests.agents.lp.made_up_markets import market_context
from tests.fakes.model_endpoint import ChatRequest, Conduct, model_endpoint

Context = MarketContext | CreateContext
ReadPast = Callable[[PositionRef], Awaitable[PastFacts]]

KEY = "sk-canary-DEBATE-0123456789abcdef"
MODEL = "gpt-4o-mini"
CALM = ModelLimits(total_seconds=10, first_seconds=8, stall_seconds=8, attempts=2)
QUESTIONS = 6  # scout, twice strategist and critic, arbiter
A_CALL = 165  # tokens the endpoint says each took


@dataclass
class Held:
    """One debate as it was heard, and everything it left behind."""

    ended: ArgumentEnd[Plan]
    requests: list[ChatRequest]
    path: Path
    took: float
    document: dict[str, Any]
    prose: list[tuple[Role, str]]
    thinking: list[tuple[Role, float]]
    url: str

    @property
    def plan(self) -> Plan:
        assert self.ended.plan is not None, self.ended.failure
        return self.ended.plan

    @property
    def silences(self) -> list[str]:
        thoughts = [turn.thought for turn in self.ended.transcript]
        return [thought.text for thought in thoughts if thought.tag == "silence"]

    @property
    def struck(self) -> list[str]:
        return [
            turn.thought.text[flag.start : flag.end]
            for turn in self.ended.transcript
            for flag in turn.thought.struck
        ]

    @property
    def asked(self) -> list[object]:
        return [request.reply_name for request in self.requests]


@dataclass(frozen=True)
class Table:
    """Where debates are held, with records and a store of their own."""

    folder: Path
    limits: BudgetLimits = field(default_factory=BudgetLimits)
    prices: dict[str, TokenRate] = field(default_factory=dict)
    patience: ModelLimits = CALM
    deadline: float = 30.0
    finishing: float = 5.0
    max_tokens: int = 4_000
    temperature: float | None = None
    reading: float = 0.0
    """Seconds that the chain takes to be read."""
    past: PastFacts | ReadPast | None = None
    """What is read of the position's past, or how."""
    roles: Mapping[Role, str] = field(default_factory=dict)
    """Models of their own, by role, on the same server."""
    store: Store = field(default_factory=Store.in_memory)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    async def hold(
        self, conduct: Conduct, context: Context | None = None, *, port: int = 0
    ) -> Held:
        context = context or market_context("outside")
        path = self.folder / f"{next(self.numbers)}.jsonl"
        writer = RecordWriter(
            FileSink(path), "req-1", {"zuno": "test"}, Redactor((KEY,)), flow="lp"
        )
        budget = Budget(self.limits, self.prices, self.store, clock=lambda: 0.0).debate()
        prose: list[tuple[Role, str]] = []
        thinking: list[tuple[Role, float]] = []
        async with model_endpoint(conduct, port=port) as endpoint:
            settings = ModelSettings(
                KEY,
                endpoint.url,
                MODEL,
                max_tokens=self.max_tokens,
                temperature=self.temperature,
                limits=self.patience,
            )
            async with ModelConnections() as connections:
                await connections.client(settings)
                clock = asyncio.get_running_loop().time
                before = clock()
                ended = await hold_debate(
                    start_of(context),
                    SlowEyes(context, self.reading, self.past),
                    OpenAIModel(
                        RoleModels(
                            settings,
                            {
                                role: replace(settings, model=name)
                                for role, name in self.roles.items()
                            },
                        ),
                        connections,
                        budget,
                        AbilityMemory(self.store, lambda: 1_768_000_000.0),
                        clock=time.time,
                        on_thinking=lambda role, seconds: thinking.append((role, seconds)),
                    ),
                    writer,
                    ambient=Ambient(lambda: 1_768_000_000.0, lambda: "req-1"),
                    request_id="req-1",
                    limits=BusLimits(
                        deadline_seconds=self.deadline,
                        finishing_seconds=self.finishing,
                        reading_seconds=60.0 if self.reading else 0.0,
                    ),
                    listener=Listener(on_prose=lambda role, text: prose.append((role, text))),
                )
                took = clock() - before
        writer.close()
        document = (
            {} if ended.plan is None else plan_document(ended, budget.report(), writer.last_hash)
        )
        return Held(ended, endpoint.requests, path, took, document, prose, thinking, endpoint.url)


@dataclass
class SlowEyes(Seen):
    """Sees what is given, after a while."""

    seconds: float
    past: PastFacts | ReadPast | None

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, *_: object
    ) -> MarketContext:
        await asyncio.sleep(self.seconds)
        return await super().observe_position(ref, profile)

    async def position_past(self, ref: PositionRef) -> PastFacts:
        if isinstance(self.past, PastFacts):
            return self.past
        return await (super().position_past if self.past is None else self.past)(ref)


async def plan_of_the_rules(context: Context) -> Plan:
    ended = await hold_debate(
        start_of(context),
        Seen(context),
        None,
        RecordWriter(MemorySink(), "req-1", {}, Redactor(), flow="lp"),
        ambient=Ambient(lambda: 0.0, lambda: "req-1"),
        request_id="req-1",
    )
    assert ended.plan is not None
    return ended.plan


async def assert_kept_well(held: Held, log: str) -> None:
    """The record is whole, replays to the byte, and nothing anywhere tells the key."""
    assert verify_record(held.path).complete
    report, again = await replay_debate(read_record(held.path))
    assert report.matches, report.difference
    assert again == held.ended
    assert_silent_about_the_key(held, log)


def assert_silent_about_the_key(held: Held, log: str) -> None:
    prose = "".join(text for _, text in held.prose)
    told = json.dumps(held.document) + repr(held.ended) + prose + log + held.path.read_text()
    assert KEY not in told
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in held.requests)
