"""A recorded situation argued anew: on the facts of its record, with a model or by the rules."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.bus.envelope import Kind
from agents.bus.record import MemorySink, RecordWriter, check_lines
from agents.bus.transport import Ambient
from agents.lp.debate import LP_FLOW, debate_start, hold_debate
from agents.lp.services import RecordedEyes
from agents.model.speaking import SILENCE
from agents.scorecard.debate_check import DebateRun
from chain.base.redaction import Redactor
from zuno_tui.app.debate_setup import debate_limits

if TYPE_CHECKING:
    from agents.bus.replay import Record
    from agents.model.budget import DebateBudget
    from agents.model.interface import Model
    from zuno_tui.settings.debates import DebateSettings


async def argued_anew(
    record: Record, settings: DebateSettings, model: Model | None, budget: DebateBudget | None
) -> DebateRun:
    """No chain is read, and nothing is kept of it."""
    sink = MemorySink()
    began = time.monotonic()
    ended = await hold_debate(
        debate_start(record),
        RecordedEyes(record),
        model,
        RecordWriter(sink, record.request_id, record.versions, Redactor(), flow=LP_FLOW.name),
        ambient=Ambient(time.time, lambda: record.request_id),
        request_id=record.request_id,
        limits=debate_limits(settings),
    )
    seconds = time.monotonic() - began
    said = tuple(turn.thought.text for turn in ended.transcript if turn.thought.tag == SILENCE)
    if budget is None:
        return DebateRun(ended.plan, seconds, silences=said)
    spent = budget.report().debate
    replies = _replies(sink.lines)
    return DebateRun(
        ended.plan,
        seconds,
        spent.tokens,
        None if spent.unpriced_tokens else spent.nano_usd,
        len(replies),
        sum(replies),
        said,
    )


def _replies(lines: Sequence[bytes]) -> list[bool]:
    """Of each question to a model, whether its reply could be used."""
    bodies = (line.body for line in check_lines(lines).lines)
    return [
        body["payload"]["raw"] is not None  # type: ignore[index]
        for body in bodies
        if body.get("kind") == Kind.MODEL_REPLY
    ]
