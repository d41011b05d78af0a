"""Servers that people run themselves: slow, plain, short of context."""

import asyncio

from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire
from tests.fakes.model_servers.shapes import (
    THINKING,
    answer_of,
    bad_request,
    ended,
    fenced,
    spoken,
    streamed,
    whole,
)
from tests.virtual_time import pass_time

READING_SECONDS = 60.0
THINKING_SECONDS = 45.0


async def ollama_on_a_slow_machine(request: ChatRequest, wire: Wire) -> None:
    """Reads its prompt for a minute, then thinks aloud in a tag that it never closes."""
    await wire.begin()
    await wire.delta(content="")
    await asyncio.sleep(READING_SECONDS)
    await spoken(wire, f"<think>\n{THINKING}\n\n{answer_of(request)}")
    await ended(request, wire)


def ollama_that_cuts(context: int) -> Conduct:
    """Drops what its context has no room for, and answers as if it had read it all."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        asked = sum(len(one["content"]) for one in request.messages) // 4
        await wire.begin()
        await spoken(wire, answer_of(request))
        await wire.delta(finish="stop")
        await wire.usage(tokens_in=min(asked, context))
        await wire.end()

    return conduct


async def lm_studio(request: ChatRequest, wire: Wire) -> None:
    """Takes schemas and nothing looser; its error is a bare text."""
    if request.form == "json_object":
        await wire.status(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
    else:
        await streamed(request, wire, answer_of(request), usage=False)


async def vllm_thinking(request: ChatRequest, wire: Wire) -> None:
    """Names the speaker at once, and then thinks for longer than anybody waits between words."""
    await wire.begin()
    await wire.delta(content="")
    await pass_time(THINKING_SECONDS)
    for start in range(0, len(THINKING), 10):
        await pass_time(1.5)
        await wire.delta(content=None, reasoning_content=THINKING[start : start + 10])
    await spoken(wire, answer_of(request))
    await ended(request, wire)


def vllm_short_of_context(context: int) -> Conduct:
    """Counts the question and the limit of the answer together."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        asked = sum(len(one["content"]) for one in request.messages) // 4
        wanted = int(str(request.body["max_tokens"]))
        if asked + wanted > context:
            words = (
                f"You passed {asked} input tokens and requested {wanted} output tokens. However, "
                f"the model's context length is only {context} tokens. Please reduce the length "
                "of the input prompt."
            )
            fault = {"message": words, "type": "BadRequestError", "param": "input_tokens"}
            await wire.status(400, {"error": {**fault, "code": 400}})
        else:
            await streamed(request, wire, answer_of(request))

    return conduct


async def llama_cpp(request: ChatRequest, wire: Wire) -> None:
    """Cannot make a grammar of the schema, and puts its JSON into a fence."""
    if request.form == "json_schema":
        words = "JSON schema conversion failed:\nUnrecognized schema: {}"
        await wire.status(400, {"error": {**_of_llama(400, words), "type": "server_error"}})
    else:
        await streamed(request, wire, fenced(request), usage=False)


async def llama_cpp_too_small(request: ChatRequest, wire: Wire) -> None:
    """The question alone is more than it holds."""
    words = "the request exceeds the available context size. try increasing the context size"
    sizes = {"n_prompt_tokens": 4096, "n_ctx": 2048}
    fault = {**_of_llama(400, words), "type": "exceed_context_size_error", **sizes}
    await wire.status(400, {"error": fault})


async def without_streams(request: ChatRequest, wire: Wire) -> None:
    """Refuses to stream, and answers in one piece."""
    if request.body.get("stream"):
        await wire.status(400, bad_request("Streaming is not supported by this deployment."))
    else:
        await whole(wire, {"content": answer_of(request)})


async def deaf_to_streams(request: ChatRequest, wire: Wire) -> None:
    """Answers in one piece, whatever was asked."""
    await whole(wire, {"content": fenced(request), "reasoning_content": THINKING})


async def caller_of_tools(request: ChatRequest, wire: Wire) -> None:
    """Answers as if the schema were a tool."""
    await wire.begin()
    text = answer_of(request)
    for start in range(0, len(text), 200):
        function = {"name": request.reply_name, "arguments": text[start : start + 200]}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        await wire.delta(content=None, tool_calls=[call])
    await wire.delta(finish="tool_calls")
    await wire.usage()
    await wire.end()


def busy_at_first(seconds: int) -> Conduct:
    """Asks each new question to come again later."""
    seen: list[str] = []

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        if request.reply_name in seen:
            await streamed(request, wire, answer_of(request))
            return
        seen.append(request.reply_name)
        fault = {"message": "Rate limit reached.", "type": "rate_limit_error"}
        await wire.status(429, {"error": fault}, {"Retry-After": str(seconds)})

    return conduct


def _of_llama(code: int, words: str) -> dict[str, object]:
    return {"code": code, "message": words}
