"""The model client against a real HTTP server: an answer or a reason, always in time."""

import json

import pytest
from msgspec.structs import replace

from agents.lp.payloads import CRITIC, SCOUT
from agents.model.connection import ModelConnections
from agents.model.interface import ModelUnavailable, Unavailability
from tests.agents.model.asked_model import (
    GOOD,
    GOOD_TEXT,
    HASTE,
    KEY,
    LIMITS,
    PROMPT,
    WIDE,
    Asked,
    Reply,
    Shape,
)
from tests.fakes.model_endpoint import (
    ChatRequest,
    Wire,
    model_endpoint,
    never_answers,
    says,
)
from tests.virtual_time import virtual_now


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
        done = virtual_now()
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
