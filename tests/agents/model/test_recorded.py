"""From the endpoint to the record and back: the same answers, and never the key."""

import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from agents.bus.envelope import ModelReply, Role
from agents.bus.record import FileSink, RecordWriter
from agents.bus.replay import read_record
from agents.bus.worker import Board, HandlerContext, Outgoing
from agents.lp.payloads import CRITIC, DEBATE, SCOUT
from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import (
    Model,
    ModelLimits,
    ModelPrompt,
    ModelSettings,
    ModelUnavailable,
    RoleModels,
)
from agents.model.recorded import RecordedModel
from agents.model.reply_text import UnusableReplyError
from agents.model.speaking import ask_on_record
from chain.base.clean_text import Redactor
from chain.base.store import Store
from tests.fakes.model_endpoint import ChatRequest, fails, model_endpoint, refuses, says

KEY = "sk-canary-THE-KEY-0123456789abcdef"
ROLES = (SCOUT, SCOUT, CRITIC, SCOUT, CRITIC)


class Opinion(BaseModel):
    prose: str
    width: float


def tells_all(request: ChatRequest) -> object:
    """A hostile endpoint: everything it was sent, in the words of the model."""
    leaked = f"{request.headers['authorization']} https://rpc.example.com/v2/abcdef0123 \x1b[31m"
    return {"prose": leaked, "width": 1.5}


async def interview(model: Model, say: Callable[[Role, Outgoing], None]) -> list[str]:
    """The answers to a few questions, or why there was none; each reply is said."""
    contexts = {role: asked_by(role, say) for role in ROLES}
    said = []
    for index, role in enumerate(ROLES):
        prompt = ModelPrompt("s", f"q{index}")
        try:
            answer = await ask_on_record(contexts[role], model, prompt, Opinion)
            said.append(f"{answer.value!r} {answer.usage} {answer.model} {answer.raw}")
        except ModelUnavailable as error:
            said.append(f"{error.reason}: {error}")
    return said


def asked_by(role: Role, say: Callable[[Role, Outgoing], None]) -> HandlerContext[None]:
    async def saying(outgoing: Outgoing) -> None:
        say(role, outgoing)

    return HandlerContext(
        "req_1", role, None, saying, lambda _: None, Board(DEBATE.roles), itertools.count()
    )


async def test_replies_come_back_from_the_record_as_they_were(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "req_1.jsonl"
    limits = ModelLimits(attempts=1)
    wide = json.dumps({"prose": "wide · ✓", "width": 2.5})
    conducts = (says(tells_all), refuses(), says(wide), fails(500), says(tells_all, tokens=None))
    async with model_endpoint(*conducts) as endpoint:
        settings = ModelSettings(api_key=KEY, base_url=endpoint.url, limits=limits)
        writer = RecordWriter(FileSink(path), "req_1", {}, Redactor((KEY, endpoint.url)), flow="lp")
        budget = Budget(BudgetLimits(), {}, Store.in_memory(), clock=lambda: 0.0).debate()
        memory = AbilityMemory(Store.in_memory(), lambda: 0.0)
        async with ModelConnections() as connections:
            live = OpenAIModel(RoleModels(settings), connections, budget, memory, clock=lambda: 0.0)

            def record(role: Role, reply: Outgoing) -> None:
                writer.envelope(
                    DEBATE.seal(
                        "req_1",
                        sender=role,
                        recipient=reply.to,
                        kind=reply.kind,
                        payload=reply.payload,
                        ts=0,
                    )
                )

            said = await interview(live, record)
        writer.close()
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert [line[:12] for line in said] == [
        *("Opinion(pros", "refused: The", "Opinion(pros", "server_error", "Opinion(pros")
    ]

    kept = read_record(path)
    assert list(kept.replies()) == [
        *(("scout", 0), ("scout", 1), ("critic", 0), ("scout", 2), ("critic", 1))
    ]
    assert await interview(RecordedModel(kept.replies()), lambda _role, _reply: None) == said

    everything = path.read_bytes().decode() + "".join(said) + caplog.text
    for secret in (KEY, "abcdef0123", endpoint.url, "\x1b", "\\u001b"):
        assert secret not in everything


@pytest.mark.parametrize("raw", ['{"prose": "x"}', "{}", "not JSON"])
async def test_a_recorded_reply_of_another_schema_is_an_error(raw: str) -> None:
    reply = ModelReply(
        step=0,
        prompt="",
        model="any",
        raw=raw,
        unavailable=None,
        sentence=None,
        tokens_in=1,
        tokens_out=1,
        estimated=False,
    )
    with pytest.raises(UnusableReplyError):
        await RecordedModel({(SCOUT, 0): reply}).ask(
            SCOUT, ModelPrompt("s", "q"), Opinion, lambda _: None
        )
