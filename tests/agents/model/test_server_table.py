"""What model servers are known to do, a whole debate with each: heard to the end, or why not."""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from agents.bus.replay import read_record
from agents.lp.payloads import CRITIC, SCOUT, STRATEGIST
from agents.model.interface import ModelLimits, Unavailability
from tests.agents.lp.made_up_markets import market_context
from tests.agents.lp.model_table import A_CALL, Table, assert_kept_well, plan_of_the_rules
from tests.fakes.model_endpoint import (
    ChatRequest,
    Conduct,
    Wire,
    ends_early,
    never_answers,
    refuses,
)
from tests.fakes.model_servers import habits, hosted, local, strange
from tests.fakes.model_servers.habits import asks_for, asks_form, at_first, refusing
from tests.fakes.model_servers.tools import looks_up
from tests.virtual_time import run_virtually


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


@pytest.mark.parametrize("one", HABITS, ids=lambda one: f"{one.server}: {one.habit}")
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
