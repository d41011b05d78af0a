"""Servers that nobody named: each debates to the end, or says in one sentence why it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.bus.replay import read_record
from agents.lp.payloads import CRITIC, SCOUT, STRATEGIST
from agents.model.interface import ModelLimits, Unavailability
from tests.agents.lp.made_up_markets import market_context
from tests.agents.lp.model_table import Table, assert_kept_well, plan_of_the_rules
from tests.fakes.model_servers import strange
from tests.fakes.model_servers.strange import answers
from tests.virtual_time import run_virtually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.model_endpoint import Conduct


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
        pytest.param(strange.wraps_its_answer, 4, id="wrapped"),
        pytest.param(strange.forbids_stream_options, 4, id="no stream_options"),
        pytest.param(strange.refuses_in_its_stream, 4, id="refusal in the stream"),
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
