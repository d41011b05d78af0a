"""Providers' servers: what each refuses, in its own words, and how it answers."""

from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire
from tests.fakes.model_servers.shapes import (
    THINKING,
    answer_of,
    bad_request,
    ended,
    fenced,
    spoken,
    streamed,
    thought_aloud,
)

_ENOUGH_TO_THINK = 6_000


async def openai_reasoning(request: ChatRequest, wire: Wire) -> None:
    """Knows only the new name of the limit, no temperature, and thinks where nobody sees it."""
    body = request.body
    if "max_tokens" in body:
        words = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead."
        )
        fault = bad_request(words, param="max_tokens", code="unsupported_parameter")
        await wire.status(400, fault)
    elif "temperature" in body:
        words = (
            "Unsupported value: 'temperature' does not support 0.2 with this model. "
            "Only the default (1) value is supported."
        )
        await wire.status(400, bad_request(words, param="temperature", code="unsupported_value"))
    elif int(str(body["max_completion_tokens"])) < _ENOUGH_TO_THINK:
        await wire.begin()
        await wire.delta(content="")
        await wire.delta(finish="length")
        await wire.usage(120, body["max_completion_tokens"])
        await wire.end()
    else:
        await streamed(request, wire, answer_of(request))


async def thinks_for_ever(request: ChatRequest, wire: Wire) -> None:
    """Uses up whatever it is given before its first word."""
    await wire.begin()
    await wire.delta(content="", reasoning=THINKING)
    await wire.delta(finish="length")
    await wire.usage(120, request.body["max_tokens"])
    await wire.end()


async def anthropic(request: ChatRequest, wire: Wire) -> None:
    """Passes over `response_format`, and answers in a fence once it was told what is wanted."""
    if "temperature" in request.body:
        fault = bad_request(
            "`temperature` is deprecated for this model.", code="invalid_request_error", param=None
        )
        await wire.status(400, fault)
    elif request.told_schema is None:
        await streamed(request, wire, "The market is calm. I would keep the range wide.")
    else:
        await streamed(request, wire, fenced(request))


async def gemini(request: ChatRequest, wire: Wire) -> None:
    """Wraps its errors in a list, and does not say what it is that it does not take."""
    if request.form == "json_schema":
        error = {
            "code": 400,
            "message": "Request contains an invalid argument.",
            "status": "INVALID_ARGUMENT",
        }
        await wire.status(400, [{"error": error}])
    else:
        await streamed(request, wire, answer_of(request))


async def gemma(request: ChatRequest, wire: Wire) -> None:
    """On Gemini's endpoint, without instructions of a system."""
    if request.messages[0]["role"] == "system":
        words = "Developer instruction is not enabled for models/gemma-3-27b-it"
        error = {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}
        await wire.status(400, [{"error": error}])
    elif request.form != "text":
        words = "JSON mode is not enabled for models/gemma-3-27b-it"
        error = {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}
        await wire.status(400, [{"error": error}])
    else:
        await streamed(request, wire, fenced(request))


async def openrouter(request: ChatRequest, wire: Wire) -> None:
    """Keeps the line busy with comments, then thinks in two shapes at once."""
    await wire.begin()
    for _ in range(3):
        await wire.piece(b": OPENROUTER PROCESSING\n\n")
    details = [{"type": "reasoning.text", "text": THINKING, "format": "unknown", "index": 0}]
    await wire.delta(content="", reasoning=THINKING, reasoning_details=details)
    await spoken(wire, answer_of(request))
    await ended(request, wire)


async def deepseek(request: ChatRequest, wire: Wire) -> None:
    """Knows JSON but no schema, and thinks in `reasoning_content`."""
    if request.form == "json_schema":
        words = "This response_format type is unavailable now"
        await wire.status(400, bad_request(words, param=None, code="invalid_request_error"))
        return
    if request.form == "json_object" and "json" not in request.messages[0]["content"].lower():
        words = "Prompt must contain the word 'json' in some form to use 'response_format'"
        await wire.status(400, bad_request(words))
        return
    await wire.begin()
    await wire.delta(content="", reasoning_content=None)
    for start in range(0, len(THINKING), 20):
        await wire.delta(content=None, reasoning_content=THINKING[start : start + 20])
    await spoken(wire, answer_of(request))
    await ended(request, wire)


async def groq(request: ChatRequest, wire: Wire) -> None:
    """Knows no schema; JSON mode fails on what the model thinks aloud."""
    if request.form == "json_schema":
        words = "This model does not support response format `json_schema`."
        await wire.status(400, bad_request(words, param="response_format"))
    elif request.form == "json_object":
        words = "Failed to generate JSON. Please adjust your prompt."
        fault = bad_request(words, code="json_validate_failed", failed_generation="<think>\n")
        await wire.status(400, fault)
    else:
        await streamed(request, wire, thought_aloud(request))


async def mistral(request: ChatRequest, wire: Wire) -> None:
    """Forbids what it does not know, and thinks in blocks of content."""
    if "stream_options" in request.body:
        found = {
            "type": "extra_forbidden",
            "loc": ["body", "stream_options", "include_usage"],
            "msg": "Extra inputs are not permitted",
            "input": True,
        }
        fault = {"object": "error", "message": {"detail": [found]}, "code": None}
        await wire.status(422, {**fault, "type": "invalid_request_error", "param": None})
        return
    await wire.begin()
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": THINKING}]}
    await wire.delta(content=[thought])
    await wire.delta(content=[{"type": "text", "text": answer_of(request)}])
    await wire.delta(finish="stop")
    await wire.usage()
    await wire.end()


async def o1_mini(request: ChatRequest, wire: Wire) -> None:
    """Has no role of a system, and says so far from the word."""
    if request.messages[0]["role"] == "system":
        words = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        await wire.status(400, bad_request(words, code="unsupported_value"))
    else:
        await streamed(request, wire, answer_of(request))


async def openrouter_without_a_provider(request: ChatRequest, wire: Wire) -> None:
    """None of its providers takes a schema, and it does not say that it is the schema."""
    if request.form != "text":
        words = "No endpoints found that can handle the requested parameters."
        await wire.status(404, {"error": {"message": words, "code": 404}})
    else:
        await streamed(request, wire, fenced(request))


def gemini_per_minute(seconds: int) -> Conduct:
    """Calls its limit a minute a quota, and says only in words when it is free again."""
    asked: set[str] = set()

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        if request.prompt in asked:
            await streamed(request, wire, answer_of(request))
            return
        asked.add(request.prompt)
        words = f"You exceeded your current quota. Please retry in {seconds}s."
        error = {"code": 429, "message": words, "status": "RESOURCE_EXHAUSTED"}
        await wire.status(429, [{"error": error}])

    return conduct
