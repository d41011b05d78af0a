"""The shapes in which servers answer: streams, thoughts, whole completions, errors."""

import json

from tests.agents.lp.honest_model import honest
from tests.fakes.model_endpoint import ChatRequest, Wire

THINKING = "First {the floor}, then the widths. Wider keeps longer, tighter pays more."


def answer_of(request: ChatRequest) -> str:
    return json.dumps(honest(request))


def fenced(request: ChatRequest) -> str:
    return f"Here is my assessment:\n\n```json\n{answer_of(request)}\n```\n"


def thought_aloud(request: ChatRequest) -> str:
    return f"<think>\n{THINKING}\n</think>\n\n{answer_of(request)}"


def bad_request(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


async def streamed(
    request: ChatRequest, wire: Wire, text: str, *, usage: bool = True, size: int = 200
) -> None:
    """A stream as OpenAI's: who speaks, the words, why it ends, what it took if that was asked."""
    await wire.begin()
    await wire.delta(content="")
    await spoken(wire, text, size=size)
    await ended(request, wire, usage=usage)


async def spoken(wire: Wire, text: str, *, size: int = 200) -> None:
    for start in range(0, len(text), size):
        await wire.delta(content=text[start : start + size])


async def ended(request: ChatRequest, wire: Wire, *, usage: bool = True) -> None:
    await wire.delta(finish="stop")
    if usage and request.body.get("stream_options"):
        await wire.usage()
    await wire.end()


async def whole(wire: Wire, message: dict[str, object], finish: str = "stop") -> None:
    """A completion in one piece."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 120, "completion_tokens": 45, "total_tokens": 165}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "fake"}
    await wire.status(200, {**body, "choices": [choice], "usage": usage})
