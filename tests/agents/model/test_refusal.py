"""What servers wrote when they refused a request, and what is made of it."""

from __future__ import annotations

import pytest

from agents.model.abilities import SHORT_ANSWER, ReplyForm, ServerAbilities, without_refused
from agents.model.faults import RequestRefusal, _blamed, read_refusal
from agents.model.incoming_reply import read_usage
from agents.model.interface import Usage

ASKED = 12_000


def read(status: int, body: str) -> RequestRefusal | None:
    return read_refusal(status, body, asked_tokens=ASKED)


def tried(able: ServerAbilities, refusal: RequestRefusal | None) -> ServerAbilities | None:
    assert refusal is not None
    return without_refused(able, refusal, has_temperature=True, asked_tokens=ASKED)


@pytest.mark.parametrize(
    ("body", "change"),
    [
        ('{"error": "response_format.type `json_schema` is unavailable now"}', {"form": "json"}),
        (
            '{"error": {"message": "invalid schema for response format: minItems"}}',
            {"form": "json"},
        ),
        ("property 'stream_options' is unsupported", {"counts_stream": False}),
        ("`temperature` is deprecated for this model.", {"takes_temperature": False}),
        ("System role not supported", {"takes_system": False}),
        ("Conversation roles must alternate user/assistant/user", {"takes_system": False}),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            {"limit_name": "max_completion_tokens"},
        ),
        (
            "max_tokens is too large: 12000. This model supports at most 4096 completion tokens",
            {"most_tokens": 4096},
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for "
            "`max_tokens` is less than the `context_window` for this model",
            {"most_tokens": 8192},
        ),
        ("This model's maximum context length is 8192 tokens.", {"most_tokens": 6_000}),
        ("prompt is too long: 210000 tokens > 200000 maximum", {"most_tokens": 6_000}),
        ("streaming is not supported", {"streams": False}),
        ("Request contains an invalid argument.", {"form": "json"}),
    ],
)
def test_the_part_that_is_spoken_of_is_left_out(body: str, change: dict[str, object]) -> None:
    refusal = read(400, body)
    after = tried(ServerAbilities(), refusal)
    assert after is not None
    changed = {
        name: getattr(after, name)
        for name in ServerAbilities.__struct_fields__
        if getattr(after, name) != getattr(ServerAbilities(), name)
    }
    assert changed == change


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "API key not valid. Please pass a valid API key."),
        (400, "Your credit balance is too low to access the Anthropic API."),
        (401, "response_format"),
        (403, "temperature"),
        (404, "The model `x` does not exist"),
        (404, ""),
        (429, "response_format"),
        (500, "internal error"),
        (503, "temperature"),
    ],
)
def test_what_is_about_something_else_teaches_nothing(status: int, body: str) -> None:
    assert read(status, body) is None


def test_a_context_that_is_too_short_is_given_less_and_less_until_nothing_is_left() -> None:
    asked = ASKED
    tokens = []
    while True:
        overflow = RequestRefusal(frozenset(), overflow=True)
        able = without_refused(
            ServerAbilities(), overflow, has_temperature=False, asked_tokens=asked
        )
        if able is None or able.most_tokens is None:
            break
        asked = able.most_tokens
        tokens.append(asked)
    assert tokens == [6_000, 3_000, 1_500, SHORT_ANSWER]


def test_a_server_that_names_nothing_is_tried_without_each_part_and_there_is_an_end() -> None:
    able: ServerAbilities | None = ServerAbilities()
    tries = []
    while able is not None:
        tries.append(able)
        able = tried(able, read(400, "Bad Request"))
    assert len(tries) == len(set(map(str, tries))) <= 9
    last = tries[-1]
    assert last.form is ReplyForm.TEXT
    assert (last.streams, last.limit_name, last.takes_temperature) == (False, "", False)


@pytest.mark.parametrize(
    ("status", "words", "blamed"),
    [
        (400, "API key not valid. Please pass a valid API key.", "the key"),
        (404, "This model is only supported in v1/responses.", "chats with this model"),
        (429, "You exceeded your current quota: insufficient_quota", "the account"),
        (404, "<html>nothing here</html>", "the URL"),
    ],
)
def test_what_is_not_accepted_is_named(status: int, words: str, blamed: str) -> None:
    assert _blamed(status, words.lower()).startswith(blamed)


def test_thinking_that_is_only_in_the_sum_is_counted() -> None:
    told = {"prompt_tokens": 1_000, "completion_tokens": 40, "total_tokens": 5_540}
    assert read_usage({"usage": told}) == Usage(1_000, 4_540, estimated=False)
    told["total_tokens"] = 0
    assert read_usage({"usage": told}) == Usage(1_000, 40, estimated=False)
