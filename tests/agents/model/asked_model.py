"""One question to a model over a real connection, with all that was heard on the way."""

import asyncio
import json
from typing import Annotated, Literal

import pytest
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from agents.bus.envelope import Role
from agents.lp.payloads import SCOUT
from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import (
    Answer,
    ModelLimits,
    ModelPrompt,
    ModelSettings,
    ModelUnavailable,
    RoleModels,
)
from chain.base.store import Store
from tests.fakes.model_endpoint import ModelEndpoint
from tests.virtual_time import virtual_now

KEY = "sk-canary-THE-KEY-0123456789abcdef"
PROMPT = ModelPrompt("You are Scout.", "Volatility is [n1] 3.2 %.")
LIMITS = ModelLimits(total_seconds=12, first_seconds=10, stall_seconds=10, attempts=2)
HASTE = ModelLimits(total_seconds=1.0, first_seconds=0.3, stall_seconds=0.2)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    width: Annotated[float, Field(ge=0.3, le=3.5)]
    kind: Literal["tighten", "widen"]


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prose: Annotated[str, Field(max_length=220)]
    shapes: Annotated[list[Shape], Field(min_length=1, max_length=5)]


GOOD = {"prose": "Calm · so widen.\n“Yes” 😀", "shapes": [{"width": 1.4, "kind": "widen"}]}
GOOD_TEXT = json.dumps(GOOD)
WIDE = {"prose": "I want more.", "shapes": [{"width": 9.9, "kind": "widen"}]}


class Asked:
    """One question to one endpoint, and everything that could have leaked on the way."""

    def __init__(self, endpoint: ModelEndpoint, **changes: object) -> None:
        self.endpoint = endpoint
        self.prose: list[str] = []
        self.heard = asyncio.Event()
        self.first_word: float | None = None
        self.settings = replace(
            ModelSettings(api_key=KEY, base_url=endpoint.url, limits=LIMITS),
            **changes,
        )
        self.roles: dict[Role, ModelSettings] = {}
        self.thinking: list[tuple[Role, float]] = []
        self.memory = Store.in_memory()
        budget = Budget(BudgetLimits(), {}, self.memory, clock=lambda: 0.0)
        self.budget = budget.debate()

    async def ask(self, role: Role = SCOUT) -> Answer[Reply]:
        async with ModelConnections() as connections:
            return await self.model(connections).ask(role, PROMPT, Reply, self._hear)

    def model(self, connections: ModelConnections) -> OpenAIModel:
        return OpenAIModel(
            RoleModels(self.settings, self.roles),
            connections,
            self.budget,
            AbilityMemory(self.memory, lambda: 1_700_000_000.0),
            clock=lambda: 1_700_000_000.0,
            on_thinking=lambda *told: self.thinking.append(told),
        )

    def _hear(self, text: str) -> None:
        self.first_word = self.first_word or virtual_now()
        self.prose.append(text)
        self.heard.set()

    async def fails(self) -> ModelUnavailable:
        try:
            answer = await self.ask()
        except ModelUnavailable as error:
            return error
        pytest.fail(f"there was an answer: {answer}")
