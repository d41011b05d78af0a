"""How many HTTP requests an observation takes, new to everything and known."""

from agents.lp.facts import Capital, CreateGoal
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import WETH
from chain.protocols.reference import v4_position
from tests.agents.lp.observe.conftest import Chain

GOAL = CreateGoal(
    capital=(Capital(token=WETH.address, amount=10**18),),
    pair=None,
    exposure=ExposureBias.NEUTRAL,
    fee=None,
)


async def test_a_position_takes_few_requests_and_fewer_the_second_time(chain: Chain) -> None:
    token_id = chain.positions["hooked"]
    async with chain.opened() as scouting:
        counts = []
        for _ in range(3):
            before = scouting.client.round_trips
            await scouting.observer.observe_position(v4_position(token_id), RiskProfile.BALANCED)
            counts.append(scouting.client.round_trips - before)
    # Position 2, week's start 1, headers 1, swaps 1, their times 1, the pool's beginning and the
    # proof that they are all 2, depth 2, gas 1, the account's code 1, prices 2.
    assert counts == [15, 8, 8]


async def test_a_survey_takes_no_more_for_many_pools_than_for_one(chain: Chain) -> None:
    async with chain.opened() as scouting:
        counts = []
        for fee in (None, None, 500):
            before = scouting.client.round_trips
            order = GOAL.model_copy(update={"fee": fee})
            await scouting.observer.survey(order, DEMO_WALLET.address, RiskProfile.BALANCED)
            counts.append(scouting.client.round_trips - before)
    # The list of pools 2, their states 1, depth for the order 2, hooks 1; then as above without
    # the position.
    assert counts == [17, 9, 9]
