"""A month on the embedded chain: the scorecard against a recount from raw logs."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

import httpx2
import pytest

from agents.lp.payloads import FlowStart
from agents.lp.plan import Candidate, Choice, Plan, plan_identity
from agents.numbers.advice import AdviceReason
from agents.numbers.rules import RiskProfile
from agents.scorecard.judging import Judged, judge_due
from agents.scorecard.score import AdviceKind, HorizonScore
from agents.scorecard.scoring import DecidedPlan
from chain.base.store import Store
from chain.devnet.world.pools import POOLS
from chain.positions.overview import Sources
from chain.protocols.reference import v4_position
from chain.rpc.client import RpcClient
from tests.agents.lp.debating import DEVNET, argue, watching
from tests.agents.monitor.walked_market import WalkedPool
from tests.agents.scorecard.recount import DAY, HOUR, LoggedSwap, logged_swaps, recount
from tests.chain.moves import Moves
from tests.embedded_chain import embedded_chain

SWAPS_A_DAY = 3
PLAN_DAYS = (0, 9, 20)
"""On which days of the month somebody asks."""


@dataclass(frozen=True)
class Month:
    moves: Moves
    plans: tuple[Plan, ...]
    swaps: list[LoggedSwap]
    store: Store

    def judge(self, plans: tuple[Plan, ...] | None = None) -> Judged:
        async def judged() -> Judged:
            async with RpcClient(DEVNET, (self.moves.url,)) as client:
                sources = Sources(client, DEVNET, self.store, None, lambda: 0.0)
                asked = [DecidedPlan(one, "rules") for one in plans or self.plans]
                return await judge_due(sources, asked)

        return asyncio.run(judged())


def advising(plan: Plan, kind: Literal["hold", "exit", "move"], one: Candidate) -> Plan:
    """The same plan with another choice, whoever would make it."""
    choice = Choice(
        kind=kind,
        index=one.index,
        codes=(AdviceReason.NO_CANDIDATE,),
        reasons=("by hand",),
    )
    changed = plan.model_copy(update={"choice": choice, "recommended": one, "plan_id": ""})
    return changed.model_copy(update={"plan_id": plan_identity(changed)})


def variants(plan: Plan) -> Iterator[Plan]:
    assert plan.exit is not None
    yield advising(plan, "hold", plan.hold)
    yield advising(plan, "exit", plan.exit)
    for move in plan.candidates[:3]:
        yield advising(plan, "move", move)


@pytest.fixture(scope="module")
def month() -> Iterator[Month]:
    """On a chain of its own: blocks are replaced there that no snapshot brings back."""
    with embedded_chain() as chain, httpx2.Client(verify=False) as http, Store.in_memory() as store:
        yield _lived(Moves(http, chain.url, DEVNET), store)


def _lived(moves: Moves, store: Store) -> Month:
    token_id = moves.rpc("zuno_status")["positions"]["healthy"]
    head = moves.rpc("eth_getBlockByNumber", "latest", False)
    start, random = int(head["timestamp"], 16), Random(12)
    plans: list[Plan] = []
    pool: WalkedPool | None = None
    for day in range(32):
        if day in PLAN_DAYS:
            plan = asyncio.run(_argued(moves.url, token_id))
            key = next(one.key for one in POOLS if one.key.pool_id == plan.hold.pool_id)
            pool = WalkedPool(moves, key)
            plans += variants(plan)
        assert pool is not None
        for part in range(SWAPS_A_DAY):
            time = start + day * DAY + (part + 1) * DAY // SWAPS_A_DAY - random.randrange(HOUR)
            moves.rpc("evm_setNextBlockTimestamp", time)
            pool.push(round(random.gauss(4, 110)) or 1)
    return Month(moves, tuple(plans), logged_swaps(moves, plans[0].hold.pool_id), store)


async def _argued(url: str, token_id: int) -> Plan:
    async with watching(url) as eyes:
        start = FlowStart(
            token_id=v4_position(token_id), profile=RiskProfile.BALANCED, max_rounds=1
        )
        return (await argue(start, eyes)).plan


@pytest.fixture(scope="module")
def judged(month: Month) -> Judged:
    return month.judge()


def _plan(month: Month, score: HorizonScore) -> Plan:
    return next(one for one in month.plans if one.plan_id == score.plan_id)


def test_every_horizon_that_is_over_is_judged_and_no_other(month: Month, judged: Judged) -> None:
    over = {(day, days) for day in PLAN_DAYS for days in (1, 7, 30) if day + days < 31}
    per_plan = len(month.plans) // len(PLAN_DAYS)
    assert len(month.plans) % len(PLAN_DAYS) == 0
    assert len(judged.scores) == per_plan * len(over)
    assert len(judged.not_yet) == per_plan * (3 * len(PLAN_DAYS) - len(over))
    assert judged.not_on_chain == ()
    assert 100 < len(month.swaps) <= 800


def test_worths_are_what_raw_swaps_say(month: Month, judged: Judged) -> None:
    for score in judged.scores:
        again = recount(_plan(month, score), score.days, month.swaps)
        tolerance = 2e-4 * score.worth_before
        assert score.worths.exit == pytest.approx(again.exit, rel=1e-5)
        assert score.worths.hold == pytest.approx(again.hold, abs=tolerance)
        assert score.worths.choice == pytest.approx(again.choice, abs=tolerance)
        assert score.worths.wide == pytest.approx(again.wide, abs=tolerance)
        assert score.hedged is not None
        told = (score.hedged.choice, score.hedged.hold, score.hedged.exit, score.hedged.wide)
        assert told == pytest.approx(again.hedged, abs=tolerance)


def test_advice_that_was_wrong_shows_as_wrong(month: Month, judged: Judged) -> None:
    """Of leaving and holding one was wrong, and whichever it was is said to be."""
    by_kind = {
        (one.made_at, one.days, one.kind): one
        for one in judged.scores
        if one.kind in (AdviceKind.HOLD, AdviceKind.EXIT)
    }
    for (made_at, days, kind), one in by_kind.items():
        if kind is AdviceKind.EXIT:
            held = by_kind[made_at, days, AdviceKind.HOLD]
            assert one.over_hold is not None
            assert held.over_exit == pytest.approx(-one.over_hold)
            right = recount(_plan(month, one), days, month.swaps)
            assert (one.over_hold > 0) == (right.hedged[2] > right.hedged[1])


def test_a_score_is_final_and_outlives_its_plan(month: Month, judged: Judged) -> None:
    again = month.judge()
    assert again.new == 0
    assert sorted(again.scores, key=repr) == sorted(judged.scores, key=repr)
    without = month.judge(month.plans[:1])
    assert len(without.scores) == len(judged.scores)


def test_a_plan_of_another_chain_is_named_and_not_judged(month: Month) -> None:
    stranger = month.plans[0].model_copy(
        update={"block_hash": "0x" + "11" * 32, "plan_id": "plan_0000000000000000"}
    )
    judged = month.judge((stranger,))
    assert judged.not_on_chain == ("plan_0000000000000000",)


def test_blocks_that_were_replaced_are_judged_again(month: Month, judged: Judged) -> None:
    """The last test of the month: its last block is another one afterwards."""
    month.moves.reorg(1)
    again = month.judge()
    assert again.new == len(judged.scores)
    before, after = ({one.read_at for one in each.scores} for each in (judged, again))
    assert len(before) == len(after) == 1
    assert before.isdisjoint(after)
