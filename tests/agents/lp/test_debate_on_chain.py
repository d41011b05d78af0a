"""Every position of the demo, under every profile: the outcome its state calls for."""

import sys

import pytest
import pytest_asyncio

from agents.bus.envelope import FailureCause
from agents.lp.payloads import FlowStart
from agents.numbers.advice import AdviceReason
from agents.numbers.rules import RiskProfile
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.agents.lp.debating import Argued, argue, watching
from tests.agents.lp.second_opinion import check_argued

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEALTHY = ("healthy", "native", "dynamic fee", "transferred in")
LEFT_BEHIND = ("below its range", "above its range")
KEPT = (*HEALTHY, *LEFT_BEHIND, "stable", "hooked", "underpaid", "emptied", "near the edge")


Table = dict[tuple[str, RiskProfile], Argued]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def table(demo_week: DevnetReady, demo_positions: dict[str, int]) -> Table:
    found = {}
    async with watching(demo_week.url) as eyes:
        for state in KEPT:
            for profile in RiskProfile:
                start = FlowStart(
                    token_id=v4_position(demo_positions[state]), profile=profile, max_rounds=2
                )
                found[state, profile] = await argue(start, eyes)
    return found


async def test_every_position_and_profile_ends_in_an_argued_plan(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    for argued in table.values():
        check_argued(argued.market, argued)
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(_row(*key, argued) for key, argued in table.items()))
        sys.stdout.write("\n")
    assert len(table) == 33


@pytest.mark.parametrize("profile", RiskProfile)
@pytest.mark.parametrize("state", HEALTHY)
async def test_a_healthy_position_is_left_alone(
    table: Table, state: str, profile: RiskProfile
) -> None:
    plan = table[state, profile].plan
    assert plan.choice.kind == "hold"
    assert plan.recommended == plan.hold
    assert plan.choice.codes[0] in (AdviceReason.IN_RANGE, AdviceReason.IN_DEAD_BAND)
    assert plan.verdict == "approve"


@pytest.mark.parametrize("profile", RiskProfile)
@pytest.mark.parametrize("state", LEFT_BEHIND)
async def test_a_position_left_behind_moves_or_says_why_not(
    table: Table, state: str, profile: RiskProfile
) -> None:
    argued = table[state, profile]
    plan = argued.plan
    assert plan.hold.buffer_hours is not None
    assert plan.hold.buffer_hours.at_1x == 0
    assert plan.choice.kind in ("move", "hold")
    if plan.choice.kind == "move":
        move = plan.recommended
        assert move.tick_lower is not None
        assert move.tick_upper is not None
        assert move.tick_lower <= argued.market.observed.pool.tick < move.tick_upper
        assert move.prep_action is not None, "all of it is one token: half must be swapped"
        assert move.cost_usd is not None
        assert move.prep_action.cost_usd is not None
        assert 0 < move.prep_action.cost_usd < move.cost_usd
    else:
        assert plan.choice.codes == (AdviceReason.GAIN_UNDER_COST,)


@pytest.mark.parametrize("profile", RiskProfile)
async def test_a_hook_that_can_shut_the_door_argues_for_leaving(
    table: Table, profile: RiskProfile
) -> None:
    argued = table["hooked", profile]
    plan = argued.plan
    powers = argued.market.observed.pool.hook_powers
    assert powers
    assert plan.choice.kind == "exit"
    assert plan.recommended == plan.exit
    assert plan.choice.reasons == powers
    assert argued.said("hook") == [f"The hook is dangerous: {' '.join(powers)}"]


@pytest.mark.parametrize("profile", RiskProfile)
async def test_a_stable_pair_gets_no_nonsense_width(table: Table, profile: RiskProfile) -> None:
    argued = table["stable", profile]
    plan, pool = argued.plan, argued.market.observed.pool
    assert plan.choice.kind == "hold"
    for move in plan.candidates:
        assert move.tick_lower is not None
        assert move.tick_upper is not None
        assert pool.tick - 50 <= move.tick_lower <= pool.tick < move.tick_upper <= pool.tick + 50


@pytest.mark.parametrize("profile", RiskProfile)
async def test_an_emptied_position_is_held_because_nothing_is_in_it(
    table: Table, profile: RiskProfile
) -> None:
    plan = table["emptied", profile].plan
    assert plan.candidates == ()
    assert plan.choice.kind == "hold"
    assert plan.choice.reasons == ("there is nothing in this position to move",)
    assert plan.hold.liquidity == 0


@pytest.mark.parametrize("profile", RiskProfile)
async def test_a_pool_whose_fees_do_not_pay_for_its_moves_is_left(
    table: Table, profile: RiskProfile
) -> None:
    plan = table["underpaid", profile].plan
    assert (plan.choice.kind, plan.recommended) == ("exit", plan.exit)
    assert plan.choice.codes == (AdviceReason.STAYING_LOSES, AdviceReason.POOL_DOES_NOT_PAY)
    assert plan.hold.net_7d is not None
    assert plan.hold.net_7d < 0


async def test_one_position_moves_one_stays_and_one_leaves_by_the_usual_profile(
    table: Table,
) -> None:
    chosen = {
        state: table[state, RiskProfile.BALANCED].plan.choice.kind
        for state in ("below its range", "healthy", "underpaid")
    }
    assert chosen == {"below its range": "move", "healthy": "hold", "underpaid": "exit"}


async def test_a_burned_position_ends_at_scout_with_a_sentence(
    demo_week: DevnetReady, demo_positions: dict[str, int]
) -> None:
    burned = demo_positions["burned"]
    async with watching(demo_week.url) as eyes:
        argued = await argue(
            FlowStart(token_id=v4_position(burned), profile=RiskProfile.BALANCED, max_rounds=2),
            eyes,
        )
    failure = argued.ended.failure
    assert failure is not None
    assert (failure.stage, failure.cause) == ("scout", FailureCause.REFUSED)
    assert f"There is no position {burned}" in failure.reason


def _row(state: str, profile: RiskProfile, argued: Argued) -> str:
    plan, chosen = argued.plan, argued.plan.recommended
    ticks = "" if chosen.tick_lower is None else f"{chosen.tick_lower} … {chosen.tick_upper}"
    judged = " ".join(
        f"{move.kind}:{move.judgment.verdict.value if move.judgment else '?'}"
        for move in plan.candidates
    )
    return (
        f"{state:15} {profile.value:12} {plan.regime.value:8} {chosen.kind:7} {ticks:19}"
        f" {plan.verdict.value:20} {plan.choice.codes[0]:16} by {plan.decided_by} in {plan.rounds}"
        f" | {judged} | {plan.choice.reasons[0]}"
    )
