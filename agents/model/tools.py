"""What a model may look up before it answers: tools with schemas, its calls, what they were told.

A tool only reads. What it answers is data for the model that asked, and goes into the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

from agents.model.interface import Answer, Model, ModelPrompt, Reply, Usage
from agents.model.lenient import objects_in
from agents.model.schema import tool_schema
from chain.base import strict_json
from chain.base.canonical import canonical, digest
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agents.bus.envelope import Role
    from chain.base.redaction import Redactor

MOST_CALLS = 4
"""That are answered in one question, however many are made."""
_MOST_KEPT = 2 * MOST_CALLS
_NAME_LIMIT = 64
_ARGUMENTS_LIMIT = 2_000
_CALLS = "calls"


class OfferedTool(Struct, frozen=True):
    name: str
    does: str
    arguments: type[BaseModel]

    @property
    def schema(self) -> dict[str, object]:
        return tool_schema(self.arguments)


class ToolCall(Struct, frozen=True):
    name: str
    arguments: str
    """JSON as the model wrote it."""
    call_id: str = ""
    """As the server calls it; none is recorded."""
    extra: Mapping[str, object] | None = None
    """What some servers want back with the call, unread."""


class ToolTurn(Struct, frozen=True):
    """The calls of one reply, and what each was answered."""

    calls: tuple[ToolCall, ...]
    answers: tuple[str, ...]

    def told(self) -> str:
        """In words, for whoever was not offered the tools."""
        return "\n".join(
            f"Looked up {call.name} {call.arguments}: {answer}"
            for call, answer in zip(self.calls, self.answers, strict=True)
        )


class ToolPrompt(Struct, frozen=True):
    """A question that may be answered by calling tools first."""

    prompt: ModelPrompt
    tools: tuple[OfferedTool, ...]
    turns: tuple[ToolTurn, ...] = ()

    @property
    def digest(self) -> str:
        offered = [[tool.name, tool.does, tool.schema] for tool in self.tools]
        turns = [
            [[call.name, call.arguments, answer] for call, answer in zip(*pair, strict=True)]
            for pair in ((turn.calls, turn.answers) for turn in self.turns)
        ]
        return digest(canonical({"prompt": self.prompt.digest, "tools": offered, "turns": turns}))


class ToolRequest(Struct, frozen=True):
    """A reply that is no answer yet: it asks for tools."""

    calls: tuple[ToolCall, ...]
    usage: Usage
    model: str

    @property
    def raw(self) -> str:
        """For the record: reading it again gives the calls."""
        calls = [{"name": call.name, "arguments": call.arguments} for call in self.calls]
        return canonical({_CALLS: calls}).decode()


@runtime_checkable
class ToolModel(Model, Protocol):
    """A model that can be offered tools."""

    async def ask_with_tools(
        self,
        role: Role,
        prompt: ToolPrompt,
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply] | ToolRequest | None:
        """An answer, or calls of tools; None where the question must be asked without them."""
        ...


def cleaned_calls(calls: Sequence[ToolCall], redactor: Redactor) -> tuple[ToolCall, ...]:
    """What a model wrote, made harmless; more calls than could ever be answered are dropped."""
    return tuple(
        ToolCall(
            clean_text(call.name, limit=_NAME_LIMIT),
            redactor.text(clean_text(call.arguments, limit=_ARGUMENTS_LIMIT)) or "{}",
            call.call_id,
            call.extra,
        )
        for call in calls[:_MOST_KEPT]
    )


def calls_in_text(text: str, offered: Set[str]) -> tuple[ToolCall, ...]:
    """Calls that a model wrote as its words, where its server does not read them out."""
    calls: list[ToolCall] = []
    for _, _, value in objects_in(text):
        name = value.get("name")
        arguments = value.get("arguments", value.get("parameters", {}))
        if isinstance(name, str) and name in offered and isinstance(arguments, dict):
            calls.append(ToolCall(name, json.dumps(arguments), f"call{len(calls):05}"))
    return tuple(calls)


def recorded_calls(raw: str) -> tuple[ToolCall, ...] | None:
    """The calls that a recorded reply made; None where it is an answer."""
    match strict_json.loads(raw.encode()):
        case {"calls": list(calls)}:
            return tuple(ToolCall(str(one["name"]), str(one["arguments"])) for one in calls)
    return None
