"""Further habits of providers' servers, each in the words it is known for."""

import json
from collections.abc import Callable

from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire
from tests.fakes.model_servers.shapes import (
    THINKING,
    answer_of,
    bad_request,
    ended,
    spoken,
    streamed,
    thought_aloud,
    whole,
)


async def answers_well(request: ChatRequest, wire: Wire) -> None:
    await streamed(request, wire, answer_of(request))


def refusing(
    when: Callable[[ChatRequest], bool], code: int, body: object, then: Conduct = answers_well
) -> Conduct:
    """An error as long as the request is so, and an answer else."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        if when(request):
            await wire.status(code, body)
        else:
            await then(request, wire)

    return conduct


def at_first(code: int, body: object, times: int = 1) -> Conduct:
    """An error to the first requests, whatever they are."""
    seen: list[ChatRequest] = []

    def early(request: ChatRequest) -> bool:
        seen.append(request)
        return len(seen) <= times

    return refusing(early, code, body)


def asks_for(*fields: str) -> Callable[[ChatRequest], bool]:
    return lambda request: any(request.body.get(field) for field in fields)


def asks_both(request: ChatRequest) -> bool:
    """For tools and for a form of the reply at once."""
    return bool(request.body.get("tools")) and request.form != "text"


def asks_form(*forms: str) -> Callable[[ChatRequest], bool]:
    return lambda request: request.form in forms


async def unstreamed(request: ChatRequest, wire: Wire) -> None:
    await whole(wire, {"content": answer_of(request)})


async def thinks_in_the_sum(request: ChatRequest, wire: Wire) -> None:
    """Counts in every chunk, and its thoughts in the sum alone."""
    await wire.begin()
    text = answer_of(request)
    usage = {"prompt_tokens": 1_000, "completion_tokens": 45, "total_tokens": 5_045}
    for start in range(0, len(text), 200):
        choice = {"index": 0, "delta": {"content": text[start : start + 200]}}
        await wire.event({"id": "c", "choices": [choice], "usage": usage})
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    await wire.event({"id": "c", "choices": [last], "usage": usage})
    await wire.end()


async def held_back(request: ChatRequest, wire: Wire) -> None:
    """Not a word, for a filter took them."""
    await wire.begin()
    await wire.delta(content="", finish="content_filter")
    await wire.usage()
    await wire.end()


async def breaks_in_the_middle(request: ChatRequest, wire: Wire) -> None:
    await wire.begin()
    await wire.delta(content='{"summary": "The market')
    fault = {"code": 502, "message": "Provider disconnected unexpectedly"}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    await wire.event({"id": "c", "error": fault, "choices": [choice]})
    await wire.end()


async def reasoner(request: ChatRequest, wire: Wire) -> None:
    await wire.begin()
    await wire.delta(content=None, reasoning_content=THINKING)
    await spoken(wire, answer_of(request))
    await ended(request, wire)


def empty_json_at_first() -> Conduct:
    """White space for an answer, now and then, where JSON was asked for."""
    seen: list[str] = []

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        if request.form == "json_schema":
            words = "This response_format type is unavailable now"
            await wire.status(400, bad_request(words))
            return
        first = request.reply_name not in seen
        seen.append(request.reply_name)
        await streamed(request, wire, " \n" if first else answer_of(request))

    return conduct


def takes_at_most(tokens: int) -> Conduct:
    words = f"Invalid max_tokens value, the valid range of max_tokens is [1, {tokens}]"
    return refusing(
        lambda request: int(str(request.body.get("max_tokens", 0))) > tokens,
        400,
        bad_request(words),
    )


async def writes_tool_requests(request: ChatRequest, wire: Wire) -> None:
    """Puts its answer between the marks of a call that nobody made."""
    call = json.dumps({"name": request.reply_name, "arguments": json.loads(answer_of(request))})
    await streamed(request, wire, f"[TOOL_REQUEST]{call}[END_TOOL_REQUEST]")


async def thinks_aloud(request: ChatRequest, wire: Wire) -> None:
    await streamed(request, wire, thought_aloud(request), usage=False)


async def closes_a_thought_it_never_opened(request: ChatRequest, wire: Wire) -> None:
    await streamed(request, wire, f"{THINKING}\n</think>\n\n{answer_of(request)}")


async def never_says_it_ended(request: ChatRequest, wire: Wire) -> None:
    await wire.begin()
    await spoken(wire, answer_of(request))
    await wire.raw(b"0\r\n\r\n")


RESPONSES_ONLY = bad_request(
    "This model is only supported in v1/responses and not in v1/chat/completions.", param="model"
)
UNVERIFIED = bad_request("Your organization must be verified to stream this model.", param="stream")
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
ANTHROPIC_KEY = bad_request("invalid x-api-key", code="authentication_error")
GEMINI_KEY = [
    {
        "error": {
            "code": 400,
            "message": "API key not valid. Please pass a valid API key.",
            "status": "INVALID_ARGUMENT",
        }
    }
]
NO_CREDITS = {"error": {"code": 402, "message": "Insufficient credits. Add more at our site."}}
NO_FUNCTIONS = bad_request("deepseek-reasoner does not support Function Calling")
NO_SCHEMA = bad_request("This model does not support response format `json_schema`.")
TOOL_USE_FAILED = bad_request(
    "Failed to call a function. See 'failed_generation' for details.",
    code="tool_use_failed",
    failed_generation="<function=price>{",
)
JSON_VALIDATE_FAILED = bad_request(
    "Failed to validate JSON. See 'failed_generation' for details.",
    code="json_validate_failed",
    failed_generation="",
)
TOO_MANY_A_MINUTE = {
    "error": {
        "message": "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, "
        "Requested 9012, please reduce your message size and try again.",
        "type": "tokens",
        "code": "rate_limit_exceeded",
    }
}
OLLAMA_NO_TOOLS = bad_request("registry.ollama.ai/library/gemma3:4b does not support tools")
NEEDS_JINJA = {"error": {"code": 500, "message": "tools param requires --jinja flag"}}
GROK = {
    "code": "Client specified an invalid argument",
    "error": "Argument not supported on this model: stream_options",
}
TOOLS_AND_FORM = {
    "Gemini": [
        {
            "error": {
                "code": 400,
                "message": "Function calling with a response mime type: 'application/json' is "
                "unsupported",
                "status": "INVALID_ARGUMENT",
            }
        }
    ],
    "Groq": bad_request("json mode cannot be combined with tool/function calling"),
    "llama.cpp": bad_request("Cannot use custom grammar constraints with tools."),
}
"""How servers refuse both at once."""
