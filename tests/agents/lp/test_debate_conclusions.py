"""From judged moves to a plan: who wins, how sure it is, and what really happened to it."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from agents.bus.envelope import Envelope, FailureCause, Role
from agents.bus.replay import read_record
from agents.bus.worker import HandlerContext, Outgoing
from agents.lp.advice_words import AXES
from agents.lp.conclude import rules_alone
from agents.lp.debate import HANDLERS, replay_debate
from agents.lp.evaluation import exit_candidate, hold_candidate
from agents.lp.facts import RATE_PARTS, ROOT_PARTS, MarketContext, PricePathFacts
from agents.lp.judge import JudgedCandidate, recompute
from agents.lp.payloads import (
    CRITIC,
    STRATEGIST,
    Deadlock,
    Debate,
    DebateRound,
    Proposal,
    context_hash,
)
from agents.lp.plan import Candidate, Plan, plan_identity
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.lp.services import DebateServices
from agents.lp.spoken import closing_statement
from agents.numbers.advice import AdviceReason
from agents.numbers.rules import PROFILES, CheckedAssumption, JudgmentVerdict, RiskProfile, Rule
from chain.math.ticks import usable_ticks
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up import TOKEN0, TOKEN1, Market
from tests.agents.lp.one_round import concluded, judged
from tests.agents.lp.second_opinion import check_argued

LEFT_BEHIND = Market(0.02, 1.6, half_width=0.1, off_centre=2.5, gwei=0.05)
"""Out of its range in a pool that pays."""
HEALTHY = Market(0.02, 1.6, half_width=0.2)


def test_the_plan_is_named_by_its_content() -> None:
    context = LEFT_BEHIND.position()
    plan = concluded(context, judged(context))
    assert plan.plan_id == plan_identity(plan)
    assert plan.plan_id.startswith("plan_")
    other = concluded(context, judged(context)).model_copy(update={"block": 1})
    assert plan_identity(other) != plan.plan_id


def test_no_shape_a_model_chose_is_in_a_plan() -> None:
    context = LEFT_BEHIND.position()
    plan = concluded(context, judged(context))
    assert plan.choice.kind == "move"
    assert all(move.shape is None for move in plan.candidates)
    assert plan.recommended.shape is None


@pytest.mark.parametrize("profile", RiskProfile)
@pytest.mark.parametrize("half_width", [0.02, 0.05, 0.2, 5.0, 1e9])
def test_a_position_in_range_is_never_moved_for_yield(
    half_width: float, profile: RiskProfile
) -> None:
    """Nor is whoever holds the full range told to concentrate."""
    context = Market(0.02, 1.6, half_width=half_width, profile=profile).position()
    plan = concluded(context, judged(context))
    assert plan.choice.kind == "hold"
    assert plan.hold.buffer_hours is not None
    thin = plan.hold.buffer_hours.at_1x < PROFILES[profile].buffer_floor_hours
    reason = AdviceReason.THIN_BUFFER if thin else AdviceReason.IN_RANGE
    assert plan.choice.codes == (reason,)
    if thin:
        assert "may leave its range soon" in " ".join(plan.choice.reasons)


@pytest.mark.parametrize(
    ("market", "kind", "verdict"),
    [
        (replace(LEFT_BEHIND, dollars=800), "move", "approve"),
        (LEFT_BEHIND, "move", "approve_with_caution"),
        (replace(LEFT_BEHIND, dollars=800, assumed=True), "move", "approve_with_caution"),
        (Market(0.02, 1.3, half_width=0.03), "hold", "approve_with_caution"),
        (Market(0.02, 1.3, half_width=0.3), "hold", "approve"),
        (Market(0.02, 1.3, half_width=0.3, assumed=True), "hold", "approve_with_caution"),
        (Market(0.03, 1.3, off_centre=0.5, gwei=5_000), "hold", "reject"),
        (Market(0.03, 0.5, half_width=0.02), "exit", "approve"),
    ],
)
def test_the_verdict_says_how_sure_the_ground_is(market: Market, kind: str, verdict: str) -> None:
    """$20,000 need a swap that moves this pool by more than its fee; $800 do not."""
    context = market.position()
    plan = concluded(context, judged(context))
    assert (plan.choice.kind, plan.verdict) == (kind, verdict)


def test_leaving_is_advised_in_a_narrow_range_that_loses_in_a_pool_that_does_not_pay() -> None:
    narrow = Market(0.03, 0.7, half_width=0.1).position()
    plan = concluded(narrow, judged(narrow))
    assert (plan.choice.kind, plan.recommended) == ("exit", plan.exit)
    assert plan.choice.codes == (AdviceReason.STAYING_LOSES, AdviceReason.POOL_DOES_NOT_PAY)
    wide = Market(0.03, 0.7, half_width=0.21).position()
    plan = concluded(wide, judged(wide))
    assert plan.choice.codes == (AdviceReason.WIDE_RANGE, AdviceReason.POOL_DOES_NOT_PAY)
    near = Market(0.03, 0.95, half_width=0.1).position()
    plan = concluded(near, judged(near))
    assert plan.choice.codes == (AdviceReason.IN_DEAD_BAND, AdviceReason.POOL_DOES_NOT_PAY)


def test_where_a_pool_does_not_pay_the_full_range_comes_first() -> None:
    context = Market(0.02, 0.97, half_width=0.1).position()
    plan = concluded(context, judged(context))
    first = plan.candidates[0]
    assert (first.tick_lower, first.tick_upper) == usable_ticks(10)
    assert plan.exit is not None
    paying = concluded(HEALTHY.position(), judged(HEALTHY.position()))
    assert all((move.tick_upper or 0) < 800_000 for move in paying.candidates)


def test_an_action_within_a_day_is_followed_by_none() -> None:
    for market in (LEFT_BEHIND, Market(0.03, 0.7, half_width=0.05)):
        soon = replace(market, hours_since_action=23.9).position()
        plan = concluded(soon, judged(soon))
        assert plan.choice.codes[0] is AdviceReason.ACTED_RECENTLY
        later = replace(market, hours_since_action=24.1).position()
        assert concluded(later, judged(later)).choice.kind != "hold"


def test_what_the_choice_survives_is_told_by_assumption() -> None:
    sure = replace(LEFT_BEHIND, paid=4.0).position()
    plan = concluded(sure, judged(sure))
    assert plan.choice.kind == "move"
    assert _survived(plan) >= {CheckedAssumption.FEES_HALF, CheckedAssumption.FEES_TWICE}
    doubtful = replace(LEFT_BEHIND, paid=1.5, dollars=800).position()
    plan = concluded(doubtful, judged(doubtful))
    assert plan.choice.kind == "move"
    assert CheckedAssumption.FEES_HALF not in _survived(plan)
    assert CheckedAssumption.VOLATILITY_TWICE not in _survived(plan)


def test_where_nothing_is_known_nothing_is_sure() -> None:
    for market in (Market(0.03, fees_known=False, off_centre=2.5), Market(0.03, fees_known=False)):
        context = replace(market, assumed=True).position()
        plan = concluded(context, judged(context))
        assert plan.choice.codes == (AdviceReason.EDGE_UNKNOWN,)
        assert [one.survives for one in plan.assumptions] == [None] * len(CheckedAssumption)
        assert all(move.breaks_even and move.break_even_hours is None for move in plan.candidates)


def test_a_move_that_never_pays_is_told_apart_from_one_nobody_knows_of() -> None:
    context = Market(0.03, 0.5, off_centre=2.5).position()
    plan = concluded(context, judged(context))
    assert plan.candidates
    assert not any(move.breaks_even for move in plan.candidates[1:])


def test_a_hook_the_person_allowed_is_no_reason_to_leave_or_to_stay_out() -> None:
    """Only a caution is left of it."""
    for market, kind in ((HEALTHY, "hold"), (replace(LEFT_BEHIND, dollars=800), "move")):
        context = replace(market, danger="dangerous").position()
        assert concluded(context, judged(context)).choice.codes[0] is AdviceReason.DANGER
        allowed = context.model_copy(update={"allowed_hooks": (context.observed.pool.hooks,)})
        plan = concluded(allowed, judged(allowed))
        assert plan.choice.kind == kind
        assert kind == "hold" or plan.verdict == "approve_with_caution"


def test_what_a_new_position_buys_unasked_is_told() -> None:
    context = Market(0.04, 2.0, gwei=0.05).opening((TOKEN1, 2_000 * 10**6))
    plan = concluded(context, judged(context))
    assert (plan.choice.kind, plan.bought) == ("move", TOKEN0)
    named = context.goal.model_copy(update={"pair": (TOKEN0, TOKEN1)})
    asked = context.model_copy(update={"goal": named})
    assert concluded(asked, judged(asked)).bought is None


def test_every_surveyed_pool_is_looked_at_and_the_best_are_proposed() -> None:
    context = Market(0.04, gwei=0.05).opening((TOKEN1, 2_000 * 10**6))
    pools = []
    for number in range(12):
        paid = 3.0 if number == 11 else 0.5
        (observed,) = Market(0.04, paid).opening((TOKEN1, 1)).surveyed_pools
        named = {"pool_id": f"0x{number:064x}"}
        pools.append(observed.model_copy(update={"pool": observed.pool.model_copy(update=named)}))
    surveyed = context.model_copy(update={"surveyed_pools": tuple(pools)})
    plan = concluded(surveyed, judged(surveyed))
    assert plan.choice.kind == "move"
    assert plan.recommended.pool_id == f"0x{11:064x}"
    assert {one.pool_id for one in plan.pools} >= {plan.recommended.pool_id}


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_what_the_rules_alone_would_choose_needs_nobody_to_argue(rounds: int) -> None:
    context = LEFT_BEHIND.position()
    assert rules_alone(context, rounds).choice == concluded(context, judged(context)).choice


def _survived(plan: Plan) -> set[CheckedAssumption]:
    return {one.assumption for one in plan.assumptions if one.survives}


@pytest.mark.parametrize("profile", RiskProfile)
def test_what_nets_alike_is_told_with_the_axis_that_chose(profile: RiskProfile) -> None:
    # Nothing is swapped, and so little is at stake that no net differs by a dollar.
    small = replace(LEFT_BEHIND, profile=profile, dollars=60, gwei=0.0).position()
    large = replace(LEFT_BEHIND, profile=profile, sigma=0.05, half_width=0.3).position()
    axis = AXES[PROFILES[profile].tiebreak]
    for context, alike in ((small, True), (large, False)):
        round_ = judged(context)
        plan = concluded(context, round_)
        assert plan.choice.kind == "move"
        assert (axis in closing_statement(context, plan, round_).words) is alike


Tamper = Callable[[Any], Any]

DEADLOCKED = Market(0.03, 1.2, off_centre=2.5, gwei=52, profile=RiskProfile.CONSERVATIVE).position()
SWAPPING = 0
"""The candidate that is tampered with: one that needs a swap."""


def changed(payload: Any, **values: object) -> Any:
    return payload.model_copy(update=values)


def in_candidate(tamper: Callable[[Candidate], Candidate]) -> Tamper:
    def tampered(debate: Debate) -> Debate:
        latest = debate.latest
        candidates = list(latest.candidates)
        candidates[SWAPPING] = tamper(candidates[SWAPPING])
        return in_round(debate, candidates=tuple(candidates))

    return tampered


def in_round(debate: Debate, **values: object) -> Debate:
    latest: DebateRound = changed(debate.latest, **values)
    found: Debate = changed(debate, rounds=(*debate.rounds[:-1], latest))
    return found


def in_sigma(debate: Debate) -> Any:
    """Scout's facts with half the volatility, as a peer would love to have them."""
    context: Any = debate.context
    market = changed(context.observed.market, sigma=context.observed.market.sigma / 2)
    return changed(context, observed=changed(context.observed, market=market))


CANDIDATE_FIELDS: dict[str, Tamper] = {
    "kind": lambda one: changed(one, kind="tighten"),
    "index": lambda one: changed(one, index=one.index + 1),
    "pool": lambda one: changed(one, pool_id="0x" + "00" * 32),
    "lower tick": lambda one: changed(one, tick_lower=one.tick_lower - 10),
    "upper tick": lambda one: changed(one, tick_upper=one.tick_upper + 10),
    "amount0": lambda one: changed(one, amount0=one.amount0 + 1),
    "amount1": lambda one: changed(one, amount1=one.amount1 - 1),
    "residual0": lambda one: changed(one, residual0=one.residual0 + 1),
    "residual1": lambda one: changed(one, residual1=one.residual1 + 1),
    "liquidity": lambda one: changed(one, liquidity=one.liquidity + 1),
    "no swap": lambda one: changed(one, prep_action=None),
    "swap's yield": lambda one: changed(
        one, prep_action=changed(one.prep_action, amount_out=one.prep_action.amount_out + 1)
    ),
    "swap's cost": lambda one: changed(one, prep_action=changed(one.prep_action, cost_usd=0.0)),
    "1× buffer": lambda one: changed(
        one, buffer_hours=changed(one.buffer_hours, at_1x=one.buffer_hours.at_1x * 1.00001)
    ),
    "3× buffer": lambda one: changed(one, buffer_hours=changed(one.buffer_hours, at_3x=99.0)),
    "survival": lambda one: changed(one, survival=changed(one.survival, week=0.999999)),
    "life": lambda one: changed(one, median_life_hours=one.median_life_hours * 2),
    "share": lambda one: changed(one, in_range_share=1.0),
    "value": lambda one: changed(one, value_usd=one.value_usd * 2),
    "fees": lambda one: changed(one, fee_yield_24h=one.fee_yield_24h * 1.00001),
    "LVR": lambda one: changed(one, lvr_24h=0.0),
    "gas": lambda one: changed(one, gas_usd=0.0),
    "cost": lambda one: changed(one, cost_usd=0.0),
    "gas over yield": lambda one: changed(one, gas_yield=0.0),
    "break-even": lambda one: changed(one, break_even_hours=1.0),
    "no shape": lambda one: changed(one, shape=None),
    "other shape": lambda one: changed(one, shape=changed(one.shape, width_multiplier=0.31)),
    "shape out of bounds": lambda one: changed(
        one, shape=changed(one.shape, width_multiplier=40.0)
    ),
    "centre out of bounds": lambda one: changed(
        one, shape=changed(one.shape, center_offset_ticks=99_999)
    ),
    "pool nobody surveyed": lambda one: changed(one, shape=changed(one.shape, pool_index=3)),
    "pool before the first": lambda one: changed(one, shape=changed(one.shape, pool_index=-1)),
}
TAMPERS: dict[str, Tamper] = {
    **{name: in_candidate(tamper) for name, tamper in CANDIDATE_FIELDS.items()},
    "hold": lambda debate: changed(debate, hold=changed(debate.hold, fee_yield_24h=0.0)),
    "exit": lambda debate: changed(
        debate, exit=changed(debate.exit, amount1=debate.exit.amount1 + 1)
    ),
    "no exit": lambda debate: changed(debate, exit=None),
    "facts": lambda debate: changed(debate, context=in_sigma(debate)),
    "facts no number rests on": lambda debate: changed(
        debate, context=changed(debate.context, block=debate.context.block + 1)
    ),
    "facts and their hash": lambda debate: changed(
        debate, context=in_sigma(debate), context_hash=context_hash(in_sigma(debate))
    ),
    "too many": lambda debate: in_round(debate, candidates=debate.latest.candidates * 3),
    "one twice": lambda debate: in_round(debate, candidates=debate.latest.candidates[:1] * 2),
}


def tampering(role: Role, tamper: Tamper, kind: type[Debate], after: int = 1) -> Any:
    """The agent of this role, whose message of this kind is changed from its `after`th round on."""
    honest = HANDLERS[role]

    async def handler(
        envelope: Envelope, context: HandlerContext[DebateServices]
    ) -> AsyncGenerator[Outgoing, None]:
        async for outgoing in honest(envelope, context):
            said = outgoing.payload
            if isinstance(said, kind) and len(said.rounds) >= after:
                yield outgoing._replace(payload=tamper(said))
            else:
                yield outgoing

    return handler


@pytest.mark.parametrize("what", TAMPERS)
async def test_the_critic_refuses(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, STRATEGIST, tampering(STRATEGIST, TAMPERS[what], Proposal))
    failure = (await argue_over(DEADLOCKED)).ended.failure
    assert failure is not None
    assert (failure.stage, failure.cause) == ("critic", FailureCause.REFUSED)
    assert failure.reason.startswith("The Critic refuses the proposal. ")


async def test_the_critic_refuses_in_the_second_round_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tamper = tampering(STRATEGIST, TAMPERS["fees"], Proposal, after=2)
    monkeypatch.setitem(HANDLERS, STRATEGIST, tamper)
    argued = await argue_over(DEADLOCKED)
    assert argued.ended.failure is not None
    assert argued.ended.failure.stage == "critic"
    assert len(argued.said("critique")) == 1


@pytest.mark.parametrize("what", TAMPERS)
async def test_the_arbiter_refuses(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, CRITIC, tampering(CRITIC, TAMPERS[what], Deadlock))
    failure = (await argue_over(DEADLOCKED)).ended.failure
    assert failure is not None
    assert (failure.stage, failure.cause) == ("arbiter", FailureCause.REFUSED)
    assert failure.reason.startswith("The Arbiter refuses the debate. ")


async def test_a_veto_turned_into_an_accept_is_a_veto_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def laundered(debate: Deadlock) -> Any:
        judged = [
            changed(one, judgment=changed(one.judgment, verdict=verdict, by_rules=verdict))
            for one in debate.latest.candidates
            for verdict in [JudgmentVerdict.ACCEPT]
        ]
        return in_round(debate, candidates=tuple(judged))

    honest = (await argue_over(DEADLOCKED)).plan
    monkeypatch.setitem(HANDLERS, CRITIC, tampering(CRITIC, laundered, Deadlock))
    plan = (await argue_over(DEADLOCKED)).plan
    assert [move.judgment.verdict for move in plan.candidates if move.judgment] == [
        move.judgment.verdict for move in honest.candidates if move.judgment
    ]
    assert plan.choice.index == honest.choice.index


def test_what_nobody_touched_is_recomputed_to_the_same() -> None:
    """The tampers above are refused for what they change, not because everything is."""
    moves = candidates_of(DEADLOCKED, shapes_by_rules(DEADLOCKED, ()))
    debate = Proposal(
        context=DEADLOCKED,
        context_hash=context_hash(DEADLOCKED),
        max_rounds=2,
        hold=hold_candidate(DEADLOCKED),
        exit=exit_candidate(DEADLOCKED),
        rounds=(
            DebateRound(
                number=1,
                candidates=tuple(move.candidate for move in moves),
                rationale="",
                answers=(),
                proposed_by="rules",
            ),
        ),
    )
    assert moves[SWAPPING].candidate.prep_action is not None
    assert [astuple(move) for move in recompute(debate)] == [astuple(move) for move in moves]


OUTSIDE = Market(0.02, 1.6, half_width=0.1, off_centre=2.5, gwei=0.05, dollars=800)


def with_day(context: MarketContext, times: float, away: float = 0.0) -> MarketContext:
    """A day of 24 swaps to and fro that paid so many times the week's rate, so far from here."""
    observed = context.observed
    rate = observed.market.fee_rate_7d
    assert rate is not None
    here, there = (int(part * ROOT_PARTS) for part in (away, away + 0.002))
    paid = round(rate * times / 24 * RATE_PARTS)
    liquidity = observed.pool.liquidity // 10**6
    steps = tuple(
        (
            3_600 * (23 - place),
            (there, here)[place % 2],
            min(here, there),
            max(here, there),
            paid,
            10**6,
        )
        for place in range(24)
    )
    path = PricePathFacts(opening=here, liquidity_unit=liquidity, swaps=24, steps=steps)
    return context.model_copy(update={"observed": observed.model_copy(update={"day_path": path})})


def found(move: JudgedCandidate) -> list[JudgmentVerdict]:
    return [one.verdict for one in move.judgment.findings if one.rule is Rule.REPLAY]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [(1.0, JudgmentVerdict.ACCEPT), (0.2, JudgmentVerdict.REVISE), (5.0, JudgmentVerdict.ACCEPT)],
)
def test_a_day_that_paid_less_than_nine_in_ten_sends_a_move_back(
    times: float, verdict: JudgmentVerdict
) -> None:
    context = with_day(OUTSIDE.position(), times)
    for move in judged(context).moves:
        if move.evaluated.numbers.entry is not None:
            assert found(move) == [], "what waits beside the price was not there"
            continue
        assert found(move) == [verdict]
        replayed = move.judgment.replay_24h
        assert replayed is not None
        assert replayed.in_range_share == 1.0
        expected = move.evaluated.candidate.fee_yield_24h
        share = move.evaluated.candidate.in_range_share
        assert expected is not None
        assert share is not None
        # The week's own rate is what the day paid; what is expected is drawn towards the usual.
        assert replayed.fees_usd > expected / share * times
        if verdict is JudgmentVerdict.REVISE:
            assert move.judgment.by_rules is not JudgmentVerdict.ACCEPT


def test_a_range_the_price_was_not_in_says_nothing() -> None:
    context = with_day(OUTSIDE.position(), 0.2, away=0.5)
    for move in judged(context).moves:
        assert found(move) == []
        assert move.judgment.replay_24h is not None
        assert move.judgment.replay_24h.fees_usd == 0


async def test_the_second_method_is_on_the_record_and_replays(tmp_path: Path) -> None:
    context = with_day(OUTSIDE.position(), 0.2)
    argued = await argue_over(context)
    check_argued(context, argued)
    assert argued.plan.decided_by == "arbiter"
    assert argued.plan.verdict != "approve"
    file = tmp_path / "record.jsonl"
    file.write_bytes(argued.record)
    report, again = await replay_debate(read_record(file))
    assert report.matches
    assert again.plan == argued.plan
