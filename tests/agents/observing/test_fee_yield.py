"""The expected fee yield against what the next 24 hours really paid.

In CI the market runs on paper, which a test ties to the chain; `make soak` runs it on the chain.
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake
from agents.numbers.profiles import RiskProfile
from chain.devnet.clock import Clock
from chain.devnet.live import LiveWorld
from chain.devnet.node.node import Node
from chain.devnet.node.server import Server
from chain.devnet.world.market import HISTORY_ENDS, MARKET_OPENS, SimulatedMarket
from chain.devnet.world.phases import Mood
from chain.devnet.world.pools import POOLS
from chain.devnet.world.price_path import SeededPath
from chain.devnet.world.worlds import open_world
from tests.agents.observing.conftest import scouting
from tests.agents.observing.paper_day import (
    DAY,
    CalmFromNow,
    Forecast,
    PaperMarket,
    expected_fees,
    fees_paid,
    forecasts,
)
from tests.agents.observing.raw_swaps import raw_swaps
from tests.chain.devnet.paper_market import PaperState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.lp.facts import MarketContext
    from chain.devnet.node.execution import BlockState
    from tests.agents.observing.conftest import Chain

HOUR = 3600
SEEDS = range(101, 109)
"""None of them was used while any of this was built."""


def founded() -> BlockState:
    """The chain before anybody traded, the same for every seed."""
    ledger = open_world(7, "small").ledger
    number = 0
    while ledger.block(number + 1).header.timestamp < MARKET_OPENS:
        number += 1
    return ledger.state(number)


def table(title: str, found: dict[int, list[Forecast]]) -> str:
    names = [one.name for one in next(iter(found.values()))]
    lines = [f"\n{title}: expected / paid − 1", "seed  " + "".join(f"{n:>16}" for n in names)]
    for seed, row in found.items():
        errors = {one.name: one.error for one in row}
        cells = (f"{errors[n]:>+16.0%}" if n in errors else f"{'–':>16}" for n in names)
        lines.append(f"{seed:<6}" + "".join(cells))
    everything = [one.error for row in found.values() for one in row]
    lines.append(f"median {median(everything):+.1%}, of sizes {median(map(abs, everything)):.1%}\n")
    return "\n".join(lines)


def test_in_a_calm_market_the_forecast_is_within_a_fifth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = founded()
    found = {seed: forecasts(seed, state, calm=True) for seed in SEEDS}
    with capsys.disabled():
        sys.stdout.write(table("fee yield on paper, calm before and after", found))
    errors = [one.error for row in found.values() for one in row]
    assert median(map(abs, errors)) < 0.20
    assert abs(median(errors)) < 0.10


def test_when_moods_change_the_forecast_is_still_of_the_right_size(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A day with a shock in it pays other fees than one without, and nobody knows when it comes."""
    state = founded()
    found = {seed: forecasts(seed, state, calm=False) for seed in SEEDS[:4]}
    with capsys.disabled():
        sys.stdout.write(table("fee yield on paper, from a calm hour on", found))
    errors = [one.error for row in found.values() for one in row]
    assert median(map(abs, errors)) < 0.50


async def test_paper_trades_what_the_chain_trades_and_pays_what_it_pays(chain: Chain) -> None:
    world = open_world(7, "small")
    paper = PaperMarket(world.market, PaperState(world.ledger.state()))
    paper.trade(HISTORY_ENDS, HISTORY_ENDS + HOUR)
    token_id = chain.positions["healthy"]
    with chain.moves.undone():
        async with chain.opened() as scouting_:
            before = await scouting_.observer.observe_position(token_id, RiskProfile.BALANCED)
            chain.moves.rpc("zuno_step", HOUR)
            after = await scouting_.observer.observe_position(token_id, RiskProfile.BALANCED)
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
            pytest.approx(amounts, rel=1e-3) for amounts in planned
        ]
    held = Stake(ticks_of(before), before.position.liquidity)
    events = [timed.swap for timed in paper.swaps[before.observed.pool.pool_id]]
    at_start = replace(events[0], sqrt_price_x96=before.observed.pool.sqrt_price_x96)
    assert fees_paid(before.observed, held, [at_start, *events]) == pytest.approx(
        _paid(before, after), rel=1e-3
    )


@pytest.mark.soak
@pytest.mark.parametrize(("calm", "within"), [(True, 0.20), (False, 0.40)])
async def test_the_yield_of_the_next_day_on_the_chain(
    capsys: pytest.CaptureFixture[str], calm: bool, within: float
) -> None:
    found = {seed: await _forecasts_on_chain(seed, calm=calm) for seed in (201, 202, 203)}
    with capsys.disabled():
        moods = "calm before and after" if calm else "from a calm hour on"
        sys.stdout.write(table(f"fee yield on the chain, {moods}", found))
    assert median(abs(one.error) for row in found.values() for one in row) < within


async def _forecasts_on_chain(seed: int, *, calm: bool) -> list[Forecast]:
    world = open_world(seed, "small")
    if calm:
        draws = world.market.path.draws
        world = replace(world, market=SimulatedMarket(SeededPath(draws, CalmFromNow(draws))))
    node = Node(world.ledger)
    live = LiveWorld(world, node, Clock(time.monotonic, world.ledger.head.timestamp, 0))
    server = Server(node)
    url = await server.start()
    try:
        live.step(2 * HOUR + DAY)
        while world.market.phase(live.head_time).mood is not Mood.CALM:
            live.step(HOUR)
        positions = {name: one for name, one in world.positions.items() if name != "burned"}
        before = await _observed(url, positions)
        live.step(DAY)
        after = await _observed(url, positions)
    finally:
        await server.close()
    return [
        Forecast(name, _expected(context), _paid(context, after[name]))
        for name, context in before.items()
        if _earning(context) and _paid(context, after[name]) > 0
    ]


async def _observed(url: str, positions: Mapping[str, int]) -> dict[str, MarketContext]:
    async with scouting(url) as scout:
        return {
            name: await scout.observer.observe_position(token_id, RiskProfile.BALANCED)
            for name, token_id in positions.items()
        }


def _earning(context: MarketContext) -> bool:
    position, pool = context.position, context.observed.pool
    return position.liquidity > 0 and position.tick_lower <= pool.tick < position.tick_upper


def _expected(context: MarketContext) -> float:
    return expected_fees(context.observed, Stake(ticks_of(context), context.position.liquidity))


def ticks_of(context: MarketContext) -> TickRange:
    return TickRange(context.position.tick_lower, context.position.tick_upper)


def _paid(before: MarketContext, after: MarketContext) -> float:
    """At the prices the yield was forecast with."""
    unit0 = before.observed.token0.usd_per_unit or 0
    unit1 = before.observed.token1.usd_per_unit or 0
    fees0 = after.position.fees0 - before.position.fees0
    fees1 = after.position.fees1 - before.position.fees1
    return fees0 * unit0 + fees1 * unit1
