"""A toy flow: a clerk asks three experts at once, and a judge joins what they say."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from enum import StrEnum

from msgspec import Struct
from pydantic import BaseModel

from agents.bus.bus import FlowSpec
from agents.bus.envelope import CLI, AgentFact, Envelope, Kind, Payload, Registry, Role, Thought
from agents.bus.replay import Record
from agents.bus.worker import HandlerContext, Outgoing
from agents.model.interface import Answer, Model, ModelPrompt, Reply, Usage
from agents.model.recorded import RecordedModel
from agents.model.speaking import ask_on_record

CLERK = Role("clerk")
JUDGE = Role("judge")
EXPERTS = (Role("news"), Role("charts"), Role("flows"))


class JuryKind(StrEnum):
    ASKED = "jury_asked"
    QUESTION = "question"
    OPINION = "opinion"
    VERDICT = "verdict"


class Question(Payload):
    symbol: str


class Opinion(Payload):
    score: int
    words: str


class Verdict(Payload):
    total: int
    heard: tuple[str, ...]
    """The experts, in the flow's order."""


class Saying(BaseModel):
    prose: str
    score: int


async def _at_once(_: Role) -> None:
    return None


class JuryServices(Struct, frozen=True):
    model: Model
    fact: Callable[[Role], object]
    think: Callable[[Role], Awaitable[None]] = _at_once
    """Awaited by each expert before it looks."""


def recorded_services(record: Record) -> JuryServices:
    return JuryServices(RecordedModel(record.replies()), lambda role: record.fact(role, "seen"))


class Parrot:
    """A model that says a line about who asks, word by word."""

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        words = f"{role} was told {prompt.user}"
        for word in words.split():
            on_prose(f"{word} ")
            await asyncio.sleep(0)
        raw = f'{{"prose": "{words}", "score": {len(role)}}}'
        return Answer(schema.model_validate_json(raw), Usage(5, 7, estimated=False), raw, "parrot")


async def clerk(
    envelope: Envelope, context: HandlerContext[JuryServices]
) -> AsyncGenerator[Outgoing, None]:
    for expert in EXPERTS:
        yield Outgoing(JuryKind.QUESTION, expert, envelope.payload)


async def expert(
    envelope: Envelope, context: HandlerContext[JuryServices]
) -> AsyncGenerator[Outgoing, None]:
    yield aloud(f"{context.role} begins")
    await context.services.think(context.role)
    seen = context.services.fact(context.role)
    await context.say(Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name="seen", value=str(seen))))
    prompt = ModelPrompt("s", str(seen))
    said = (await ask_on_record(context, context.services.model, prompt, Saying)).value
    yield aloud(said.prose)
    yield Outgoing(JuryKind.OPINION, JUDGE, Opinion(score=said.score, words=said.prose))
    yield aloud(f"{context.role} is done")


async def judge(
    envelope: Envelope, context: HandlerContext[JuryServices]
) -> AsyncGenerator[Outgoing, None]:
    opinions = context.board.messages_of(JuryKind.OPINION)
    yield aloud(f"{envelope.sender} is number {len(opinions)}")
    if len(opinions) < len(EXPERTS):
        return
    scores = [one.payload.score for one in opinions if isinstance(one.payload, Opinion)]
    yield Outgoing(
        JuryKind.VERDICT,
        CLI,
        Verdict(
            total=sum(scores),
            heard=tuple(one.sender for one in opinions),
        ),
    )


def aloud(text: str) -> Outgoing:
    return Outgoing(Kind.AGENT_THOUGHT, CLI, Thought(round=0, tag="", text=text))


JURY = FlowSpec(
    name="jury",
    package="tests.fakes",
    registry=Registry(
        (CLERK, *EXPERTS, JUDGE),
        {
            JuryKind.ASKED: Question,
            JuryKind.QUESTION: Question,
            JuryKind.OPINION: Opinion,
            JuryKind.VERDICT: Verdict,
        },
        final=[JuryKind.VERDICT],
    ),
    handlers={CLERK: clerk, **dict.fromkeys(EXPERTS, expert), JUDGE: judge},
    first=CLERK,
    starts=(JuryKind.ASKED,),
    recorded_services=recorded_services,
)
