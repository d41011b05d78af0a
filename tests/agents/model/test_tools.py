"""A model as Scout looks closer: what it may ask, what it is told, and that all of it replays."""

import asyncio
import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from agents.bus.envelope import Kind
from agents.bus.replay import read_record
from agents.bus.worker import StageFailedError
from agents.lp.facts import PastChange, PastFacts
from agents.lp.payloads import ARBITER, CRITIC, SCOUT, STRATEGIST
from agents.model.abilities import AbilityMemory
from agents.model.interface import ModelLimits, ModelSettings
from agents.model.tools import LOOKING_SECONDS, MOST_CALLS, TOOL_FACT
from chain.protocols.reference import PositionRef
from tests.agents.lp.made_up_markets import create_context, market_context
from tests.agents.lp.model_table import KEY, MODEL, Held, Table, assert_kept_well, plan_of_the_rules
from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire, never_answers, says
from tests.fakes.model_servers import hosted, local
from tests.fakes.model_servers.shapes import THINKING
from tests.fakes.model_servers.tools import (
    Call,
    gemini_with_signatures,
    gives_no_ids,
    looks_up,
    never_has_enough,
    takes_its_time,
    told,
    wants_its_thoughts_back,
    without_tools,
    writes_calls_as_words,
)
from tests.virtual_time import run_virtually

PAST = PastFacts(
    changes=(
        PastChange(age_seconds=90_000, liquidity_delta=5 * 10**15),
        PastChange(age_seconds=7_200, liquidity_delta=0),
    ),
    changes_in_all=2,
    age_seconds=90_000,
    deposited=4.1e9,
    withdrawn=0.0,
    fees_collected=2.5e6,
    fees_earned=3.5e6,
    against_holding=-1.2e6,
    impermanent_loss=-0.0123,
)
VOLATILITY: Call = ("volatility", {"hours": 48})
DEPTH: Call = ("depth", {"centerPercent": 0, "widthPercent": 1})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, patience=ModelLimits(), deadline=270.0, finishing=30.0, past=PAST)


def looked_up(held: Held) -> list[Mapping[str, str]]:
    """The calls and answers in its record, in order."""
    return [
        body["payload"]["value"]  # type: ignore[index]
        for body in read_record(held.path).messages()
        if body["kind"] == Kind.AGENT_FACT and body["payload"]["name"] == TOOL_FACT  # type: ignore[index]
    ]


def test_scout_looks_closer_and_cites_what_it_found(table: Table) -> None:
    turns: tuple[tuple[Call, ...], ...] = ((VOLATILITY, DEPTH), (("position_past", {}),))

    async def debates() -> None:
        held = await table.hold(looks_up(*turns))
        names = ["volatility", "depth", "position_past"]
        assert [one["name"] for one in looked_up(held)] == names
        assert not any(one["answer"].startswith("error") for one in looked_up(held))
        # Natively, each answer behind its call, and the last question still offers the tools.
        last = held.requests[2]
        assert [one["role"] for one in last.messages] == [
            *("system", "user", "assistant", "tool", "tool", "assistant", "tool")
        ]
        assert told(last) == [one["answer"] for one in looked_up(held)]
        summary = next(turn for turn in held.ended.transcript if turn.thought.tag == "summary")
        assert summary.thought.text.startswith("Having looked closer I say 2 h [n")
        assert (summary.thought.cited, summary.thought.struck) == (1, ())
        said = [turn.thought.text for turn in held.ended.transcript if turn.thought.tag == "tool"]
        assert len(said) == 3
        assert "[n" not in "".join(said)
        assert held.silences == []
        assert "closer" not in "".join(text for role, text in held.prose if role == SCOUT)[:6]
        await assert_kept_well(held, "")

    run_virtually(debates())


@pytest.mark.parametrize(
    ("conduct", "asked"),
    [
        (writes_calls_as_words, ["volatility"]),
        (gives_no_ids, ["hook", "depth"]),
        (wants_its_thoughts_back, ["volatility"]),
        (gemini_with_signatures, ["hook", "depth"]),
    ],
)
def test_tools_work_in_whichever_way_a_server_speaks_of_them(
    table: Table, conduct: Conduct, asked: list[str]
) -> None:
    async def debates() -> None:
        held = await table.hold(conduct)
        assert [one["name"] for one in looked_up(held)] == asked
        assert held.silences == held.struck == []
        assert {turn.role for turn in held.ended.transcript if turn.thought.cited} == {
            SCOUT,
            STRATEGIST,
            CRITIC,
        }
        await assert_kept_well(held, "")

    run_virtually(debates())


@pytest.mark.parametrize(
    "calls",
    [
        [
            ("volatility", {}),
            ("volatility", {"hours": 1}),
            ("volatility", {"hours": 200}),
            ("volatility", {"hours": "48"}),
        ],
        [
            ("volatility", {"hours": 48, "pool": 1}),
            ("volatility", {"hours": 48, "exec": "rm"}),
            ("depth", {"widthPercent": 0}),
            ("depth", '{"widthPercent": 1e999}'),
        ],
        [
            ("last_swaps", {"count": 13}),
            ("hook", "[]"),
            ("hook", "{not json"),
            ("position_past", {"tokenId": 9}),
        ],
        [("sign", {"hash": "0x00"}), ("", {})],
    ],
)
def test_bad_arguments_are_told_to_the_model_and_the_debate_goes_on(
    table: Table, calls: list[Call]
) -> None:
    async def debates() -> None:
        held = await table.hold(looks_up(tuple(calls)))
        answers = [one["answer"] for one in looked_up(held)]
        assert len(answers) == len(calls)
        assert all(answer.startswith("error: ") for answer in answers)
        if len(calls) < MOST_CALLS:
            assert told(held.requests[1]) == answers
        else:
            assert all(answer in held.requests[1].prompt for answer in answers)
        assert held.silences == []
        # What the model wrote is in no words of code's.
        said = " ".join(turn.thought.text for turn in held.ended.transcript)
        assert not {"exec", "sign", "tokenId"} & set(said.split())
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_no_more_is_looked_up_than_is_allowed(table: Table) -> None:
    async def debates() -> None:
        held = await table.hold(never_has_enough)
        answers = [one["answer"] for one in looked_up(held)]
        assert sum(not answer.startswith("error") for answer in answers) == MOST_CALLS
        assert len(answers) == 6
        assert ["tools" in request.body for request in held.requests] == [
            *(True, True, False, True, True)
        ]
        # What was found stands in the question that offers no tools any more.
        assert answers[0] in held.requests[2].prompt
        assert held.silences == []
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_nothing_more_is_looked_up_when_the_time_for_it_is_over(table: Table) -> None:
    async def debates() -> None:
        held = await table.hold(takes_its_time(LOOKING_SECONDS * 0.6))
        assert len(looked_up(held)) == 2
        assert ["tools" in request.body for request in held.requests] == [
            *(True, True, False, True, True)
        ]
        assert held.silences == []
        # A replay takes no time, and yet ends its looking where this one did.
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_what_a_model_puts_into_a_call_is_cleaned_before_it_is_kept(table: Table) -> None:
    async def debates() -> None:
        call: Call = ("volatility", {"hours": 48, "note": f"\x1b[2J\u202e{KEY}"})
        held = await table.hold(looks_up((call,)))
        (answered,) = looked_up(held)
        assert answered["arguments"].isprintable()
        assert "note" in answered["arguments"]
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_a_server_without_tools_is_offered_none_from_then_on(table: Table) -> None:
    async def debates() -> None:
        first = await table.hold(without_tools)
        settings = ModelSettings("", first.url, MODEL)
        able = AbilityMemory(table.store, lambda: 1_768_000_000.0).recall(settings)
        assert able is not None
        assert not able.calls_tools
        assert len(first.requests) == 5
        again = await table.hold(without_tools, port=int(first.url.split(":")[2][:-3]))
        assert ["tools" in request.body for request in again.requests] == [False] * 3
        for held in (first, again):
            assert held.silences == []
            await assert_kept_well(held, "")

    run_virtually(debates())


def test_a_past_that_cannot_be_read_is_no_reason_to_fall_silent(table: Table) -> None:
    async def never(ref: PositionRef) -> PastFacts:
        await asyncio.Event().wait()
        raise AssertionError

    async def unreadable(ref: PositionRef) -> PastFacts:
        raise StageFailedError("The chain does not answer.")

    async def debates() -> None:
        for read in (never, unreadable):
            blind = dataclasses.replace(table, past=read)
            held = await blind.hold(looks_up((("position_past", {}), ("hook", {}))))
            failed, hook = looked_up(held)
            assert failed["answer"].startswith("error: ")
            assert not hook["answer"].startswith("error: ")
            assert held.silences == []
            await assert_kept_well(held, "")

    run_virtually(debates())


def test_a_model_that_falls_silent_among_its_tools_leaves_the_plan_to_the_rules(
    table: Table,
) -> None:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        chosen = never_answers() if told(request) else looks_up((VOLATILITY,))
        await chosen(request, wire)

    async def debates() -> None:
        context = market_context("idle day")
        held = await table.hold(conduct, context)
        assert held.plan.candidates == (await plan_of_the_rules(context)).candidates
        assert len(held.silences) == 6
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_pools_for_new_capital_are_looked_at_by_their_number(table: Table) -> None:
    async def debates() -> None:
        calls: tuple[Call, ...] = (("depth", {"widthPercent": 5, "pool": 2}), ("position_past", {}))
        held = await table.hold(looks_up(calls), create_context("one token"))
        depth, past = looked_up(held)
        assert not depth["answer"].startswith("error: ")
        assert "no such tool" in past["answer"]
        await assert_kept_well(held, "")

    run_virtually(debates())


def test_three_models_one_of_them_thinking_and_tools_replay_to_the_byte(table: Table) -> None:
    """Scout calls tools, Strategist thinks, Critic is held to nothing and disagrees."""
    servers: Mapping[str, Conduct] = {
        "caller": looks_up((VOLATILITY, ("position_past", {})), (DEPTH,)),
        "thinker": local.vllm_thinking,
        "plain": hosted.groq,
        MODEL: says(""),
    }

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await servers[request.model](request, wire)

    async def debates() -> None:
        roles = {SCOUT: "caller", STRATEGIST: "thinker", CRITIC: "plain", ARBITER: "thinker"}
        held = await dataclasses.replace(table, roles=roles).hold(conduct)
        assert {request.model for request in held.requests} == {"caller", "thinker", "plain"}
        assert len(looked_up(held)) == 3
        replies = read_record(held.path).replies()
        assert {(role, reply.model) for (role, _), reply in replies.items()} == {
            (SCOUT, "caller"),
            (STRATEGIST, "thinker"),
            (CRITIC, "plain"),
        }
        assert held.silences == []
        assert THINKING[:9] not in held.path.read_text()
        await assert_kept_well(held, "")

    run_virtually(debates())
