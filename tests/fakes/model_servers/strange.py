"""Servers that strangers put before a model: other shapes, gateways, half-made imitations."""

import asyncio
import json

from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire
from tests.fakes.model_servers.shapes import answer_of, bad_request, streamed, whole

LOADING_SECONDS = 40.0


async def azure(request: ChatRequest, wire: Wire) -> None:
    """Its first chunk has no choices, its last one only the bill, and nulls between."""
    await wire.begin()
    await wire.event({"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    for text in (None, answer_of(request)):
        delta = {"content": text, "tool_calls": None, "function_call": None}
        choice = {"index": 0, "delta": delta, "finish_reason": None, "content_filter_results": {}}
        await wire.event({"id": "c", "choices": [choice], "usage": None})
    await wire.event({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    await wire.usage()
    await wire.end()


async def windows_gateway(request: ChatRequest, wire: Wire) -> None:
    """Lines end as on Windows, comments keep it awake, and nobody says that it is done."""
    await wire.begin()
    text = answer_of(request)
    for start in range(0, len(text), 50):
        delta = {"delta": {"content": text[start : start + 50]}, "finish_reason": None}
        event = json.dumps({"choices": [delta]})
        await wire.piece(f": ping\r\n\r\ndata:{event}\r\n\r\n".encode())
    last = json.dumps({"choices": [{"delta": {}, "finish_reason": "eos"}]})
    await wire.piece(f"data:{last}\r\n\r\n".encode())
    await wire.raw(b"0\r\n\r\n")


async def parts_without_a_type(request: ChatRequest, wire: Wire) -> None:
    """Content as a list of parts: texts alone, and texts in boxes."""
    text = answer_of(request)
    await whole(wire, {"content": [text[:30], {"text": text[30:]}]}, "eos_token")


async def old_completions(request: ChatRequest, wire: Wire) -> None:
    """Answers in the shape that came before messages."""
    choice = {"index": 0, "text": answer_of(request), "finish_reason": "stop"}
    await wire.status(200, {"id": "c", "object": "text_completion", "choices": [choice]})


async def numbers_as_texts(request: ChatRequest, wire: Wire) -> None:
    """Puts its numbers into quotes until it is told that it may not."""
    answer = json.loads(answer_of(request))
    complained = any("cannot be used" in str(one["content"]) for one in request.messages)
    for shape in () if complained else answer.get("shapes", ()):
        shape["widthMultiplier"] = str(shape["widthMultiplier"])
    await streamed(request, wire, json.dumps(answer))


async def wraps_its_answer(request: ChatRequest, wire: Wire) -> None:
    """Knows no schema, and puts the answer under the name of what was asked for."""
    if request.form == "json_schema":
        await wire.status(400, bad_request("json_schema is not supported"))
    else:
        answer = {request.reply_name: json.loads(answer_of(request))}
        await streamed(request, wire, json.dumps(answer))


async def forbids_stream_options(request: ChatRequest, wire: Wire) -> None:
    if "stream_options" in request.body:
        words = "Unrecognized request argument supplied: stream_options"
        await wire.status(400, bad_request(words))
    else:
        await streamed(request, wire, answer_of(request))


async def refuses_in_its_stream(request: ChatRequest, wire: Wire) -> None:
    """Says OK first, and then as an event that it cannot do what was asked."""
    if request.form == "json_schema":
        await wire.begin()
        await wire.event(bad_request("response_format json_schema is not supported", code=400))
        await wire.end()
    else:
        await streamed(request, wire, answer_of(request))


def still_loading() -> Conduct:
    """As llama.cpp while it reads its model from the disk."""
    began: list[float] = []

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        now = asyncio.get_running_loop().time()
        began.append(now)
        if now - began[0] < LOADING_SECONDS:
            fault = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
            await wire.status(503, {"error": fault})
        else:
            await streamed(request, wire, answer_of(request))

    return conduct


def answers(code: int, body: object, kind: str = "application/json") -> Conduct:
    """Always this, whatever is asked."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {code} Told\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}"
        await wire.raw(f"{head}\r\nConnection: close\r\n\r\n".encode() + data)

    return conduct


PAGE = b"<!DOCTYPE html><html><body><h1>Welcome to nginx!</h1></body></html>"
OLLAMA_UNKNOWN = bad_request("model 'qwen9' not found, try pulling it first", code=None)
EMPTY_ACCOUNT = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
}
