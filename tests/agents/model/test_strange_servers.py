"""Servers that answer strangely, refuse or think aloud; what of it stands in the record."""

import itertools
import json
import logging
from base64 import b64encode
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agents.bus.envelope import ModelReply, Role
from agents.bus.record import FileSink, RecordWriter
from agents.bus.replay import read_record
from agents.bus.worker import Board, HandlerContext, Outgoing
from agents.lp.payloads import CRITIC, DEBATE, SCOUT, STRATEGIST
from agents.model.abilities import (
    SHORT_ANSWER,
    AbilityMemory,
    ReplyForm,
    ServerAbilities,
    without_refused,
)
from agents.model.budget import Budget, BudgetLimits
from agents.model.client import ModelWithFallback, OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.faults import RequestRefusal, _blamed, read_refusal
from agents.model.incoming_reply import ThinkingFilter, after_thinking, read_usage
from agents.model.interface import (
    Model,
    ModelLimits,
    ModelPrompt,
    ModelSettings,
    ModelUnavailable,
    PromptImage,
    RoleModels,
    Unavailability,
    Usage,
)
from agents.model.recorded import RecordedModel
from agents.model.reply_text import UnusableReplyError
from agents.model.speaking import ask_on_record
from chain.base.clean_text import Redactor
from chain.base.store import Store
from tests.agents.lp.made_up_markets import market_context
from tests.agents.lp.model_table import Table, assert_kept_well, plan_of_the_rules
from tests.agents.model.asked_model import GOOD_TEXT, PROMPT, Asked, Reply
from tests.fakes.model_endpoint import ChatRequest, Conduct, fails, model_endpoint, refuses, says
from tests.fakes.model_servers import strange
from tests.fakes.model_servers.strange import answers
from tests.virtual_time import run_virtually


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, patience=ModelLimits(), deadline=270.0, finishing=30.0)


@pytest.mark.parametrize(
    ("conduct", "calls"),
    [
        pytest.param(strange.azure, 3, id="Azure"),
        pytest.param(strange.windows_gateway, 3, id="gateway"),
        pytest.param(strange.parts_without_a_type, 3, id="parts"),
        pytest.param(strange.old_completions, 3, id="completions"),
        pytest.param(strange.numbers_as_texts, 4, id="numbers as texts"),
        pytest.param(strange.wraps_its_answer, 6, id="wrapped"),
        pytest.param(strange.forbids_stream_options, 4, id="no stream_options"),
        pytest.param(strange.refuses_in_its_stream, 6, id="refusal in the stream"),
        pytest.param(strange.still_loading(), 11, id="loading"),
    ],
)
def test_a_strange_server_debates_to_the_end(table: Table, conduct: Conduct, calls: int) -> None:
    async def debates() -> None:
        held = await table.hold(conduct)
        assert held.silences == []
        assert len(held.requests) == calls
        said = {turn.role for turn in held.ended.transcript if turn.thought.cited}
        assert said == {SCOUT, STRATEGIST, CRITIC}
        await assert_kept_well(held, "")

    run_virtually(debates())


@pytest.mark.parametrize(
    ("conduct", "reason", "hint", "calls"),
    [
        (answers(404, strange.OLLAMA_UNKNOWN), Unavailability.REJECTED, "model's name", 1),
        (answers(404, b"404 page not found", "text/plain"), Unavailability.REJECTED, "/v1", 1),
        (answers(200, strange.PAGE, "text/html"), Unavailability.MALFORMED, "URL", 1),
        (answers(502, strange.PAGE, "text/html"), Unavailability.SERVER_ERROR, "HTTP 502", 3),
        (answers(308, b""), Unavailability.REJECTED, "URL", 1),
        (answers(401, {"detail": "Unauthorized"}), Unavailability.REJECTED, "key", 1),
        (answers(429, strange.EMPTY_ACCOUNT), Unavailability.REJECTED, "account", 1),
    ],
)
def test_what_cannot_debate_says_why_in_a_sentence(
    table: Table, conduct: Conduct, reason: Unavailability, hint: str, calls: int
) -> None:
    async def debates() -> None:
        context = market_context("outside")
        held = await table.hold(conduct, context)
        replies = list(read_record(held.path).replies().values())
        assert {reply.unavailable for reply in replies} == {reason}
        assert len(held.requests) == calls * len(replies)
        assert all(hint in silence for silence in held.silences)
        assert held.plan == await plan_of_the_rules(context)
        await assert_kept_well(held, "")

    run_virtually(debates())


ANSWER = '{"words": "a < b"}'


def filtered(pieces: list[str]) -> str:
    thinking = ThinkingFilter()
    said = "".join(thinking.feed(piece) for piece in pieces)
    return after_thinking(said + thinking.close())


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ANSWER, ANSWER),
        (f"<think>first {{this}}</think>{ANSWER}", ANSWER),
        (f"<THINKING>a</THINKING>{ANSWER}", ANSWER),
        (f"<think>a</think>{ANSWER}<think>b</think>", ANSWER),
        (f"so, {{this}} it is</think>{ANSWER}", ANSWER),
        (f"<think>never closed {ANSWER}", f"never closed {ANSWER}"),
        ("a <thing> and <thi", "a <thing> and <thi"),
    ],
)
@given(places=st.lists(st.integers(0, 200), max_size=8))
def test_however_it_is_cut(text: str, answer: str, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    assert filtered([text[start:end] for start, end in pairwise(edges)]) == answer


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


PNG = b"\x89PNG a picture"


async def asked(first: Conduct, second: Conduct, role: Role = SCOUT) -> str:
    async with (
        model_endpoint(first) as one,
        model_endpoint(second) as other,
        ModelConnections() as connections,
    ):
        model = ModelWithFallback(
            Asked(one, model="claude-one").model(connections),
            Asked(other, model="gemini-two").model(connections),
            {SCOUT},
        )
        return (await model.ask(role, PROMPT, Reply, lambda _: None)).model


async def test_when_an_api_fails_another_model_answers_and_is_named() -> None:
    assert await asked(fails(401), says(GOOD_TEXT)) == "gemini-two"
    assert await asked(says(GOOD_TEXT), fails(500)) == "claude-one"


@pytest.mark.parametrize(
    ("role", "first", "reason"),
    [
        (CRITIC, fails(401), Unavailability.REJECTED),
        (SCOUT, says("no such form"), Unavailability.INVALID),
    ],
)
async def test_a_role_without_one_and_a_bad_answer_go_to_nobody_else(
    role: Role, first: Conduct, reason: Unavailability
) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        await asked(first, says(GOOD_TEXT), role)

    assert failed.value.reason is reason


async def test_both_failing_says_why_of_both() -> None:
    with pytest.raises(ModelUnavailable) as failed:
        await asked(fails(401), fails(403))

    assert str(failed.value).count(".") >= 2


async def test_a_picture_goes_beside_the_words_and_into_the_hash() -> None:
    async with model_endpoint(says(GOOD_TEXT)) as endpoint, ModelConnections() as connections:
        seen = ModelPrompt("Look.", "What is it?", PromptImage("ab12", PNG))
        await Asked(endpoint).model(connections).ask(SCOUT, seen, Reply, lambda _: None)

    [request] = endpoint.requests
    content: object = request.messages[1]["content"]
    url = f"data:image/png;base64,{b64encode(PNG).decode()}"
    assert content == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    assert seen.digest == ModelPrompt("Look.", "What is it?", PromptImage("ab12")).digest
    assert seen.digest != ModelPrompt("Look.", "What is it?").digest


KEY = "sk-canary-THE-KEY-0123456789abcdef"
ROLES = (SCOUT, SCOUT, CRITIC, SCOUT, CRITIC)


class Opinion(BaseModel):
    prose: str
    width: float


def tells_all(request: ChatRequest) -> object:
    """A hostile endpoint: everything it was sent, in the words of the model."""
    leaked = f"{request.headers['authorization']} https://rpc.example.com/v2/abcdef0123 \x1b[31m"
    return {"prose": leaked, "width": 1.5}


async def interview(model: Model, say: Callable[[Role, Outgoing], None]) -> list[str]:
    """The answers to a few questions, or why there was none; each reply is said."""
    contexts = {role: asked_by(role, say) for role in ROLES}
    said = []
    for index, role in enumerate(ROLES):
        prompt = ModelPrompt("s", f"q{index}")
        try:
            answer = await ask_on_record(contexts[role], model, prompt, Opinion)
            said.append(f"{answer.value!r} {answer.usage} {answer.model} {answer.raw}")
        except ModelUnavailable as error:
            said.append(f"{error.reason}: {error}")
    return said


def asked_by(role: Role, say: Callable[[Role, Outgoing], None]) -> HandlerContext[None]:
    async def saying(outgoing: Outgoing) -> None:
        say(role, outgoing)

    return HandlerContext(
        "req_1", role, None, saying, lambda _: None, Board(DEBATE.roles), itertools.count()
    )


async def test_replies_come_back_from_the_record_as_they_were(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "req_1.jsonl"
    limits = ModelLimits(attempts=1)
    wide = json.dumps({"prose": "wide · ✓", "width": 2.5})
    conducts = (says(tells_all), refuses(), says(wide), fails(500), says(tells_all, tokens=None))
    async with model_endpoint(*conducts) as endpoint:
        settings = ModelSettings(api_key=KEY, base_url=endpoint.url, limits=limits)
        writer = RecordWriter(FileSink(path), "req_1", {}, Redactor((KEY, endpoint.url)), flow="lp")
        budget = Budget(BudgetLimits(), {}, Store.in_memory(), clock=lambda: 0.0).debate()
        memory = AbilityMemory(Store.in_memory(), lambda: 0.0)
        async with ModelConnections() as connections:
            live = OpenAIModel(RoleModels(settings), connections, budget, memory, clock=lambda: 0.0)

            def record(role: Role, reply: Outgoing) -> None:
                writer.envelope(
                    DEBATE.seal(
                        "req_1",
                        sender=role,
                        recipient=reply.to,
                        kind=reply.kind,
                        payload=reply.payload,
                        ts=0,
                    )
                )

            said = await interview(live, record)
        writer.close()
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert [line[:12] for line in said] == [
        *("Opinion(pros", "refused: The", "Opinion(pros", "server_error", "Opinion(pros")
    ]

    kept = read_record(path)
    assert list(kept.replies()) == [
        *(("scout", 0), ("scout", 1), ("critic", 0), ("scout", 2), ("critic", 1))
    ]
    assert await interview(RecordedModel(kept.replies()), lambda _role, _reply: None) == said

    everything = path.read_bytes().decode() + "".join(said) + caplog.text
    for secret in (KEY, "abcdef0123", endpoint.url, "\x1b", "\\u001b"):
        assert secret not in everything


@pytest.mark.parametrize("raw", ['{"prose": "x"}', "{}", "not JSON"])
async def test_a_recorded_reply_of_another_schema_is_an_error(raw: str) -> None:
    reply = ModelReply(
        step=0,
        prompt="",
        model="any",
        raw=raw,
        unavailable=None,
        sentence=None,
        tokens_in=1,
        tokens_out=1,
        estimated=False,
    )
    with pytest.raises(UnusableReplyError):
        await RecordedModel({(SCOUT, 0): reply}).ask(
            SCOUT, ModelPrompt("s", "q"), Opinion, lambda _: None
        )
