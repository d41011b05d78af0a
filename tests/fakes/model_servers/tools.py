"""Servers whose models look closer before they answer, each in its own way."""

import asyncio
import json
import re
from collections.abc import Mapping

from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire
from tests.fakes.model_servers.shapes import answer_of, bad_request, streamed, whole

Call = tuple[str, Mapping[str, object] | str]

_GIVEN = re.compile(r"\[(n\d+)\] (\S+(?: h| %)?)")


def looks_up(*turns: tuple[Call, ...], pieces: int = 9) -> Conduct:
    """Calls these tools, turn by turn, as OpenAI's stream does; then cites the last it was told."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        done = [one for one in request.messages if one["role"] == "assistant"]
        if not _scout_may_look(request) or len(done) >= len(turns):
            await streamed(request, wire, _citing(request))
            return
        await wire.begin()
        await wire.delta(content="Let me look {closer}.")
        for index, (name, arguments) in enumerate(turns[len(done)]):
            text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
            first = {"name": name, "arguments": ""}
            call_id = f"call_{len(done)}_{index}"
            await wire.delta(
                tool_calls=[{"index": index, "id": call_id, "type": "function", "function": first}]
            )
            for start in range(0, len(text), pieces):
                piece = {"arguments": text[start : start + pieces]}
                await wire.delta(tool_calls=[{"index": index, "function": piece}])
        await wire.delta(finish="tool_calls")
        await wire.usage()
        await wire.end()

    return conduct


async def writes_calls_as_words(request: ChatRequest, wire: Wire) -> None:
    """A model whose server does not read its calls out of the text."""
    if _scout_may_look(request) and not told(request):
        text = '<tool_call>\n{"name": "volatility", "arguments": {"hours": 48}}\n</tool_call>'
        await streamed(request, wire, text)
    else:
        await streamed(request, wire, _citing(request))


async def gives_no_ids(request: ChatRequest, wire: Wire) -> None:
    """Two calls of one index without ids, the arguments as an object, in one piece."""
    if _scout_may_look(request) and not told(request):
        functions = [{"name": "hook", "arguments": {}}, {"name": "depth", "arguments": _WIDE}]
        calls = [{"type": "function", "function": function} for function in functions]
        await whole(wire, {"content": None, "tool_calls": calls}, "tool_calls")
    else:
        await whole(wire, {"content": _citing(request)})


_WIDE = {"widthPercent": 2, "centerPercent": 1}


async def without_tools(request: ChatRequest, wire: Wire) -> None:
    """As Ollama says it of a model that was not made for tools."""
    if "tools" in request.body:
        words = "registry.ollama.ai/library/gemma3:4b does not support tools"
        await wire.status(400, bad_request(words, param=None, code=None))
    else:
        await streamed(request, wire, answer_of(request))


async def wants_its_thoughts_back(request: ChatRequest, wire: Wire) -> None:
    """Calls a tool, and refuses what follows for want of what it thought before the call."""
    if told(request):
        words = "Missing `reasoning_content` field in the assistant message at index 2."
        await wire.status(400, bad_request(words))
    else:
        await looks_up((("volatility", {"hours": 48}),))(request, wire)


async def gemini_with_signatures(request: ChatRequest, wire: Wire) -> None:
    """Streams two whole calls under one index, and wants each one's signature back."""
    if not _scout_may_look(request):
        await streamed(request, wire, answer_of(request))
        return
    signed = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
    asked = [one for one in request.messages if one["role"] == "assistant"]
    if not asked:
        await wire.begin()
        for number, (name, arguments) in enumerate((("hook", "{}"), ("depth", json.dumps(_WIDE)))):
            function = {"name": name, "arguments": arguments}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            await wire.delta(tool_calls=[{**call, **signed}])
        await wire.delta(finish="stop")
        await wire.usage()
        await wire.end()
    elif all(signed.items() <= call.items() for call in asked[0]["tool_calls"]):  # type: ignore[attr-defined]
        await streamed(request, wire, _citing(request))
    else:
        words = "Function call is missing a thought_signature in functionCall parts."
        await wire.status(400, [{"error": {"code": 400, "message": words}}])


def takes_its_time(seconds: float) -> Conduct:
    """Reads for so long before every reply, and would look up one thing after the other."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        if request.reply_name == "ScoutReply":
            await asyncio.sleep(seconds)
        await looks_up(*[(("hook", {}),)] * 9)(request, wire)

    return conduct


async def never_has_enough(request: ChatRequest, wire: Wire) -> None:
    """Calls three tools at once, as long as there are any to call."""
    if _scout_may_look(request):
        calls: tuple[Call, ...] = (("hook", {}), ("hook", {}), ("last_swaps", {"count": 1}))
        await looks_up(*[calls] * 9)(request, wire)
    else:
        await streamed(request, wire, _citing(request))


def _scout_may_look(request: ChatRequest) -> bool:
    return "tools" in request.body and request.reply_name == "ScoutReply"


def told(request: ChatRequest) -> list[str]:
    """What the tools have answered."""
    return [one["content"] for one in request.messages if one["role"] == "tool"]


def _citing(request: ChatRequest) -> str:
    """An honest answer; Scout's ends with the last number that it was given anywhere."""
    if request.reply_name != "ScoutReply":
        return answer_of(request)
    given = _GIVEN.findall("\n".join(str(one["content"]) for one in request.messages))
    name, number = given[-1]
    return json.dumps({"summary": f"Having looked closer I say {number.rstrip('.;,')} [{name}]."})
