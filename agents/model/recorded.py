"""Answers again from what was written down of a model's replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from agents.bus.envelope import ModelReply, Role
from agents.model.interface import (
    Answer,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
    Usage,
)
from agents.model.reply_text import parse_reply
from agents.model.tools import ToolPrompt, ToolRequest, recorded_calls
from chain.base.clean_text import Redactor


class NoRecordedReplyError(LookupError):
    """A question the record has no reply to: what is replayed went another way."""


class RecordedModel:
    """Answers one request's questions from its record, each role's in the order it asked."""

    def __init__(self, replies: Mapping[tuple[Role, int], ModelReply]) -> None:
        self._replies = replies
        self._steps: Counter[Role] = Counter()

    async def ask(
        self,
        role: Role,
        prompt: ModelPrompt,  # noqa: ARG002 - whether it is the same is seen when records are compared
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply]:
        said = self._next(role)
        return _answer(said, schema, on_prose)

    async def ask_with_tools(
        self, role: Role, prompt: ToolPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply] | ToolRequest | None:
        reply = self._replies.get((role, self._steps[role]))
        if reply is None or reply.prompt != prompt.digest:
            # It was asked without tools: none were offered, or the time for them was over.
            return None
        said = self._next(role)
        calls = recorded_calls(said.raw)
        if calls is None:
            return _answer(said, schema, on_prose)
        return ToolRequest(calls, said.usage, said.model)

    def _next(self, role: Role) -> _SaidReply:
        step = self._steps[role]
        self._steps[role] += 1
        reply = self._replies.get((role, step))
        if reply is None:
            raise NoRecordedReplyError(f"The record has no reply {step} to {role}.")
        if reply.raw is None or reply.model is None:
            reason = Unavailability(reply.unavailable or Unavailability.MALFORMED)
            raise ModelUnavailable(reason, reply.sentence or "")
        usage = Usage(reply.tokens_in, reply.tokens_out, reply.estimated)
        return _SaidReply(reply.raw, reply.model, usage)


class _SaidReply(NamedTuple):
    raw: str
    model: str
    usage: Usage


def _answer(
    said: _SaidReply, schema: type[Reply], on_prose: Callable[[str], None]
) -> Answer[Reply]:
    value = parse_reply(said.raw, schema, Redactor()).value
    on_prose(str(next(iter(value.model_dump().values()))))
    return Answer(value, said.usage, said.raw, said.model)
