"""Tokens and seconds of a debate with a model, against the same question put to it in one call.

The model is a server on the loopback that begins after FIRST_SECONDS and writes TOKENS_A_SECOND;
the seconds are those of a clock that skips the waiting. A token is counted as four characters.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from agents.bus.record import MemorySink, RecordWriter
from agents.bus.worker import Ambient, BusLimits
from agents.lp.briefing import ProposedShape
from agents.lp.debate import LP_FLOW, hold_debate
from agents.lp.payloads import ARBITER
from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import ModelPrompt, ModelSettings, RoleModels
from chain.base.clean_text import Redactor
from chain.base.store import Store
from tests.agents.lp.debating import Seen, start_of
from tests.agents.lp.honest_model import SHAPES, honest, sceptical
from tests.agents.lp.made_up_markets import market_context
from tests.fakes.model_endpoint import model_endpoint
from tests.virtual_time import run_virtually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire

FIRST_SECONDS = 0.7
TOKENS_A_SECOND = 80
CHARACTERS = 4
REQUEST = "req_benchmark"
_WINDOW = json.dumps({"hours": 48})


class OneReply(BaseModel):
    """Everything that a debate asks for, at once."""

    model_config = ConfigDict(extra="forbid")

    rationale: str = Field(min_length=20, max_length=1_200)
    shapes: list[ProposedShape] = Field(min_length=2, max_length=5)
    chosen: int = Field(ge=0, lt=5)


class _Taken(Struct):
    """What was asked and written, and how long it took."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    def words(self) -> str:
        return (
            f"{self.calls} calls  {self.tokens_in:6,} tokens in {self.tokens_out:5,} out"
            f"  {self.seconds:5.1f} s"
        )


def run() -> Iterator[str]:
    # What the first debate loads is no part of any.
    run_virtually(_debate(honest))
    accepted, prompts = run_virtually(_debate(honest))
    looked, _ = run_virtually(_debate(honest, looks=2))
    argued, _ = run_virtually(_debate(sceptical))
    one = run_virtually(_one_call(prompts))
    yield f"one call                {one.words()}   baseline"
    debates = (
        ("a debate that agrees", accepted),
        ("the same, Scout looks", looked),
        ("one that does not", argued),
    )
    for name, taken in debates:
        tokens = (taken.tokens_in + taken.tokens_out) / (one.tokens_in + one.tokens_out)
        slower = taken.seconds / one.seconds
        yield f"{name:23} {taken.words()}   {tokens:.1f} × the tokens, {slower:.1f} × as long"


async def _debate(answer: Callable[[ChatRequest], object], looks: int = 0) -> tuple[_Taken, str]:
    """Scout's model calls so many tools, one after the other, before it speaks."""
    taken = _Taken()
    context = market_context("outside")
    async with (
        model_endpoint(_speaks(answer, taken, looks)) as endpoint,
        ModelConnections() as connections,
    ):
        model = await _model(endpoint.url, connections)
        clock = asyncio.get_running_loop().time
        before = clock()
        ended = await hold_debate(
            start_of(context),
            Seen(context),
            model,
            RecordWriter(MemorySink(), REQUEST, {}, Redactor(), flow=LP_FLOW.name),
            ambient=Ambient(lambda: 0.0, lambda: REQUEST),
            request_id=REQUEST,
            limits=BusLimits(deadline_seconds=600),
        )
        taken.seconds = clock() - before
    if ended.plan is None:
        raise AssertionError(ended.failure)
    strategist = next(one for one in endpoint.requests if one.reply_name == "StrategistReply")
    return taken, strategist.prompt


async def _one_call(facts: str) -> _Taken:
    taken = _Taken()
    prompt = ModelPrompt(
        "You advise a liquidity provider. Propose ranges, weigh them, and choose one.", facts
    )

    def answer(_: ChatRequest) -> object:
        words = "The wider one keeps its floor, the others do not. " * 3
        return {"rationale": words, "shapes": SHAPES, "chosen": 0}

    async with (
        model_endpoint(_speaks(answer, taken)) as endpoint,
        ModelConnections() as connections,
    ):
        model = await _model(endpoint.url, connections)
        clock = asyncio.get_running_loop().time
        before = clock()
        await model.ask(ARBITER, prompt, OneReply, lambda _: None)
        taken.seconds = clock() - before
    return taken


async def _model(url: str, connections: ModelConnections) -> OpenAIModel:
    settings = ModelSettings("none", url, "one")
    await connections.client(settings)
    store = Store.in_memory()
    budget = Budget(BudgetLimits(), {}, store, clock=lambda: 0.0).debate()
    memory = AbilityMemory(store, lambda: 0.0)
    return OpenAIModel(RoleModels(settings), connections, budget, memory, clock=lambda: 0.0)


def _speaks(answer: Callable[[ChatRequest], object], taken: _Taken, looks: int = 0) -> Conduct:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        looked = sum(one["role"] == "tool" for one in request.messages)
        calls = "tools" in request.body and looked < looks
        text = _WINDOW if calls else json.dumps(answer(request))
        tokens_in = len(json.dumps(request.body)) // CHARACTERS
        tokens_out = len(text) // CHARACTERS
        taken.calls += 1
        taken.tokens_in += tokens_in
        taken.tokens_out += tokens_out
        await wire.begin()
        await asyncio.sleep(FIRST_SECONDS)
        for start in range(0, len(text), 80):
            await _write(wire, text[start : start + 80], calls=calls)
            await asyncio.sleep(80 / CHARACTERS / TOKENS_A_SECOND)
        await wire.delta(finish="tool_calls" if calls else "stop")
        await wire.usage(tokens_in, tokens_out)
        await wire.end()

    return conduct


async def _write(wire: Wire, text: str, *, calls: bool) -> None:
    if calls:
        function = {"name": "volatility", "arguments": text}
        await wire.delta(tool_calls=[{"index": 0, "id": "call", "function": function}])
    else:
        await wire.delta(content=text)
