"""Writes down what a model answered, and answers again from what was written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agents.bus.record import ModelReply
from agents.model.interface import Answer, ModelUnavailable, Unavailability, Usage
from agents.model.reply_text import parse_reply
from chain.base.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents.bus.envelope import Role
    from agents.bus.record import RecordWriter
    from agents.model.interface import Model, ModelPrompt, Reply


class NoRecordedReplyError(LookupError):
    """A question the record has no reply to: what is replayed went another way."""


class RecordingModel:
    """Passes questions on and writes every reply into the record, usable or not."""

    def __init__(self, inner: Model, record: RecordWriter) -> None:
        self._inner = inner
        self._record = record
        self._steps: Counter[Role] = Counter()

    async def ask(
        self,
        role: Role,
        prompt: ModelPrompt,
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply]:
        step = self._steps[role]
        self._steps[role] += 1
        try:
            answer = await self._inner.ask(role, prompt, schema, on_prose)
        except ModelUnavailable as error:
            self._record.reply(
                ModelReply(
                    role=role,
                    step=step,
                    prompt=prompt.digest,
                    model=None,
                    raw=None,
                    unavailable=error.reason,
                    sentence=str(error),
                    tokens_in=0,
                    tokens_out=0,
                    estimated=False,
                )
            )
            raise
        self._record.reply(
            ModelReply(
                role=role,
                step=step,
                prompt=prompt.digest,
                model=answer.model,
                raw=answer.raw,
                unavailable=None,
                sentence=None,
                tokens_in=answer.usage.tokens_in,
                tokens_out=answer.usage.tokens_out,
                estimated=answer.usage.estimated,
            )
        )
        return answer


class RecordedModel:
    """Answers one request's questions from its record, each role's in the order it asked."""

    def __init__(self, replies: Iterable[ModelReply]) -> None:
        self._replies = {(reply.role, reply.step): reply for reply in replies}
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
