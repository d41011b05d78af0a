"""A zoo of servers, each with its provider's shapes and faults: who debates to the end.

None is given a setting besides its URL, a key and a model's name. `pytest -s` prints the table.
"""

import dataclasses
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from agents.bus.replay import read_record
from agents.lp.payloads import CRITIC, SCOUT, STRATEGIST
from agents.model.abilities import (
    AbilityMemory,
    FormBesideTools,
    ReplyForm,
    ServerAbilities,
)
from agents.model.interface import ModelLimits, ModelSettings, Unavailability
from agents.model.speaking import CUT_QUESTION
from tests.agents.lp.made_up_markets import market_context
from tests.agents.lp.model_table import A_CALL, MODEL, Table, assert_kept_well, plan_of_the_rules
from tests.fakes.model_endpoint import (
    ChatRequest,
    Conduct,
    Wire,
    drips,
    ends_early,
    never_answers,
    refuses,
)
from tests.fakes.model_servers import habits, hosted, local, strange
from tests.fakes.model_servers.habits import asks_for, asks_form, at_first, refusing
from tests.fakes.model_servers.shapes import THINKING, bad_request
from tests.fakes.model_servers.tools import looks_up
from tests.samples import some_of
from tests.virtual_time import run_virtually
from zuno_tui.app.model import ability_words

PATIENCE = ModelLimits()
QUESTIONS = 3
NOW = 1_768_000_000.0


class ZooServer(NamedTuple):
    name: str
    conduct: Conduct
    calls: int
    """To the end of its first debate, refusals included."""
    able: ServerAbilities
    """What was found out of it."""


def able(form: str = "schema", **changes: object) -> ServerAbilities:
    changes = {"form_beside_tools": FormBesideTools.UNSEEN, **changes}
    return ServerAbilities(form=ReplyForm(form), form_tried=True, **changes)  # type: ignore[arg-type]


def apart(form: str = "schema", **changes: object) -> ServerAbilities:
    """It refused tools and a form at once: the form is asked for when the tools were offered."""
    return able(form, form_beside_tools=FormBesideTools.NO, **changes)


ZOO = [
    ZooServer(
        "OpenAI, reasoning",
        hosted.openai_reasoning,
        5,
        able(limit_name="max_completion_tokens", thinks=True),
    ),
    ZooServer("Anthropic", hosted.anthropic, 4, able("json")),
    ZooServer("Gemini", hosted.gemini, 6, apart("json")),
    ZooServer("Gemma on Gemini", hosted.gemma, 8, apart("text", takes_system=False)),
    ZooServer("OpenRouter", hosted.openrouter, 3, able(thinks=True)),
    ZooServer("DeepSeek", hosted.deepseek, 6, apart("json", thinks=True)),
    ZooServer("Groq", hosted.groq, 7, apart("text", thinks=True)),
    ZooServer("Mistral", hosted.mistral, 4, able(counts_stream=False, thinks=True)),
    ZooServer("Ollama, slow", local.ollama_on_a_slow_machine, 3, able(thinks=True)),
    ZooServer("LM Studio", local.lm_studio, 3, able()),
    ZooServer("vLLM, thinking", local.vllm_thinking, 3, able(thinks=True)),
    ZooServer("vLLM, 4k context", local.vllm_short_of_context(4096), 4, able(most_tokens=2_000)),
    ZooServer("llama.cpp", local.llama_cpp, 6, apart("json")),
    ZooServer("no streaming", local.without_streams, 4, able(streams=False)),
    ZooServer("deaf to stream", local.deaf_to_streams, 3, able(streams=False, thinks=True)),
    ZooServer("calls tools", local.caller_of_tools, 3, able(form_beside_tools=FormBesideTools.YES)),
    ZooServer("429, Retry-After 20", local.busy_at_first(20), 6, able()),
    ZooServer("OpenAI, o1-mini", hosted.o1_mini, 4, able(takes_system=False)),
    ZooServer("OpenRouter, no provider", hosted.openrouter_without_a_provider, 7, apart("text")),
    ZooServer("Gemini, per minute", hosted.gemini_per_minute(34), 6, able()),
]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, patience=PATIENCE, deadline=270.0, finishing=30.0)


@pytest.mark.parametrize(
    "server", some_of(((server,) for server in ZOO), 8, seed=44), ids=lambda server: server.name
)
def test_a_server_debates_to_the_end_with_its_model(table: Table, server: ZooServer) -> None:
    async def debates() -> None:
        first = await table.hold(server.conduct)
        tell(server.name, len(first.requests), found(table, first.url))
        assert first.silences == []
        assert len(first.requests) == server.calls
        said = {turn.role for turn in first.ended.transcript if turn.thought.cited}
        assert said == {SCOUT, STRATEGIST, CRITIC}
        assert first.plan.decided_by == "critic"
        assert found(table, first.url) == server.able
        await assert_kept_well(first, "")

    run_virtually(debates())


@pytest.mark.parametrize(
    ("conduct", "questions"),
    [
        (hosted.deepseek, QUESTIONS + 1),
        (hosted.groq, QUESTIONS),
        (local.without_streams, QUESTIONS),
    ],
)
def test_what_a_server_can_do_is_found_out_once(
    table: Table, conduct: Conduct, questions: int
) -> None:
    """Where tools and a form are not taken at once, Scout's form is asked for afterwards."""

    async def debates() -> None:
        first = await table.hold(conduct)
        port = port_of(first.url)
        # With tools alone once more, where both were taken and nothing was called.
        await table.hold(conduct, port=port)
        learned = found(table, first.url)
        again = await table.hold(conduct, port=port)
        assert len(again.requests) == questions < len(first.requests)
        assert found(table, again.url) == learned

    run_virtually(debates())


def test_a_refusal_that_contradicts_what_is_remembered_makes_it_learn_anew(table: Table) -> None:
    async def debates() -> None:
        first = await table.hold(hosted.deepseek)
        assert found(table, first.url) == apart("json", thinks=True)
        # Another server listens there now: it takes schemas, and no JSON without one.
        again = await table.hold(local.lm_studio, port=port_of(first.url))
        assert again.silences == []
        forms = [request.form for request in again.requests]
        # Scout is offered tools without a form, then held to one.
        assert forms == ["text", "json_object", *["json_schema"] * 3]
        assert found(table, again.url) == able(form_beside_tools=FormBesideTools.UNTRIED)

    run_virtually(debates())


def test_what_is_remembered_for_a_week_is_found_out_again(table: Table) -> None:
    async def debates() -> None:
        first = await table.hold(hosted.deepseek)
        settings = ModelSettings("", first.url, MODEL)
        for days, known in ((6, True), (8, False), (-1, False)):
            later = AbilityMemory(table.store, lambda days=days: NOW + days * 86_400)  # type: ignore[misc]
            assert (later.recall(settings) is not None) is known
        another = replace(settings, model="another")
        assert AbilityMemory(table.store, lambda: NOW).recall(another) is None

    run_virtually(debates())


@pytest.mark.parametrize("conduct", [hosted.openai_reasoning, hosted.anthropic])
def test_a_temperature_that_is_refused_is_left_out(table: Table, conduct: Conduct) -> None:
    async def debates() -> None:
        held = await dataclasses.replace(table, temperature=0.2).hold(conduct)
        assert held.silences == []
        learned = found(table, held.url)
        assert learned is not None
        assert not learned.takes_temperature
        assert ["temperature" in request.body for request in held.requests][-QUESTIONS:] == [
            False
        ] * QUESTIONS

    run_virtually(debates())


def test_a_question_that_the_server_cut_is_noticed_and_its_answer_heard(table: Table) -> None:
    async def debates() -> None:
        for context, noticed in ((300, True), (100_000, False)):
            held = await table.hold(local.ollama_that_cuts(context))
            thoughts = [turn.thought for turn in held.ended.transcript]
            told = [thought.text for thought in thoughts if thought.tag == CUT_QUESTION]
            assert bool(told) is noticed
            assert all("counted 300 tokens in a question of at least" in text for text in told)
            assert held.silences == []
            await assert_kept_well(held, "")

    run_virtually(debates())


def test_tools_and_a_form_are_asked_for_together_until_the_server_refuses(table: Table) -> None:
    both: list[bool] = []

    async def refuses_both(request: ChatRequest, wire: Wire) -> None:
        both.append("tools" in request.body and request.form == "json_schema")
        if both[-1]:
            words = "'response_format' cannot be used together with 'tools'."
            await wire.status(400, bad_request(words))
        else:
            await hosted.deepseek(request, wire)

    async def debates() -> None:
        probe = await table.hold(hosted.deepseek)
        port = urlsplit(probe.url).port or 0
        settings = ModelSettings("", probe.url, MODEL)
        memory = AbilityMemory(table.store, lambda: NOW)
        memory.remember(settings, ServerAbilities(form_beside_tools=FormBesideTools.YES))
        held = await table.hold(refuses_both, port=port)
        assert both[:2] == [True, False]
        assert sum(both) == 1
        assert held.silences == []
        learned = found(table, held.url)
        assert learned is not None
        assert (learned.calls_tools, learned.form_beside_tools) == (True, FormBesideTools.NO)

    run_virtually(debates())


def test_thinking_is_told_while_it_lasts_and_the_thoughts_are_not(table: Table) -> None:
    async def debates() -> None:
        held = await table.hold(local.vllm_thinking)
        told = [seconds for role, seconds in held.thinking if role == SCOUT]
        assert told == sorted(told)
        assert told[0] == 0
        assert 5 < told[-1] < 30
        assert THINKING[:9] not in held.path.read_text()
        assert THINKING[:9] not in "".join(text for _, text in held.prose)

    run_virtually(debates())


async def _bad_key(request: ChatRequest, wire: Wire) -> None:
    words = "API key not valid. Please pass a valid API key."
    await wire.status(400, [{"error": {"code": 400, "message": words}}])


async def _no_such_model(request: ChatRequest, wire: Wire) -> None:
    words = "The model `gpt-9` does not exist or you do not have access to it."
    await wire.status(404, bad_request(words, code="model_not_found"))


@pytest.mark.parametrize(
    ("conduct", "reason", "calls"),
    [
        (local.llama_cpp_too_small, Unavailability.OVERFLOWED, 3),
        (_bad_key, Unavailability.REJECTED, 1),
        (_no_such_model, Unavailability.REJECTED, 1),
        (hosted.thinks_for_ever, Unavailability.INVALID, 2),
    ],
)
def test_where_nothing_can_be_learned_the_rules_speak_and_say_why(
    table: Table, conduct: Conduct, reason: Unavailability, calls: int
) -> None:
    async def debates() -> None:
        context = market_context("outside")
        held = await table.hold(conduct, context)
        tell(reason.value, len(held.requests), found(table, held.url))
        replies = list(read_record(held.path).replies().values())
        assert {reply.unavailable for reply in replies} == {reason}
        assert len(held.requests) == calls * len(replies)
        assert held.plan == await plan_of_the_rules(context)

    run_virtually(debates())


def test_a_slow_chain_and_a_model_that_never_answers_end_in_a_plan_by_the_rules(
    table: Table,
) -> None:
    async def debates() -> None:
        context = market_context("idle day")
        slow = dataclasses.replace(table, reading=20.0)
        held = await slow.hold(never_answers(), context)
        assert held.plan == await plan_of_the_rules(context)
        assert len(held.requests) == 1
        assert len(held.silences) == 6
        assert 20 + PATIENCE.first_seconds <= held.took < 20 + PATIENCE.first_seconds + 10
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_models_that_drag_on_are_cut_off_when_the_time_for_them_is_over(table: Table) -> None:
    async def debates() -> None:
        context = market_context("idle day")
        slow = dataclasses.replace(
            table, reading=20.0, deadline=130.0, patience=replace(PATIENCE, total_seconds=100)
        )
        held = await slow.hold(drips("ab ", 1.0), context)
        assert held.plan == await plan_of_the_rules(context)
        over = "The time that models have in this debate is over. The rules speak instead."
        assert held.silences[1:] == [over] * 5
        assert 120 <= held.took < 130
        await assert_kept_well(held, "")

    run_virtually(debates())


def found(table: Table, url: str) -> ServerAbilities | None:
    return AbilityMemory(table.store, lambda: NOW).recall(ModelSettings("", url, MODEL))


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


def tell(name: str, calls: int, able: ServerAbilities | None) -> None:
    words = "the rules alone" if able is None else ability_words(able)
    sys.stdout.write(f"\n{name:20} {calls} calls  {words}")


class ServerHabit(NamedTuple):
    server: str
    habit: str
    conduct: Conduct
    silence: Unavailability | None = None
    """Why no model is heard; None where all three are."""
    hint: str = ""
    """What the sentence about it names."""
    cost: int | None = None
    """Tokens that each question is counted with, where that is known."""


REJECTED = Unavailability.REJECTED
SERVER_ERROR = Unavailability.SERVER_ERROR
LOOKS = looks_up((("volatility", {"hours": 48}),))


async def silenced_by_a_form(request: ChatRequest, wire: Wire) -> None:
    """Holds the model to the form from its first word, so that it can call nothing."""
    await (habits.answers_well if habits.asks_both(request) else LOOKS)(request, wire)


HABITS = [
    ServerHabit("OpenAI", "4o", habits.answers_well),
    ServerHabit("OpenAI", "no max_tokens, no temperature", hosted.openai_reasoning),
    ServerHabit(
        "OpenAI",
        "unverified, no stream",
        refusing(asks_for("stream"), 400, habits.UNVERIFIED, habits.unstreamed),
    ),
    ServerHabit(
        "OpenAI", "thinks until all is used", hosted.thinks_for_ever, Unavailability.INVALID
    ),
    ServerHabit("OpenAI", "429 with Retry-After", local.busy_at_first(20)),
    ServerHabit("OpenAI", "o1-mini, no system role", hosted.o1_mini),
    ServerHabit(
        "OpenAI",
        "Responses only",
        strange.answers(404, habits.RESPONSES_ONLY),
        REJECTED,
        "chats with this model",
    ),
    ServerHabit("Anthropic", "ignores response_format, fences", hosted.anthropic),
    ServerHabit("Anthropic", "529 at first", at_first(529, habits.OVERLOADED)),
    ServerHabit(
        "Anthropic", "bad key", strange.answers(401, habits.ANTHROPIC_KEY), REJECTED, "the key"
    ),
    ServerHabit("Gemini", "errors in lists, no schema", hosted.gemini),
    ServerHabit(
        "Gemini", "thinks in the sum, counts in chunks", habits.thinks_in_the_sum, cost=5_045
    ),
    ServerHabit("Gemini", "safety", habits.held_back, Unavailability.REFUSED, cost=A_CALL),
    ServerHabit("Gemini", "requests a minute", hosted.gemini_per_minute(34)),
    ServerHabit(
        "Gemini", "bad key, HTTP 400", strange.answers(400, habits.GEMINI_KEY), REJECTED, "the key"
    ),
    ServerHabit("OpenRouter", "comments, reasoning", hosted.openrouter),
    ServerHabit("OpenRouter", "breaks in the middle", habits.breaks_in_the_middle, SERVER_ERROR),
    ServerHabit(
        "OpenRouter", "402", strange.answers(402, habits.NO_CREDITS), REJECTED, "the account"
    ),
    ServerHabit("OpenRouter", "404, no provider", hosted.openrouter_without_a_provider),
    ServerHabit("DeepSeek", "chat, JSON alone", hosted.deepseek),
    ServerHabit(
        "DeepSeek",
        "reasoner, no functions",
        refusing(asks_for("tools"), 400, habits.NO_FUNCTIONS, habits.reasoner),
    ),
    ServerHabit("DeepSeek", "empty JSON", habits.empty_json_at_first()),
    ServerHabit("DeepSeek", "limit of a reply", habits.takes_at_most(2_048)),
    ServerHabit(
        "Groq", "no json_schema", refusing(asks_form("json_schema"), 400, habits.NO_SCHEMA)
    ),
    ServerHabit(
        "Groq", "tool_use_failed", refusing(asks_for("tools"), 400, habits.TOOL_USE_FAILED)
    ),
    ServerHabit(
        "Groq",
        "tokens a minute, 413",
        strange.answers(413, habits.TOO_MANY_A_MINUTE),
        Unavailability.OVERFLOWED,
        "context",
    ),
    ServerHabit(
        "Groq",
        "json_validate_failed",
        refusing(asks_form("json_schema", "json_object"), 400, habits.JSON_VALIDATE_FAILED),
    ),
    ServerHabit("Ollama", "no tools", refusing(asks_for("tools"), 400, habits.OLLAMA_NO_TOOLS)),
    ServerHabit("Ollama", "thinks in an open tag, slowly", local.ollama_on_a_slow_machine),
    ServerHabit("Ollama", "cuts the question", local.ollama_that_cuts(300)),
    ServerHabit("LM Studio", "no json_object", local.lm_studio),
    ServerHabit("LM Studio", "[TOOL_REQUEST]", habits.writes_tool_requests),
    ServerHabit("LM Studio", "<think>", habits.thinks_aloud),
    ServerHabit("vLLM", "new, reasoning_content", local.vllm_thinking),
    ServerHabit("vLLM", "old, </think> alone", habits.closes_a_thought_it_never_opened),
    ServerHabit("vLLM", "context overflow", local.vllm_short_of_context(4096)),
    ServerHabit("llama.cpp", "--jinja", refusing(asks_for("tools"), 500, habits.NEEDS_JINJA)),
    ServerHabit("llama.cpp", "loading, 503", strange.still_loading()),
    ServerHabit(
        "llama.cpp",
        "small context",
        local.llama_cpp_too_small,
        Unavailability.OVERFLOWED,
        "context",
    ),
    ServerHabit("Mistral", "422 extra_forbidden, list content", hosted.mistral),
    ServerHabit("xAI", "no stream_options", refusing(asks_for("stream_options"), 400, habits.GROK)),
    *(
        ServerHabit(server, "no tools beside a form", refusing(habits.asks_both, 400, words))
        for server, words in habits.TOOLS_AND_FORM.items()
    ),
    ServerHabit("Ollama", "a form silences its tools", silenced_by_a_form),
    ServerHabit("any", "a call in place of an answer", local.caller_of_tools),
    ServerHabit("any", "CRLF", strange.windows_gateway),
    ServerHabit("any", "no finish reason", habits.never_says_it_ended),
    ServerHabit("any", "refusal", refuses(), Unavailability.REFUSED),
    ServerHabit(
        "any",
        "web page",
        strange.answers(200, strange.PAGE, "text/html"),
        Unavailability.MALFORMED,
        "URL",
        0,
    ),
    ServerHabit("any", "truncated", ends_early(), Unavailability.DISCONNECTED),
    ServerHabit("any", "hangs", never_answers(), Unavailability.STALLED),
]


@pytest.mark.parametrize(
    "one",
    some_of(((one,) for one in HABITS), 14, seed=44),
    ids=lambda one: f"{one.server}: {one.habit}",
)
def test_each_habit_ends_in_a_debate_or_in_a_sentence(tmp_path: Path, one: ServerHabit) -> None:
    table = Table(tmp_path, patience=ModelLimits(), deadline=270.0, finishing=30.0)

    async def debates() -> None:
        context = market_context("outside")
        held = await table.hold(one.conduct, context)
        replies = list(read_record(held.path).replies().values())
        if one.silence is None:
            assert held.silences == []
            said = {turn.role for turn in held.ended.transcript if turn.thought.cited}
            assert said == {SCOUT, STRATEGIST, CRITIC}
        else:
            # Whoever hung takes the others' time with it.
            late = {Unavailability.TIMED_OUT} if one.habit == "hangs" else set()
            assert {reply.unavailable for reply in replies} - late == {one.silence}
            assert all(one.hint in silence for silence in held.silences)
            assert held.plan == await plan_of_the_rules(context)
        if one.cost is not None:
            assert held.document["budget"]["tokens"] == one.cost * len(replies)
        await assert_kept_well(held, "")

    run_virtually(debates())


BOTH, TOOLS, FORM = (True, True), (True, False), (False, True)
HELD = [
    pytest.param(LOOKS, [[BOTH, BOTH]] * 3, id="takes both"),
    *(
        pytest.param(
            refusing(habits.asks_both, 400, words, LOOKS),
            [[BOTH, TOOLS, TOOLS, FORM], [TOOLS, TOOLS, FORM], [TOOLS, TOOLS, FORM]],
            id=f"{server} refuses both",
        )
        for server, words in habits.TOOLS_AND_FORM.items()
    ),
    pytest.param(
        silenced_by_a_form,
        [[BOTH], [TOOLS, TOOLS, FORM], [TOOLS, TOOLS, FORM]],
        id="a form silences its tools",
    ),
    pytest.param(habits.answers_well, [[BOTH], [TOOLS, FORM], [BOTH]], id="calls nothing"),
]


@pytest.mark.parametrize(("conduct", "asked"), HELD)
def test_scouts_answer_is_held_to_its_form_wherever_a_server_can(
    tmp_path: Path, conduct: Conduct, asked: list[list[tuple[bool, bool]]]
) -> None:
    """Debate by debate: which of its questions offer tools, and which ask for the schema."""
    table = Table(tmp_path, patience=ModelLimits(), deadline=270.0, finishing=30.0)

    async def debates() -> None:
        port = 0
        for expected in asked:
            held = await table.hold(conduct, market_context("outside"), port=port)
            port = urlsplit(held.url).port or 0
            questions = [
                ("tools" in request.body, request.form == "json_schema")
                for request in held.requests
                if request.reply_name == "ScoutReply"
            ]
            assert questions == expected
            assert held.silences == []
            await assert_kept_well(held, "")

    run_virtually(debates())
