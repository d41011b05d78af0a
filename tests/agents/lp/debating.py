"""Debates as tests hold them: in this process, on facts from the chain or made up here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agents.bus.record import MemorySink, RecordWriter
from agents.bus.run import ArgumentEnd, Listener, RemoteAgents
from agents.bus.worker import Ambient, StageFailedError
from agents.lp.debate import hold_debate
from agents.lp.facts import CreateContext, CreateGoal, MarketContext, PastFacts
from agents.lp.observe import ChainObserver
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.lp.plan import Plan
from agents.lp.services import Eyes
from agents.model.interface import Model
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import Redactor
from chain.base.store import Store
from chain.base.strict_json import canonical
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef
from chain.rpc.client import RpcClient

DEVNET = network_named("devnet")
NOW = 1_768_000_000.0
REQUEST = "req_0123456789abcdef"


@dataclass
class Seen:
    """Eyes for what was seen before."""

    context: MarketContext | CreateContext

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, *_: object
    ) -> MarketContext:
        assert isinstance(self.context, MarketContext)
        assert (ref, profile) == (self.context.position.token_id, self.context.profile)
        return self.context

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        assert isinstance(self.context, CreateContext)
        assert (goal, profile) == (self.context.goal, self.context.profile)
        return self.context

    async def position_past(self, ref: PositionRef) -> PastFacts:
        raise StageFailedError("Nobody kept the past of this one.")


@dataclass
class Noticing:
    """Eyes that remember what they saw."""

    inner: Eyes
    seen: MarketContext | CreateContext | None = None

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, *_: object
    ) -> MarketContext:
        self.seen = seen = await self.inner.observe_position(ref, profile)
        return seen

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        self.seen = seen = await self.inner.survey(goal, owner, profile)
        return seen

    async def position_past(self, ref: PositionRef) -> PastFacts:
        return await self.inner.position_past(ref)


@dataclass(frozen=True)
class Argued:
    """How a debate ended, its record, and the facts it was about."""

    ended: ArgumentEnd[Plan]
    record: bytes
    seen: MarketContext | CreateContext | None

    @property
    def plan(self) -> Plan:
        assert self.ended.plan is not None, self.ended.failure
        return self.ended.plan

    @property
    def plan_bytes(self) -> bytes:
        return canonical(self.plan.model_dump(mode="json", by_alias=True))

    @property
    def market(self) -> MarketContext:
        assert isinstance(self.seen, MarketContext)
        return self.seen

    def said(self, tag: str) -> list[str]:
        return [turn.thought.text for turn in self.ended.transcript if turn.thought.tag == tag]


def start_of(
    context: MarketContext | CreateContext, rounds: int = 2
) -> FlowStart | FlowCreateStart:
    """The message that begins a debate about it."""
    if isinstance(context, MarketContext):
        return FlowStart(
            token_id=context.position.token_id,
            profile=context.profile,
            max_rounds=rounds,
            last_action_time=context.position.last_action_time,
        )
    return FlowCreateStart(
        goal=context.goal, owner=context.owner, profile=context.profile, max_rounds=rounds
    )


async def argue(
    start: FlowStart | FlowCreateStart,
    eyes: Eyes,
    *,
    model: Model | None = None,
    listener: Listener | None = None,
    remote: RemoteAgents | None = None,
) -> Argued:
    """A whole debate with a clock that stands still."""
    sink, noticing = MemorySink(), Noticing(eyes)
    record = RecordWriter(sink, REQUEST, {"zuno": "test"}, Redactor(), flow="lp")
    ended = await hold_debate(
        start,
        noticing,
        model,
        record,
        ambient=Ambient(lambda: NOW, lambda: REQUEST),
        request_id=REQUEST,
        listener=listener,
        remote=remote,
    )
    record.close()
    return Argued(ended, b"".join(sink.lines), noticing.seen)


async def argue_over(
    context: MarketContext | CreateContext, *, rounds: int = 2, model: Model | None = None
) -> Argued:
    return await argue(start_of(context, rounds), Seen(context), model=model)


@asynccontextmanager
async def watching(url: str, store: Store | None = None) -> AsyncIterator[ChainObserver]:
    """Eyes on a chain, with a memory of their own unless one is given."""
    async with RpcClient(DEVNET, (url,), clock=lambda: NOW) as client:
        memory = store or Store.in_memory()
        yield ChainObserver(Sources(client, DEVNET, memory, None, lambda: NOW))
