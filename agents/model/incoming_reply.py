"""A reply while it comes in: words, thoughts and calls of tools, put together piece by piece."""

import json
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from agents.model.faults import ModelFaults
from agents.model.interface import ModelUnavailable, Unavailability, Usage
from agents.model.reply_text import whole_text
from agents.model.tools import ToolCall

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
    # Some leave thinking out of what was completed, and have it in the sum alone.
    total = _count(_field(usage, "total_tokens")) or 0
    return Usage(tokens_in, max(tokens_out, total - tokens_in), estimated=False)


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


_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning)>", re.IGNORECASE)
_LONGEST_TAG = len("</reasoning>")


class ThinkingFilter:
    """Feed it a text as it comes, cut anywhere; it gives what is not between thinking tags."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._hidden: list[str] = []
        self.thinks = False

    @property
    def inside(self) -> bool:
        """Whether what came last was thinking."""
        return self._inside

    def feed(self, text: str) -> str:
        text = self._held + text
        said: list[str] = []
        at = 0
        for tag in _TAG.finditer(text):
            # The end of what was never begun is left in: what stands before it is thinking, too.
            stray = tag[1] and not self._inside
            self._take(text[at : tag.end() if stray else tag.start()], said)
            self._inside = not tag[1]
            self.thinks = True
            at = tag.end()
        # What may be the beginning of a tag waits for the rest of it.
        opened = text.rfind("<", max(at, len(text) - _LONGEST_TAG + 1))
        end = len(text) if opened < 0 else opened
        self._held = text[end:]
        self._take(text[at:end], said)
        return "".join(said)

    def close(self) -> str:
        """What is left; of thinking that never ended all of it, since the answer may be in it."""
        rest, self._held = self._held, ""
        if self._inside:
            return "".join(self._hidden) + rest
        return rest

    def _take(self, text: str, said: list[str]) -> None:
        (self._hidden if self._inside else said).append(text)


def after_thinking(text: str) -> str:
    """Some servers write only the tag that ends the thinking: the answer follows the last one."""
    ends = [tag.end() for tag in _TAG.finditer(text) if tag[1]]
    return text[ends[-1] :] if ends else text


class Hearers(Struct, frozen=True):
    """Who hears a reply while it is written."""

    text: Callable[[str], None]
    thought: Callable[[], None]


class ModelCompletion(Struct, frozen=True):
    raw: str
    """The answer without the thinking."""
    finish: str | None
    """`stop` or `length`; None when the stream just ended."""
    usage: Usage | None
    thought: str = ""
    streamed: bool = True
    calls: tuple[ToolCall, ...] = ()
    """Of tools, where some were offered."""


class _IncomingCall(Struct):
    first: CallPiece
    name: str
    arguments: list[str]


class IncomingReply:
    def __init__(self, most_bytes: int, hearers: Hearers, *, tools: bool) -> None:
        self._most_bytes = most_bytes
        self._hearers = hearers
        self._tools = tools
        self._filter = ThinkingFilter()
        self._pieces: list[str] = []
        self._calls: list[_IncomingCall] = []
        self._open: dict[int, _IncomingCall] = {}
        self._thoughts: list[str] = []
        self._size = 0
        self.finish: str | None = None
        self.refused = False

    def take(self, delta: Delta) -> bool:
        """Whether it was a sign of life: a word, or a thought."""
        self.finish = delta.finish or self.finish
        self.refused = self.refused or delta.refused or self.finish == "content_filter"
        text = self._filter.feed(delta.text)
        called = "".join(piece.name + piece.arguments for piece in delta.calls)
        self._size += len((text + called).encode("utf-8", "surrogatepass"))
        if self._size > self._most_bytes:
            raise ModelFaults.too_large(self._most_bytes)
        self._pieces.append(text)
        for piece in delta.calls:
            self._take_call(piece)
        # Where no tool was offered, what is called is the answer: some models reply that way.
        words = "" if self._tools else "".join(piece.arguments for piece in delta.calls[:1])
        self._hearers.text(text or words)
        if delta.thought or self._filter.inside:
            self._thoughts.append(delta.thought or delta.text)
        if delta.thought or self._filter.inside or (self._tools and called):
            self._hearers.thought()
        return bool(delta.text or delta.thought or called)

    def completion(self, usage: Usage | None) -> ModelCompletion:
        if self.refused:
            raise ModelUnavailable(
                Unavailability.REFUSED,
                "The model declined to answer.",
                written="".join((*self._pieces, *self._thoughts)),
                usage=usage,
            )
        text = after_thinking(whole_text([*self._pieces, self._filter.close()]))
        thought = "".join(self._thoughts) or ("…" if self._filter.thinks else "")
        calls = tuple(_whole_call(call, place) for place, call in enumerate(self._calls))
        called = calls[0].arguments if calls else ""
        return ModelCompletion(
            called if called and "{" not in text else text,
            self.finish,
            usage,
            thought,
            calls=calls if self._tools else (),
        )

    def _take_call(self, piece: CallPiece) -> None:
        """Pieces of one call share its index; some servers give every call the same."""
        known = self._open.get(piece.index)
        other = known and piece.call_id and known.first.call_id not in ("", piece.call_id)
        if known is None or other:
            known = _IncomingCall(piece, piece.name, [])
            self._calls.append(known)
            self._open[piece.index] = known
        known.name = known.name or piece.name
        known.arguments.append(piece.arguments)


def _whole_call(call: _IncomingCall, place: int) -> ToolCall:
    # Nine letters and figures: the one form of an id that every server takes.
    call_id = call.first.call_id or f"call{place:05}"
    return ToolCall(call.name, whole_text(call.arguments), call_id, call.first.extra)
