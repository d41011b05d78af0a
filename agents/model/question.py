"""What is put to a model, and how it is told to a server that can do this and not that."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from agents.model.abilities import ReplyForm, ServerAbilities
from agents.model.budget import estimated_tokens
from chain.base.canonical import canonical

if TYPE_CHECKING:
    from agents.model.tools import OfferedTool, ToolCall, ToolTurn

    MessageRole = Literal["system", "user", "assistant"]

_IMAGE_TOKENS = 3_000
"""More than a picture of ours takes."""


class Question(Struct, frozen=True):
    messages: tuple[tuple[MessageRole, str], ...]
    schema_name: str
    schema: Mapping[str, object]
    tools: tuple[OfferedTool, ...] = ()
    turns: tuple[ToolTurn, ...] = ()
    """What was looked up already."""
    image: bytes = b""
    """A PNG, shown beside the first words of the person."""

    def again(self, reply: str, complaint: str) -> Question:
        """The same question after a reply that could not be used."""
        order = (
            f"That reply cannot be used. {complaint} "
            "Reply again with one JSON object of the given schema and nothing else."
        )
        return replace(self, messages=(*self.messages, ("assistant", reply), ("user", order)))

    def offers_tools(self, able: ServerAbilities) -> bool:
        return bool(self.tools) and able.calls_tools

    def form(self, able: ServerAbilities) -> ReplyForm:
        """How the reply's form is asked for: many servers that hold a reply to a form call no
        tools, and some refuse to be asked for both."""
        return ReplyForm.TEXT if self.offers_tools(able) else able.form

    def messages_for(self, able: ServerAbilities) -> list[dict[str, object]]:
        messages: list[dict[str, object]] = [
            {"role": role, "content": text} for role, text in self._messages_for(able)
        ]
        if self.image:
            first = next(one for one in messages if one["role"] == "user")
            first["content"] = [{"type": "text", "text": first["content"]}, _picture(self.image)]
        if self.offers_tools(able):
            for turn in self.turns:
                messages += _turn_messages(turn)
        return messages

    def estimated_tokens(self) -> int:
        texts = [text for _, text in self.messages]
        offered = [f"{tool.name} {tool.does} {_json(tool.schema)}" for tool in self.tools]
        looked_up = [turn.told() for turn in self.turns]
        seen = _IMAGE_TOKENS if self.image else 0
        return seen + estimated_tokens(*texts, *offered, *looked_up, _json(self.schema))

    def _messages_for(self, able: ServerAbilities) -> tuple[tuple[MessageRole, str], ...]:
        """The messages, with the schema in words where the server does not hold the model to it."""
        (_, system), (_, first), *rest = self.messages
        if self.form(able) is not ReplyForm.SCHEMA:
            system = (
                f"{system}\n\nReply with one JSON object of this JSON schema and nothing else, "
                f"no code fence around it:\n{_json(self.schema)}"
            )
        if not self.offers_tools(able):
            first = "\n\n".join((first, *(turn.told() for turn in self.turns)))
        if able.takes_system:
            return (("system", system), ("user", first), *rest)
        return (("user", f"{system}\n\n{first}"), *rest)


def _picture(png: bytes) -> dict[str, object]:
    url = f"data:image/png;base64,{b64encode(png).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _turn_messages(turn: ToolTurn) -> Iterator[dict[str, object]]:
    # A text that is empty, not missing: templates of local models put it beside others.
    calls = [_call_message(call) for call in turn.calls]
    yield {"role": "assistant", "content": "", "tool_calls": calls}
    for call, answer in zip(turn.calls, turn.answers, strict=True):
        yield {"role": "tool", "tool_call_id": call.call_id, "content": answer}


def _call_message(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    extra = {} if call.extra is None else {"extra_content": call.extra}
    return {"id": call.call_id, "type": "function", "function": function, **extra}


def _json(schema: Mapping[str, object]) -> str:
    return canonical(dict(schema)).decode()
