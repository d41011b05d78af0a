"""Answers again from what was written down of a model's replies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agents.model.interface import Answer, ModelUnavailable, Unavailability, Usage
from agents.model.reply_text import parse_reply
from chain.base.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agents.bus.envelope import Role
    from agents.bus.payload import ModelReply
    from agents.model.interface import ModelPrompt, Reply


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
        step = self._steps[role]
        self._steps[role] += 1
        reply = self._replies.get((role, step))
        if reply is None:
            raise NoRecordedReplyError(f"The record has no reply {step} to {role}.")
        if reply.raw is None or reply.model is None:
            reason = Unavailability(reply.unavailable or Unavailability.MALFORMED)
            raise ModelUnavailable(reason, reply.sentence or "")
        value = parse_reply(reply.raw, schema, Redactor()).value
        on_prose(str(next(iter(value.model_dump().values()))))
        usage = Usage(reply.tokens_in, reply.tokens_out, reply.estimated)
        return Answer(value, usage, reply.raw, reply.model)
