"""Which office asks which model, whose provider that is, and how much it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agents.memory.lesson_writing import FeedbackReply, PostMortemReply
from agents.model.reply_text import StructuredReply, strict_schema
from agents.trade import findings
from agents.trade.observe.news import ExtractionReply, NarrativeReply
from agents.trade.routing import (
    FLASH,
    ROLE_ROUTES,
    ROUTES,
    SONNET,
    VISION,
    falls_back,
    provider_of,
)
from agents.trade.terms import SectionName
from tests.agents.trade.offices import (
    Offices,
    held,
    plan_of,
)

if TYPE_CHECKING:
    from pydantic import BaseModel


def test_the_router_knows_every_office_its_model_and_its_cap() -> None:
    known = {name.value: tuple(route) for name, route in ROUTES.items()}

    assert known["judge"] == (SONNET, 25_000) == ("claude-sonnet-4-6", 25_000)
    for name in ("liquidity", "microstructure", "macro"):
        assert known[name] == (FLASH, 15_000) == ("gemini-3-flash-preview", 15_000)
    assert known["vlm_geometric"] == (VISION, 15_000) == ("gemini-3.1-pro-preview", 15_000)
    assert known["self_correction"] == (SONNET, 10_000)
    assert known["post_mortem"] == (FLASH, 10_000)
    assert known["rag_extraction"] == (FLASH, 5_000)
    assert {role: route.value for role, route in ROLE_ROUTES.items()} == {
        "meta": "macro",
        "liquidity": "liquidity",
        "microstructure": "microstructure",
        "macro": "macro",
        "vlm_geometry": "vlm_geometric",
        "synthesis": "liquidity",
        "judge": "judge",
        "risk_manager": "macro",
    }


@pytest.mark.parametrize(
    ("model", "provider", "fallback"),
    [
        ("claude-sonnet-4-6", "anthropic", True),
        ("gpt-5.1", "openai", True),
        ("o4-mini", "openai", True),
        ("gemini-3-flash-preview", "gemini", False),
        ("llama3:70b", None, False),
        ("google/gemini-3", None, False),
    ],
)
def test_the_beginning_of_a_name_picks_its_provider(
    model: str, provider: str | None, fallback: bool
) -> None:
    assert provider_of(model) == provider
    assert falls_back(model) is fallback


async def test_every_request_fits_in_the_record_as_its_hash() -> None:
    offices = Offices()
    one = await held(offices)
    bodies = [json.loads(line)["body"] for line in one.lines]
    prompts = {body["payload"]["prompt"] for body in bodies if body.get("kind") == "model_reply"}

    assert prompts == {prompt.digest for _, prompt in offices.asked}
    assert SectionName.NEWS not in plan_of(one).missing


def test_every_reply_can_be_asked_of_a_server() -> None:
    offices = [one for name, one in vars(findings).items() if name.endswith("Reply")]
    schemas = [strict_schema(one) for one in offices if one is not StructuredReply]
    others: tuple[type[BaseModel], ...] = (
        NarrativeReply,
        ExtractionReply,
        PostMortemReply,
        FeedbackReply,
    )
    schemas += [strict_schema(one) for one in others]

    assert len(schemas) == 13
    assert all(schema["additionalProperties"] is False for schema in schemas)
