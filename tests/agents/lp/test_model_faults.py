"""Whole debates with a real HTTP server as the model: it may do what it likes, there is an end."""

import asyncio
import dataclasses
import json
import logging
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.bus.replay import read_record
from agents.lp.debate import HANDLERS
from agents.lp.evaluation_context import evaluation_of
from agents.lp.payloads import ARBITER, CRITIC, SCOUT, STRATEGIST, USUAL_TOKENS
from agents.lp.plan import ShapeChoice
from agents.lp.statements import is_same_range
from agents.model.budget import BudgetLimits, TokenRate
from agents.model.interface import ModelLimits
from tests.agents.lp.honest_model import SHAPES, honest, only_for, sceptical, shapes_of_round
from tests.agents.lp.made_up_markets import create_context, market_context
from tests.agents.lp.model_table import (
    A_CALL,
    CALM,
    MODEL,
    QUESTIONS,
    Context,
    Table,
    assert_kept_well,
    plan_of_the_rules,
)
from tests.fakes.model_endpoint import (
    ChatRequest,
    Conduct,
    Wire,
    disconnects,
    drips,
    ends_early,
    fails,
    never_answers,
    refuses,
    says,
    sends,
    stalls,
)
from tests.samples import some_of
from tests.virtual_time import pass_time, run_virtually

HASTE = ModelLimits(total_seconds=0.4, first_seconds=0.15, stall_seconds=0.1)
# However slowly a busy machine drips, only the whole of it can take too long.
NEVER_STALLED = replace(HASTE, first_seconds=9, stall_seconds=9)


@pytest.fixture
def table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Table:
    caplog.set_level(logging.DEBUG)
    return Table(tmp_path)


async def test_a_model_chooses_the_shapes_and_its_words_are_heard(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    context = market_context("outside")
    held = await table.hold(says(honest), context)

    evaluation = evaluation_of(context)
    wanted = [evaluation.ticks(ShapeChoice.model_validate(shape, strict=False)) for shape in SHAPES]
    found = [(move.tick_lower, move.tick_upper) for move in held.plan.candidates]
    assert found[1:4] == wanted
    own = held.plan.rules_move
    assert own is None or found[0] == (own.tick_lower, own.tick_upper)
    assert held.plan.decided_by == "critic"
    assert held.asked == ["ScoutReply", "StrategistReply", "CriticReply"]
    assert held.silences == held.struck == []
    words = "The floor is 24 h [n1], and that is what I hold it to."
    speakers = [turn.role for turn in held.ended.transcript if turn.thought.text == words]
    assert speakers == [SCOUT, STRATEGIST, CRITIC]
    for speaker in speakers:
        pieces = [text for role, text in held.prose if role is speaker]
        assert "".join(pieces) == words
        assert len(pieces) > 5
    assert held.document["claims"] == {"cited": 4, "struck": 0}
    assert held.document["budget"]["tokens"] == 3 * A_CALL
    await assert_kept_well(held, caplog.text)


async def test_a_model_that_never_agrees_is_heard_in_all_four_chairs(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    held = await table.hold(says(sceptical))

    assert len(held.asked) == QUESTIONS
    assert held.asked[-1] == "ArbiterReply"
    assert held.plan.decided_by == "arbiter"
    assert [dissent.role for dissent in held.plan.dissent] == ["critic", "arbiter"]
    assert held.plan.dissent[-1].wanted == 2
    assert held.plan.rules_move is not None
    assert is_same_range(held.plan.recommended, held.plan.rules_move)
    answers = [turn.thought for turn in held.ended.transcript if turn.thought.tag == "answer"]
    # To all points alike it is one answer.
    assert len(answers) == 1
    for answer in answers:
        assert answer.text.endswith("Wider than 24 h [n1] asks for.")
        assert answer.cited == 1
    assert held.struck == []
    await assert_kept_well(held, caplog.text)


@pytest.mark.parametrize("context", [market_context("outside"), create_context("one token")])
async def test_a_debate_takes_about_the_tokens_that_it_is_said_to(
    table: Table, context: Context
) -> None:
    """A token is about four characters; the server of the test looks nothing up."""
    held = await table.hold(says(sceptical, size=200), context)
    asked: Counter[str] = Counter()
    for request in held.requests:
        role = request.reply_name.removesuffix("Reply").lower()
        asked[role] += len(json.dumps(request.body)) // 4
    asked["scout"] *= 2
    for role, usual in USUAL_TOKENS.items():
        assert usual.tokens_in / 2 <= asked[role] <= usual.tokens_in * 2


async def test_a_new_position_takes_the_pools_and_the_exposure_the_model_names(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = [
        {**SHAPES[0], "poolIndex": 1, "exposure": "long-token"},
        {**SHAPES[1], "poolIndex": 9},
        {**SHAPES[2], "poolIndex": 3},
    ]

    def creative(request: ChatRequest) -> dict[str, object]:
        reply = honest(request)
        return {**reply, "shapes": chosen} if "shapes" in reply else reply

    context = create_context("one token")
    held = await table.hold(says(creative, size=200), context)

    pools = [pool.pool.pool_id for pool in context.surveyed_pools]
    assert [move.pool_id for move in held.plan.candidates[1:3]] == [pools[1], pools[3]]
    shape = ShapeChoice.model_validate(chosen[0], strict=False)
    first = held.plan.candidates[1]
    assert (first.tick_lower, first.tick_upper) == evaluation_of(context, 1).ticks(shape)
    await assert_kept_well(held, caplog.text)


async def test_numbers_nobody_gave_are_struck_wherever_they_are_said(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    def boastful(request: ChatRequest) -> dict[str, object]:
        text = json.dumps(sceptical(request))
        return json.loads(text.replace("24 h [n1]", "24 h [n1] or 1,234 h"))  # type: ignore[no-any-return]

    held = await table.hold(says(boastful, size=200))

    sayings = [turn for turn in held.ended.transcript if "1,234 h" in turn.thought.text]
    assert {turn.role for turn in sayings} == set(HANDLERS)
    assert held.struck == ["1,234 h"] * len(sayings)
    assert held.document["claims"]["struck"] == len(sayings)
    assert "1,234" not in held.plan.model_dump_json()
    await assert_kept_well(held, caplog.text)


async def test_a_floor_that_was_argued_away_stands_and_says_why(table: Table) -> None:
    def reckless(request: ChatRequest) -> dict[str, object]:
        reply = honest(request)
        tight = {**SHAPES[0], "widthMultiplier": 0.3}
        if "shapes" in reply:
            reply["shapes"] = [{**tight, "centerOffsetTicks": far} for far in (2400, -2400)]
        return {**reply, "chosenIndex": 0} if "chosenIndex" in reply else reply

    held = await table.hold(says(reckless, size=200), market_context("idle day"))

    vetoed = [move for move in held.plan.candidates if not move.in_range_share]
    for move in held.plan.candidates[1:3]:
        assert move.judgment is not None
        assert move.judgment.verdict == "veto"
        assert "It keeps" not in move.judgment.reason
        assert "outside the range" in move.judgment.reason
    assert held.plan.recommended not in vetoed
    floors = [turn.thought.text for turn in held.ended.transcript if turn.thought.tag == "floor"]
    assert any("B and C veto (the place of the price" in text for text in floors)


async def test_an_arbiter_who_names_a_vetoed_move_is_not_followed(table: Table) -> None:
    def partial(request: ChatRequest) -> dict[str, object]:
        reply = sceptical(request)
        if "shapes" in reply:
            outside = {**SHAPES[0], "widthMultiplier": 0.3, "centerOffsetTicks": 2400}
            reply["shapes"] = [outside, *shapes_of_round(request.prompt)[1:]]
        return {**reply, "chosenIndex": 1} if "chosenIndex" in reply else reply

    held = await table.hold(says(partial, size=200))

    assert held.plan.decided_by == "arbiter"
    assert held.plan.choice.kind == "move"
    assert held.plan.choice.index != 1
    said = [turn.thought.text for turn in held.ended.transcript if turn.role is ARBITER]
    assert said[-2].startswith("Overruled: B cannot be chosen, ")
    assert said[-1].startswith("The plan is ")


FAULTS = [
    pytest.param(refuses(), "refused", CALM, id="refusal"),
    pytest.param(says('{"rationale": "The mar'), "invalid", CALM, id="truncated JSON"),
    pytest.param(says("I would widen it."), "invalid", CALM, id="no JSON"),
    pytest.param(
        says(lambda request: {**honest(request), "amount0": 10**30}), "invalid", CALM, id="extra"
    ),
    pytest.param(
        says(lambda request: dict(list(honest(request).items())[1:])), "invalid", CALM, id="missing"
    ),
    pytest.param(says("x" * (1 << 20), size=1 << 13), "too_large", CALM, id="1 MB reply"),
    pytest.param(fails(429, {"Retry-After": "0"}), "rate_limited", CALM, id="429 for ever"),
    pytest.param(fails(429, {"Retry-After": "60"}), "rate_limited", CALM, id="429 for long"),
    pytest.param(fails(500, {"Retry-After": "0"}), "server_error", CALM, id="500"),
    pytest.param(fails(401), "rejected", CALM, id="401"),
    pytest.param(stalls(), "stalled", HASTE, id="stall mid-stream"),
    pytest.param(never_answers(), "stalled", HASTE, id="no answer"),
    pytest.param(drips("ab ", 0.02), "timed_out", NEVER_STALLED, id="slow drip"),
    pytest.param(disconnects(), "disconnected", CALM, id="disconnect"),
    pytest.param(ends_early(), "disconnected", CALM, id="ends early"),
    pytest.param(sends(b"data: \xff\xfe\n\n"), "malformed", CALM, id="not UTF-8"),
]


@pytest.mark.parametrize(("conduct", "reason", "patience"), some_of(FAULTS, 5, seed=44))
async def test_a_model_that_fails_leaves_the_plan_of_the_rules_and_is_said_to(
    table: Table,
    caplog: pytest.LogCaptureFixture,
    conduct: Conduct,
    reason: str,
    patience: ModelLimits,
) -> None:
    context = market_context("idle day")
    held = await dataclasses.replace(table, patience=patience).hold(conduct, context)

    assert held.plan == await plan_of_the_rules(context)
    replies = read_record(held.path).replies().values()
    assert [reply.unavailable for reply in replies] == [reason] * QUESTIONS
    assert held.silences == [f"{reply.sentence} The rules speak instead." for reply in replies]
    assert held.took < QUESTIONS * patience.total_seconds + 10
    assert held.document["claims"] == {"cited": 0, "struck": 0}
    await assert_kept_well(held, caplog.text)
    await pass_time(0.01)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("schema", ["ScoutReply", "StrategistReply", "CriticReply", "ArbiterReply"])
async def test_one_silent_agent_does_not_silence_the_others(
    table: Table, caplog: pytest.LogCaptureFixture, schema: str
) -> None:
    held = await table.hold(only_for(schema, refuses()))

    role = schema.removesuffix("Reply").lower()
    silent = [turn.role for turn in held.ended.transcript if turn.thought.tag == "silence"]
    assert set(silent) == {role}
    assert len(held.silences) == held.asked.count(schema) >= 1
    asked = {str(name).removesuffix("Reply").lower() for name in held.asked}
    assert {turn.role for turn in held.ended.transcript if turn.thought.cited} == asked - {role}
    await assert_kept_well(held, caplog.text)


async def test_another_language_is_heard_and_changes_nothing_but_words(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    words = "市场平静，价格在区间之内，没有理由着急，请保持宽度并等待下一次观察。"

    def foreign(request: ChatRequest) -> dict[str, object]:
        reply = honest(request)
        return {**reply, next(iter(reply)): words}

    held = await table.hold(says(foreign, size=200))
    spoken = [turn.role for turn in held.ended.transcript if turn.thought.text == words]
    assert spoken == [SCOUT, STRATEGIST, CRITIC]
    assert held.silences == held.struck == []
    usual = await table.hold(says(honest, size=200))
    assert held.plan.candidates == usual.plan.candidates
    await assert_kept_well(held, caplog.text)


async def test_a_busy_endpoint_is_waited_for_and_asked_again(table: Table) -> None:
    tries: list[object] = []

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        tries.append(request.reply_name)
        busy = tries.count(request.reply_name) == 1
        code = 429 if len(tries) < 3 else 500
        await (fails(code, {"Retry-After": "0.1"}) if busy else says(honest))(request, wire)

    held = await table.hold(conduct)
    assert held.silences == []
    assert len(tries) == 2 * 3
    assert held.took >= 0.3
    assert held.document["budget"]["tokens"] == 3 * A_CALL


@pytest.mark.parametrize("conduct", [stalls(), never_answers(), drips("ab ", 5.0)])
def test_a_debate_whose_model_hangs_is_finished_by_the_rules_in_its_time(
    table: Table, caplog: pytest.LogCaptureFixture, conduct: Conduct
) -> None:
    async def debates() -> None:
        context = market_context("idle day")
        endless = ModelLimits(total_seconds=1e4, first_seconds=1e4, stall_seconds=1e4)
        patient = dataclasses.replace(table, patience=endless, deadline=130.0, finishing=30.0)
        held = await patient.hold(conduct, context)

        assert held.plan == await plan_of_the_rules(context)
        assert len(held.requests) == 1
        over = "The time that models have in this debate is over. The rules speak instead."
        assert held.silences == [over] * QUESTIONS
        assert 100 <= held.took < 130
        await assert_kept_well(held, caplog.text)
        await pass_time(0.01)
        assert len(asyncio.all_tasks()) == 1

    run_virtually(debates())


async def test_agents_are_counted_apart_and_dollars_only_by_prices(table: Table) -> None:
    prices = {MODEL: TokenRate.per_million(Decimal("0.15"), Decimal("0.60"))}
    unpriced = await table.hold(says(sceptical, size=200))
    priced = await dataclasses.replace(table, prices=prices).hold(says(sceptical, size=200))

    by_role = {"arbiter": A_CALL, "critic": 2 * A_CALL, "scout": A_CALL}
    by_role["strategist"] = 2 * A_CALL
    for held, day in ((unpriced, 1), (priced, 2)):
        budget = held.document["budget"]
        assert budget["byRole"] == by_role
        assert budget["tokens"] == sum(by_role.values()) == QUESTIONS * A_CALL
        assert budget["dayTokens"] == day * budget["tokens"]
        assert (budget["debateLimit"], budget["dayLimit"]) == (60_000, 1_000_000)
    assert unpriced.document["budget"]["dollars"] is None
    dollars = QUESTIONS * (120 * 150 + 45 * 600) / 10**9
    assert priced.document["budget"]["dollars"] == pytest.approx(dollars, rel=1e-12)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (BudgetLimits(debate_tokens=1_000), "of the 1,000 for this debate, 0 are used."),
        (BudgetLimits(day_tokens=1_000), "of the 1,000 for this day, 0 are used."),
        (BudgetLimits(debate_nano_usd=1_000), "of the $0.0000 for this debate, $0.0000"),
        (BudgetLimits(day_nano_usd=0), "of the $0.0000 for this day, $0.0000 are spent."),
    ],
)
async def test_over_budget_nobody_is_called_and_the_rules_decide(
    table: Table, caplog: pytest.LogCaptureFixture, limits: BudgetLimits, said: str
) -> None:
    context = market_context("idle day")
    prices = {MODEL: TokenRate.per_million(Decimal("0.15"), Decimal("0.60"))}
    held = await dataclasses.replace(table, limits=limits, prices=prices).hold(
        says(honest), context
    )

    assert held.requests == []
    assert held.plan == await plan_of_the_rules(context)
    assert len(held.silences) == QUESTIONS
    assert all(said in silence for silence in held.silences)
    assert all(silence.endswith("The rules speak instead.") for silence in held.silences)
    assert held.document["budget"]["tokens"] == 0
    await assert_kept_well(held, caplog.text)
