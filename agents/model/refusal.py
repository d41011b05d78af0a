"""Reads why a server refused a request: which part of it, in whichever words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_MOST_TEXT = 20_000
_NAMES: Mapping[str, re.Pattern[str]] = {
    "tools": re.compile(r"\btools?\b|tool.?(choice|call|use)|function.?call|reasoning_content"),
    "response_format": re.compile(
        r"response.?format|json.?schema|json_object|json mode|structured output"
        r"|json_validate_failed|failed_generation|\bgrammar\b"
    ),
    "stream_options": re.compile(r"stream_options|include_usage"),
    "temperature": re.compile(r"\btemperature\b"),
    "max_completion_tokens": re.compile(r"max_completion_tokens"),
    "max_tokens": re.compile(r"max_tokens|max_output_tokens|max tokens"),
    "system": re.compile(
        r"system (role|prompt|message|instruction)|developer instruction|role.{0,12}system"
        r"|only user and assistant roles|roles must alternate"
    ),
    "stream": re.compile(r"\bstream(ing)?\b(?!_options)"),
}
_OVERFLOW = re.compile(
    r"context.?(length|size|window)|exceed_context_size|maximum context|prompt is too long"
    r"|input token count|input is too long|reduce the length|reduce your prompt"
    r"|request too large"
)
_TOO_MANY = re.compile(r"too (large|high|big|many)|at most|maximum|less than or equal|exceed")
_KEY = re.compile(r"api.?key|unauthori[sz]ed|credit balance|billing|quota")
_UNKNOWN_MODEL = re.compile(
    r"model.{0,80}(not (found|exist)|does not exist|unknown|is not a valid)|model_not_found"
    r"|invalid model"
)
_NUMBER = re.compile(r"(?<![\w.])\d{3,7}(?![\w.])")
# These alone speak of the request without naming a part of it.
_VAGUE = frozenset((400, 415, 422))
_SPEAKING = _VAGUE | {404, 405, 413, 500, 501}


class RequestRefusal(Struct, frozen=True):
    named: frozenset[str]
    """Parameters the server's words speak of."""
    overflow: bool = False
    """Whether question and answer do not fit into the model's context."""
    most_tokens: int | None = None
    """The largest limit of a reply that it says it takes."""
    vague: bool = False
    """Whether it may be about another part of the request."""


def read_refusal(
    status: int, body: str, *, asked_tokens: int, has_tools: bool = False
) -> RequestRefusal | None:
    """What can be learned of a refusal; None where it is about something else."""
    words = body[:_MOST_TEXT].lower()
    if status not in _SPEAKING or _KEY.search(words) or _UNKNOWN_MODEL.search(words):
        return None
    named = frozenset(name for name, pattern in _NAMES.items() if pattern.search(words))
    if not has_tools:
        named -= {"tools"}
    about_limit = named & {"max_tokens", "max_completion_tokens"}
    if _OVERFLOW.search(words) and not (about_limit and "must be less" in words):
        return RequestRefusal(frozenset(), overflow=True)
    most = _most_tokens(words, asked_tokens) if about_limit else None
    vague = status in _VAGUE
    return RequestRefusal(named, most_tokens=most, vague=vague) if named or vague else None


def says_unknown_model(words: str) -> bool:
    return bool(_UNKNOWN_MODEL.search(words))


def _most_tokens(words: str, asked: int) -> int | None:
    if not _TOO_MANY.search(words):
        return None
    numbers = [int(found) for found in _NUMBER.findall(words.replace(",", ""))]
    return max((number for number in numbers if number < asked), default=None)
