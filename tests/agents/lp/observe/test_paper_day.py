"""A market on paper against the same market on the chain: what is traded, and what it pays."""

import pytest
from msgspec.structs import replace

from agents.lp.facts import MarketContext
from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake
from agents.numbers.rules import RiskProfile
from chain.devnet.world.market import HISTORY_ENDS
from chain.devnet.world.pools import POOLS
from chain.protocols.reference import v4_position
from tests.agents.lp.observe.conftest import Chain
from tests.agents.lp.observe.paper_day import PaperMarket, fees_paid
from tests.agents.lp.observe.raw_swaps import raw_swaps
from tests.chain.devnet.paper_market import PaperState
from tests.chain_view import fresh_chain, small_world

HOUR = 3600
_CLOSE = 1e-2
"""The crowd trades for what a pool's fee growth lacks, which paper keeps less exactly."""


async def test_paper_trades_what_the_chain_trades_and_pays_what_it_pays(chain: Chain) -> None:
    paper = PaperMarket(small_world().market, PaperState(fresh_chain()))
    paper.trade(HISTORY_ENDS, HISTORY_ENDS + HOUR)
    token_id = chain.positions["healthy"]
    with chain.moves.undone():
        async with chain.opened() as scouting_:
            before = await scouting_.observer.observe_position(
                v4_position(token_id), RiskProfile.BALANCED
            )
            chain.moves.rpc("zuno_step", HOUR)
            after = await scouting_.observer.observe_position(
                v4_position(token_id), RiskProfile.BALANCED
            )
        real = {
            pool.key.pool_id: [
                swap
                for swap in raw_swaps(chain.moves, pool.key.pool_id)
                if swap.time > HISTORY_ENDS
            ]
            for pool in POOLS
        }
    assert before.time == HISTORY_ENDS
    assert sum(map(len, real.values())) > 20
    for pool_id, swaps in real.items():
        planned = [(one.swap.amount0, one.swap.amount1) for one in paper.swaps[pool_id]]
        assert [(one.amount0, one.amount1) for one in swaps] == [
            pytest.approx(amounts, rel=_CLOSE) for amounts in planned
        ]
    held = Stake(ticks_of(before), before.position.liquidity)
    events = [timed.swap for timed in paper.swaps[before.observed.pool.pool_id]]
    at_start = replace(events[0], sqrt_price_x96=before.observed.pool.sqrt_price_x96)
    assert fees_paid(before.observed, held, [at_start, *events]) == pytest.approx(
        _paid(before, after), rel=_CLOSE
    )


def ticks_of(context: MarketContext) -> TickRange:
    return TickRange(context.position.tick_lower, context.position.tick_upper)


def _paid(before: MarketContext, after: MarketContext) -> float:
    """At the prices the yield was forecast with."""
    unit0 = before.observed.token0.usd_per_unit or 0
    unit1 = before.observed.token1.usd_per_unit or 0
    fees0 = after.position.fees0 - before.position.fees0
    fees1 = after.position.fees1 - before.position.fees1
    return fees0 * unit0 + fees1 * unit1
