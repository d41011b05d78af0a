"""The model client against a real HTTP server: an answer or a reason, always in time."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING, Annotated, Literal

import pytest
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from agents.lp.payloads import CRITIC, SCOUT
from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.faults import RequestRefusedError, TryLaterError
from agents.model.interface import Answer, ModelPrompt, ModelUnavailable, Unavailability
from agents.model.settings import ModelLimits, ModelSettings, RoleModels
from chain.base.store import Store
from tests.fakes.model_endpoint import (
    ChatRequest,
    Wire,
    disconnects,
    drips,
    ends_early,
    fails,
    keeps_alive_for_ever,
    model_endpoint,
    never_answers,
    refuses,
    says,
    sends,
    stalls,
)

if TYPE_CHECKING:
    from agents.bus.envelope import Role
    from tests.fakes.model_endpoint import Conduct, ModelEndpoint

KEY = "sk-canary-THE-KEY-0123456789abcdef"
PROMPT = ModelPrompt("You are Scout.", "Volatility is [n1] 3.2 %.")
LIMITS = ModelLimits(total_seconds=12, first_seconds=10, stall_seconds=10, attempts=2)
HASTE = ModelLimits(total_seconds=1.0, first_seconds=0.3, stall_seconds=0.2)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    width: Annotated[float, Field(ge=0.3, le=3.5)]
    kind: Literal["tighten", "widen"]


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prose: Annotated[str, Field(max_length=220)]
    shapes: Annotated[list[Shape], Field(min_length=1, max_length=5)]


GOOD = {"prose": "Calm · so widen.\n“Yes” 😀", "shapes": [{"width": 1.4, "kind": "widen"}]}
GOOD_TEXT = json.dumps(GOOD)
WIDE = {"prose": "I want more.", "shapes": [{"width": 9.9, "kind": "widen"}]}


class Asked:
    """One question to one endpoint, and everything that could have leaked on the way."""

    def __init__(self, endpoint: ModelEndpoint, **changes: object) -> None:
        self.endpoint = endpoint
        self.prose: list[str] = []
        self.heard = asyncio.Event()
        self.first_word: float | None = None
        self.settings = replace(
            ModelSettings(api_key=KEY, base_url=endpoint.url, limits=LIMITS),
            **changes,
        )
        self.roles: dict[Role, ModelSettings] = {}
        self.thinking: list[tuple[Role, float]] = []
        self.memory = Store.in_memory()
        budget = Budget(BudgetLimits(), {}, self.memory, clock=lambda: 0.0)
        self.budget = budget.debate()

    async def ask(self, role: Role = SCOUT) -> Answer[Reply]:
        async with ModelConnections() as connections:
            return await self.model(connections).ask(role, PROMPT, Reply, self._hear)

    def model(self, connections: ModelConnections) -> OpenAIModel:
        return OpenAIModel(
            RoleModels(self.settings, self.roles),
            connections,
            self.budget,
            AbilityMemory(self.memory, lambda: 1_700_000_000.0),
            clock=lambda: 1_700_000_000.0,
            on_thinking=lambda *told: self.thinking.append(told),
        )

    def _hear(self, text: str) -> None:
        self.first_word = self.first_word or time.monotonic()
        self.prose.append(text)
        self.heard.set()

    async def fails(self) -> ModelUnavailable:
        try:
            answer = await self.ask()
        except ModelUnavailable as error:
            return error
        pytest.fail(f"there was an answer: {answer}")


@pytest.fixture(autouse=True, scope="module")
def _load_the_library_once() -> None:
    import openai  # noqa: F401


async def test_an_answer_streams_its_prose_and_is_checked() -> None:
    async with model_endpoint(says(GOOD_TEXT, size=3)) as endpoint:
        asked = Asked(endpoint)
        answer = await asked.ask()
    assert answer.value == Reply(
        prose="Calm · so widen. “Yes” 😀", shapes=[Shape(width=1.4, kind="widen")]
    )
    assert "".join(asked.prose) == answer.value.prose
    assert len(asked.prose) > 5
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (120, 45)
    assert not answer.usage.estimated
    assert json.loads(answer.raw) == {**GOOD, "prose": answer.value.prose}
    assert asked.budget.report().debate.tokens == 165


async def test_prose_arrives_before_the_answer_is_complete() -> None:
    async with model_endpoint(says(GOOD_TEXT, size=8, pause=0.02)) as endpoint:
        asked = Asked(endpoint)
        await asked.ask()
        done = time.monotonic()
    assert asked.first_word is not None
    assert done - asked.first_word > 0.1


async def test_what_is_sent() -> None:
    async with model_endpoint(says(GOOD_TEXT)) as endpoint:
        asked = Asked(endpoint, model="any")
        asked.roles[CRITIC] = replace(asked.settings, model="careful-one", temperature=0.25)
        await asked.ask(CRITIC)
        await asked.ask()
    critic, scout = endpoint.requests
    assert (critic.model, scout.model) == ("careful-one", "any")
    assert critic.headers["authorization"] == f"Bearer {KEY}"
    assert critic.headers["accept-encoding"] == "identity"
    assert critic.messages == [
        {"role": "system", "content": PROMPT.system},
        {"role": "user", "content": PROMPT.user},
    ]
    assert critic.body["stream"] is True
    assert critic.body["temperature"] == 0.25
    assert "temperature" not in scout.body
    assert critic.body["max_tokens"] == 4000
    assert critic.schema["strict"] is True
    assert critic.schema["schema"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["prose", "shapes"],
        "properties": {
            "prose": {"type": "string", "description": "at most 220 characters"},
            "shapes": {
                "type": "array",
                "items": {"$ref": "#/$defs/Shape"},
                "description": "at least 1 items, at most 5 items",
            },
        },
        "$defs": {
            "Shape": {
                "type": "object",
                "additionalProperties": False,
                "required": ["width", "kind"],
                "properties": {
                    "width": {"type": "number", "description": "at least 0.3, at most 3.5"},
                    "kind": {"type": "string", "enum": ["tighten", "widen"]},
                },
            }
        },
    }


async def test_each_role_asks_its_own_server_with_its_own_key_and_none_is_quoted() -> None:
    other = "sk-canary-ANOTHER-0123456789"
    echo = json.dumps({**GOOD, "prose": f"{KEY} and {other}."})
    async with model_endpoint(says(echo)) as first, model_endpoint(says(echo)) as second:
        asked = Asked(first)
        asked.roles[CRITIC] = replace(asked.settings, base_url=second.url, api_key=other)
        answers = [await asked.ask(role) for role in (SCOUT, CRITIC)]
    assert [request.headers["authorization"] for request in first.requests] == [f"Bearer {KEY}"]
    assert [request.headers["authorization"] for request in second.requests] == [f"Bearer {other}"]
    for answer in answers:
        assert answer.value.prose == "[redacted] and [redacted]."


async def test_a_role_without_a_key_is_told_so_and_nobody_is_asked() -> None:
    async with model_endpoint(says(GOOD_TEXT)) as endpoint:
        error = await Asked(endpoint, api_key="").fails()
    assert error.reason == Unavailability.NOT_SET
    assert endpoint.requests == []


async def test_a_server_without_a_sign_of_life_is_not_asked_again_and_the_others_are() -> None:
    async with model_endpoint(never_answers()) as dead, model_endpoint(says(GOOD_TEXT)) as alive:
        asked = Asked(dead, limits=HASTE)
        asked.roles[CRITIC] = replace(asked.settings, base_url=alive.url, limits=LIMITS)
        async with ModelConnections() as connections:
            model = asked.model(connections)
            for _ in range(2):
                with pytest.raises(ModelUnavailable) as silent:
                    await model.ask(SCOUT, PROMPT, Reply, asked.prose.append)
                assert silent.value.reason == Unavailability.STALLED
            await model.ask(CRITIC, PROMPT, Reply, asked.prose.append)
    assert (len(dead.requests), len(alive.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("first", "complaint"),
    [
        pytest.param(json.dumps(WIDE), "shapes.0.width: Input should be less than", id="bounds"),
        pytest.param(GOOD_TEXT[:-9], "not one JSON object", id="truncated"),
        pytest.param("I would widen it.", "not one JSON object", id="no JSON"),
        pytest.param('{"prose": "a", "prose": "b"}', "appears twice", id="duplicate keys"),
        pytest.param('{"prose": "hm"}', "shapes: Field required", id="missing"),
        pytest.param(
            json.dumps({**GOOD, "address": "0x" + "ab" * 20}), "address: Extra", id="extra"
        ),
        pytest.param(
            GOOD_TEXT.replace("1.4", '"1.4"'), "shapes.0.width: Input should be", id="wrong type"
        ),
        pytest.param(GOOD_TEXT.replace("1.4", "NaN"), "NaN", id="NaN"),
        pytest.param("[" * 5000, "nested too deeply", id="deep"),
        pytest.param("", "empty", id="nothing"),
    ],
)
async def test_a_useless_reply_is_told_why_and_asked_once_more(first: str, complaint: str) -> None:
    async with model_endpoint(says(first), says(GOOD_TEXT)) as endpoint:
        asked = Asked(endpoint)
        answer = await asked.ask()
    assert answer.value.shapes[0].width == 1.4
    assert answer.usage.tokens_out == 90
    repair = endpoint.requests[1].messages
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert complaint in repair[-1]["content"]
    assert "Calm" not in "".join(asked.prose[len(first) :])


async def test_a_reply_cut_at_its_limit_is_asked_for_a_shorter_one() -> None:
    async with model_endpoint(says(GOOD_TEXT[:20], finish="length"), says(GOOD_TEXT)) as endpoint:
        await Asked(endpoint).ask()
    assert "write much less" in endpoint.requests[1].messages[-1]["content"]


async def test_two_useless_replies_are_enough() -> None:
    async with model_endpoint(says(json.dumps(WIDE))) as endpoint:
        error = await Asked(endpoint).fails()
    assert error.reason == Unavailability.INVALID
    assert len(endpoint.requests) == 2


async def test_another_language_is_an_answer_and_hostile_text_is_cleaned() -> None:
    hostile = "市场平静。\x1b]52;c;ZXZpbA==\x07\u202e[@click=app.quit]apply\u200b\x9b31m"
    async with model_endpoint(says(json.dumps({**GOOD, "prose": hostile}), size=1)) as endpoint:
        asked = Asked(endpoint)
        answer = await asked.ask()
    clean = "市场平静。]52;c;ZXZpbA==[@click=app.quit]apply31m"
    assert answer.value.prose == clean
    assert "".join(asked.prose) == clean


async def _spells_surrogates(request: ChatRequest, wire: Wire) -> None:
    """One emoji cut into its two halves, each in a chunk of its own."""
    await wire.begin()
    await wire.delta(content='{"prose": "up ')
    for half in ("\\ud83d", "\\ude00"):
        text = json.dumps({"choices": [{"delta": {"content": "HALF"}}]}).replace("HALF", half)
        await wire.event(text)
    await wire.delta(content=' \\ud83d\\ude00 \\ud83d"' + GOOD_TEXT[GOOD_TEXT.index(', "shapes') :])
    await wire.delta(finish="stop")
    await wire.end()


async def test_characters_cut_in_two_are_made_whole() -> None:
    async with model_endpoint(_spells_surrogates, says(GOOD_TEXT)) as endpoint:
        asked = Asked(endpoint)
        await asked.ask()
    assert "".join(asked.prose) == "up 😀 😀 \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("conduct", "reason"),
    [
        pytest.param(refuses(), Unavailability.REFUSED, id="refusal"),
        pytest.param(says(GOOD_TEXT, finish="content_filter"), "refused", id="filtered"),
        pytest.param(says("x" * 1_000_000, size=9000), "too_large", id="1 MB reply"),
        pytest.param(says("x" * 1_000_000, size=10**6), "too_large", id="1 MB at once"),
        pytest.param(sends(b"x" * (9 << 20)), "too_large", id="9 MB of no event"),
        pytest.param(fails(400), "rejected", id="400"),
        pytest.param(fails(401), "rejected", id="401"),
        pytest.param(fails(404), "rejected", id="404"),
        pytest.param(fails(307, {"Location": "http://127.0.0.1:9/v1"}), "rejected", id="307"),
        pytest.param(fails(429, {"Retry-After": "60"}), "rate_limited", id="429 for long"),
        pytest.param(fails(429, {"Retry-After": "0"}), "rate_limited", id="429 for ever"),
        pytest.param(fails(500, {"Retry-After": "0"}), "server_error", id="500 for ever"),
        pytest.param(fails(500, body=b"\xff" * 5000), "server_error", id="500 in bytes"),
        pytest.param(stalls(), "stalled", id="stall mid-stream"),
        pytest.param(stalls(after=""), "stalled", id="stall before a word"),
        pytest.param(never_answers(), "stalled", id="no answer"),
        pytest.param(keeps_alive_for_ever(), "stalled", id="comments for ever"),
        pytest.param(drips("ab ", 0.02), "timed_out", id="slow drip"),
        pytest.param(disconnects(), "disconnected", id="disconnect"),
        pytest.param(ends_early(), "disconnected", id="ends early"),
        pytest.param(sends(b"data: \xff\xfe\n\n"), "malformed", id="not UTF-8"),
        pytest.param(sends(b"data: {broken\n\n"), "malformed", id="broken event"),
        pytest.param(sends(b"data: " + b"[" * 99999 + b"\n\n"), "malformed", id="deep event"),
        pytest.param(sends(b'data: {"error":{"message":"x"}}\n\n'), "server_error", id="error"),
        pytest.param(sends(b'{"choices": []}'), "disconnected", id="no stream"),
        pytest.param(sends(b"data: 5\n\n", b"data: []\n\n"), "disconnected", id="odd events"),
        pytest.param(
            sends(b'data: {"choices":[{"delta":{"content":7}}]}\n\n'), "disconnected", id="odd"
        ),
        pytest.param(
            sends(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "malformed", id="gzip"
        ),
    ],
)
async def test_whatever_the_endpoint_does_ends_in_a_reason_in_time_and_without_the_key(
    conduct: Conduct,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with model_endpoint(conduct) as endpoint:
        patience = HASTE if reason in ("stalled", "timed_out") else LIMITS
        asked = Asked(endpoint, limits=patience)
        before = time.monotonic()
        error = await asked.fails()
        took = time.monotonic() - before
    assert error.reason == reason
    assert took < patience.total_seconds + 0.5
    ours = {ModelUnavailable, RequestRefusedError, TryLaterError}
    assert _chain(error) <= {*ours, TimeoutError, asyncio.CancelledError}
    told = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
    assert KEY not in told + repr(asked.settings) + "".join(asked.prose)
    await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) == 1


def _chain(error: BaseException | None) -> set[type[BaseException]]:
    """The kinds of every exception that travels along: the library's hold the request's headers."""
    kinds: set[type[BaseException]] = set()
    while error is not None:
        kinds.add(type(error))
        error = error.__cause__ or error.__context__
    return kinds


async def test_an_endpoint_that_is_not_there() -> None:
    async with model_endpoint(says("")) as endpoint:
        pass
    asked = Asked(endpoint)
    error = await asked.fails()
    assert error.reason == Unavailability.UNREACHABLE
    assert "127.0.0.1" in str(error)
    assert asked.budget.report().debate.tokens == 0


@pytest.mark.parametrize("header", [("Retry-After", "0.3"), ("retry-after-ms", "300")])
@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_busy_endpoint_is_asked_again_when_it_says(
    code: int, header: tuple[str, str]
) -> None:
    async with model_endpoint(fails(code, dict([header])), says(GOOD_TEXT)) as endpoint:
        asked = Asked(endpoint)
        before = time.monotonic()
        await asked.ask()
        assert time.monotonic() - before >= 0.3
    assert asked.budget.report().debate.tokens == 165


async def test_a_date_to_come_back_at_is_understood() -> None:
    too_late = {"Retry-After": "Tue, 14 Nov 2023 23:13:20 GMT"}
    now = {"Retry-After": "Tue, 14 Nov 2023 22:13:20 GMT"}
    async with model_endpoint(fails(429, too_late)) as endpoint:
        assert (await Asked(endpoint).fails()).reason == Unavailability.RATE_LIMITED
        assert len(endpoint.requests) == 1
    async with model_endpoint(fails(429, now), says(GOOD_TEXT)) as endpoint:
        await Asked(endpoint).ask()


@pytest.mark.parametrize("ending", ["stall", "vanish"])
async def test_an_answer_is_complete_with_its_last_word(ending: str) -> None:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        await wire.delta(content=GOOD_TEXT)
        await wire.delta(finish="stop")
        await asyncio.sleep(0.02)
        if ending == "vanish":
            wire.vanish()
        else:
            await asyncio.Event().wait()

    async with model_endpoint(conduct) as endpoint:
        answer = await Asked(endpoint, limits=replace(LIMITS, stall_seconds=0.2)).ask()
    assert answer.value.shapes[0].width == 1.4
    assert answer.usage.estimated


async def test_cancelling_closes_the_connection_and_keeps_the_reservation() -> None:
    closed = asyncio.Event()

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        await wire.delta(content='{"prose": "well')
        try:
            while True:
                await wire.piece(b": \n\n")
                await asyncio.sleep(0.01)
        except ConnectionError:
            closed.set()

    async with model_endpoint(conduct) as endpoint:
        asked = Asked(endpoint)
        task = asyncio.create_task(asked.ask())
        await asked.heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), timeout=1)
    assert asked.budget.report().debate.tokens > 4000


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("hidden", ["", "\u200b"])
async def test_an_endpoint_that_echoes_the_key_is_not_quoted(size: int, hidden: str) -> None:
    key = f"{KEY[:9]}{hidden}{KEY[9:]}"
    echo = {**GOOD, "prose": f"Your key is {key}, sk-canary-THE- is its start."}
    async with model_endpoint(says(json.dumps(echo), size=size)) as endpoint:
        asked = Asked(endpoint)
        answer = await asked.ask()
    expected = "Your key is [redacted], sk-canary-THE- is its start."
    assert answer.value.prose == "".join(asked.prose) == expected
    assert KEY not in answer.raw


@pytest.mark.parametrize("tokens", [None, (-1, 5), (10**12, 5), ("many", 5)])
async def test_a_silent_or_absurd_count_is_replaced_by_our_own(
    tokens: tuple[object, object] | None,
) -> None:
    async with model_endpoint(says(GOOD_TEXT, tokens=tokens)) as endpoint:
        asked = Asked(endpoint)
        answer = await asked.ask()
    assert answer.usage.estimated
    assert asked.budget.report().debate.tokens == answer.usage.tokens_in + answer.usage.tokens_out
    assert answer.usage.tokens_out > len(GOOD_TEXT) / 2


async def test_questions_at_once_share_one_connection_and_do_not_mix() -> None:
    def echo(request: ChatRequest) -> object:
        return {**GOOD, "prose": request.messages[1]["content"]}

    async with model_endpoint(says(echo, pause=0.001)) as endpoint:
        asked = Asked(endpoint)
        heard: dict[int, list[str]] = {index: [] for index in range(12)}
        async with ModelConnections() as connections:
            model = asked.model(connections)
            answers = await asyncio.gather(
                *(
                    model.ask(SCOUT, ModelPrompt("s", f"question {i}"), Reply, heard[i].append)
                    for i in range(12)
                )
            )
    for index, answer in enumerate(answers):
        assert answer.value.prose == "".join(heard[index]) == f"question {index}"


LOADING = """
import asyncio, sys, time
import agents.model.client
from agents.model.connection import ModelConnections
from agents.model.settings import ModelSettings
assert not {"openai", "httpx2"} & sys.modules.keys()

async def main():
    longest, done = 0.0, asyncio.Event()

    async def tick():
        nonlocal longest
        while not done.is_set():
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            longest = max(longest, time.perf_counter() - before)

    ticking = asyncio.create_task(tick())
    before = time.perf_counter()
    settings = ModelSettings(api_key="none")
    async with ModelConnections() as connections:
        await asyncio.gather(connections.client(settings), connections.client(settings))
    took = time.perf_counter() - before
    done.set()
    await ticking
    print(took, longest)

asyncio.run(main())
"""


def test_loading_the_library_does_not_stop_the_event_loop() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=True, timeout=60
    )
    took, longest = map(float, run.stdout.split())
    assert longest < took / 3
