"""Trading on paper, as the live market would do it, and what it pays a range."""

from dataclasses import dataclass, field

from agents.lp.facts import ObservedPool
from agents.numbers.outlook import Stake
from chain.devnet.world.market import PlannedSwap, SimulatedMarket, live_visits
from chain.devnet.world.pools import (
    POOLS,
)
from chain.history.events import FeeTerms
from chain.history.fee_rate import LiquidityRange
from chain.math.fees import unpack_protocol_fee
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.past import LogPlace, SwapEvent
from tests.chain.devnet.paper_market import PaperState
from tests.chain.history.all_swaps import TimedSwap
from tests.chain.history.exact_fees import range_fees


@dataclass
class PaperMarket:
    market: SimulatedMarket
    state: PaperState
    swaps: dict[str, list[TimedSwap]] = field(
        default_factory=lambda: {pool.key.pool_id: [] for pool in POOLS}
    )

    def trade(self, after: int, until: int) -> None:
        """Everything the live market does between two times."""
        for visit in live_visits(self.market, after):
            if visit.time > until:
                return
            round_ = self.market.round(self.state, visit)
            self.state.carry_out(round_)
            for swap in round_.swaps:
                self.swaps[swap.walk.end.pool_id].append(_event(swap, visit.time))


def fees_paid(observed: ObservedPool, stake: Stake, swaps: list[SwapEvent]) -> float:
    """What swaps paid a stake, at observed prices; the first says where the price began."""
    pool, ticks = observed.pool, stake.ticks
    held = LiquidityRange(
        sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper), stake.liquidity
    )
    terms = FeeTerms(pool.fee, unpack_protocol_fee(pool.protocol_fee))
    earned = range_fees(swaps, held, terms, included=True)
    unit0, unit1 = observed.token0.usd_per_unit, observed.token1.usd_per_unit
    assert unit0 is not None
    assert unit1 is not None
    return earned.fees0 * unit0 + earned.fees1 * unit1


def _event(swap: PlannedSwap, time: int) -> TimedSwap:
    walk, end = swap.walk, swap.walk.end
    paid, got = -walk.amount_in, walk.amount_out
    event = SwapEvent(
        place=LogPlace(0, 0, "0x", "0x"),
        pool_id=end.pool_id,
        sender=swap.trader.address,
        amount0=paid if walk.zero_for_one else got,
        amount1=got if walk.zero_for_one else paid,
        sqrt_price_x96=end.sqrt_price_x96,
        liquidity=end.liquidity,
        tick=end.tick,
        fee=swap.start.fee(zero_for_one=walk.zero_for_one),
    )
    return TimedSwap(event, time)
