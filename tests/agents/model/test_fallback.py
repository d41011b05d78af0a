"""A picture on its way to a server, and a second model for when the first one's API fails."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from agents.lp.payloads import CRITIC, SCOUT
from agents.model.client import ModelWithFallback
from agents.model.connection import ModelConnections
from agents.model.interface import ModelPrompt, ModelUnavailable, PromptImage, Unavailability
from tests.agents.model.asked_model import GOOD_TEXT, PROMPT, Asked, Reply
from tests.fakes.model_endpoint import fails, model_endpoint, says

if TYPE_CHECKING:
    from agents.bus.envelope import Role
    from tests.fakes.model_endpoint import Conduct

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
