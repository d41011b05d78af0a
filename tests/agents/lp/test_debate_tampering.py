"""A proposal that was changed on the way is refused, by the Critic and by the Arbiter."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from msgspec.structs import astuple

from agents.bus.envelope import Envelope, FailureCause, Role
from agents.bus.worker import HandlerContext, Outgoing
from agents.lp.debate import HANDLERS
from agents.lp.evaluation import exit_candidate, hold_candidate
from agents.lp.judge import recompute
from agents.lp.payloads import (
    CRITIC,
    STRATEGIST,
    Deadlock,
    Debate,
    DebateRound,
    Proposal,
    context_hash,
)
from agents.lp.plan import Candidate
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.lp.services import DebateServices
from agents.numbers.rules import JudgmentVerdict, RiskProfile
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up import Market

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
