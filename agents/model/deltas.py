"""What one piece of a reply says, in whichever of the providers' shapes it comes."""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from agents.model.interface import Usage

_MOST_TOKENS = 100_000_000  # what an endpoint may claim before we stop believing it
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_THOUGHT_BLOCKS = ("reasoning_details", "thinking_blocks")
_TEXT_TYPES = frozenset(("text", "output_text", None))
_THOUGHT_TYPES = frozenset(("thinking", "reasoning"))
_CUT_OFF = frozenset(("length", "max_tokens", "max_output_tokens", "model_length"))
_BLOCK_TEXTS = ("text", "summary", "thinking", "data")


class CallPiece(Struct, frozen=True):
    """A piece of one call of a tool."""

    index: int
    call_id: str
    name: str
    arguments: str
    extra: dict[str, object] | None = None
    """What the server wants back with the call."""


class Delta(Struct, frozen=True):
    text: str = ""
    thought: str = ""
    """What it thinks: shown as life, never as words."""
    calls: tuple[CallPiece, ...] = ()
    finish: str | None = None
    refused: bool = False


def read_delta(chunk: object) -> Delta:
    """From a piece of a stream or a whole completion; any field of either may be anything."""
    choices = _field(chunk, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    part = _field(choice, "delta") or _field(choice, "message")
    # The older completions have their text where others have a message.
    text, thought = _content(_field(part, "content") if part else _field(choice, "text"))
    finish = _field(choice, "finish_reason")
    return Delta(
        text=text,
        thought=thought or _thought(part),
        calls=_calls(part),
        finish=_finish(finish) if isinstance(finish, str) else None,
        refused=bool(_field(part, "refusal")),
    )


def read_usage(chunk: object) -> Usage | None:
    usage = _field(chunk, "usage")
    tokens_in = _count(_field(usage, "prompt_tokens"))
    tokens_out = _count(_field(usage, "completion_tokens"))
    if tokens_in is None or tokens_out is None:
        return None
    return Usage(tokens_in, tokens_out, estimated=False)


def read_error(body: object) -> object | None:
    """The error that some servers send as if it were an answer."""
    return _field(body, "error")


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _finish(word: str) -> str:
    """Why a reply ended, in OpenAI's words where others have their own."""
    return "length" if word.lower() in _CUT_OFF else word


def _content(content: object) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    blocks = content if isinstance(content, list) else ()
    thoughts = [block for block in blocks if _field(block, "type") in _THOUGHT_TYPES]
    texts = [
        block if isinstance(block, str) else _field(block, "text")
        for block in blocks
        if _field(block, "type") in _TEXT_TYPES
    ]
    return _joined(texts), _blocks_text(thoughts)


def _thought(part: object) -> str:
    for name in _THOUGHTS:
        if isinstance(said := _field(part, name), str) and said:
            return said
    for name in _THOUGHT_BLOCKS:
        if isinstance(blocks := _field(part, name), list):
            return _blocks_text(blocks)
    return ""


def _blocks_text(blocks: Iterable[object]) -> str:
    said: list[object] = []
    for block in blocks:
        for name in _BLOCK_TEXTS:
            inner = _field(block, name)
            said.append(_blocks_text(inner) if isinstance(inner, list) else inner)
    return _joined(said)


def _calls(part: object) -> tuple[CallPiece, ...]:
    calls = _field(part, "tool_calls")
    if isinstance(calls, list):
        return tuple(_piece(place, call) for place, call in enumerate(calls))
    # The older way, of one function.
    function = _field(part, "function_call")
    return () if function is None else (_piece(0, {"function": function}),)


def _piece(place: int, call: object) -> CallPiece:
    function = _field(call, "function")
    index, arguments = _field(call, "index"), _field(function, "arguments")
    extra = _field(call, "extra_content")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    return CallPiece(
        index if type(index) is int else place,
        _text(_field(call, "id")),
        _text(_field(function, "name")),
        _text(arguments),
        extra if isinstance(extra, dict) else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _joined(pieces: Iterable[object]) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None
