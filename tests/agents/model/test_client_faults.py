"""A model endpoint that fails, stalls, echoes or never ends: a reason in time, and no key told."""

import asyncio
import json
import logging
import subprocess
import sys
import traceback

import pytest
from msgspec.structs import replace

from agents.lp.payloads import SCOUT
from agents.model.connection import ModelConnections
from agents.model.faults import RequestRefusedError, TryLaterError
from agents.model.interface import ModelPrompt, ModelUnavailable, Unavailability
from tests.agents.model.asked_model import (
    GOOD,
    GOOD_TEXT,
    HASTE,
    KEY,
    LIMITS,
    Asked,
    Reply,
)
from tests.fakes.model_endpoint import (
    ChatRequest,
    Conduct,
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
from tests.virtual_time import pass_time, virtual_now


@pytest.fixture(autouse=True, scope="module")
def _load_the_library_once() -> None:
    import openai  # noqa: F401


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
        patience = {"stalled": HASTE, "timed_out": HASTE}.get(reason, LIMITS)
        asked = Asked(endpoint, limits=patience)
        before = virtual_now()
        error = await asked.fails()
        took = virtual_now() - before
    assert error.reason == reason
    assert took <= patience.total_seconds
    ours = {ModelUnavailable, RequestRefusedError, TryLaterError}
    assert _chain(error) <= {*ours, TimeoutError, asyncio.CancelledError}
    told = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
    assert KEY not in told + repr(asked.settings) + "".join(asked.prose)
    # What was thrown away may need a turn or two of the loop to end.
    for _ in range(100):
        if len(asyncio.all_tasks()) == 1:
            break
        await pass_time(0.01)
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
        before = virtual_now()
        await asked.ask()
        assert virtual_now() - before >= 0.299
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
        await pass_time(0.02)
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
                await pass_time(0.01)
        except ConnectionError:
            closed.set()

    async with model_endpoint(conduct) as endpoint:
        asked = Asked(endpoint)
        task = asyncio.create_task(asked.ask())
        await asked.heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), timeout=60)
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
from agents.model.interface import ModelSettings
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
