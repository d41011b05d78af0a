"""Each day of a range from the pool's swaps, against what the fee growth says of the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.base.quantity import Known
from chain.base.units import DAY
from chain.devnet.world.accounts import DEMO_WALLET
from chain.history.flows import FeeTerms
from chain.history.ranges import LiquidityRange, range_fees
from chain.history.swaps import read_recent_swaps
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.change_reader import ChangeReader
from chain.positions.daily import days_of_range, read_daily_results
from chain.positions.profit import worth

if TYPE_CHECKING:
    from chain.history.swaps import SwapHistory
    from chain.positions.snapshot import PositionSnapshot
    from tests.chain.conftest import Desk


async def test_the_days_follow_each_other_and_add_up(desk: Desk) -> None:
    """Fees of all days are those of their whole path; the last day is the one fee growth tells."""
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    reader = ChangeReader(desk.client, desk.network, desk.memory, desk.changes)
    accounts = await reader.since_entry(wallet.positions)
    measured = await read_daily_results(desk.client, desk.network, wallet.positions, accounts)
    earning = 0
    for one in wallet.positions:
        changes, daily = accounts[one.token_id].changes, measured[one.token_id]
        swaps = await read_recent_swaps(desk.client, desk.network, one.pool.pool_id, 7 * DAY)
        days = days_of_range(one, swaps, changes[0].timestamp)
        begins = [one.block.timestamp - DAY * back for back in range(len(days), 0, -1)]
        assert [day.begin for day in days] == begins
        if not days:
            continue
        whole = _fees_since(one, swaps, begins[0])
        assert float(sum(day.fees for day in days)) == pytest.approx(whole, rel=1e-9, abs=len(days))
        assert isinstance(daily.fees, Known)
        # The measured day begins at a block, which may leave the first swap of ours out.
        told = float(worth(daily.fees.value, one.pool.sqrt_price_x96))
        assert float(days[-1].fees) == pytest.approx(told, rel=0.25, abs=2)
        earning += told > 0

    assert earning >= 2


def _fees_since(one: PositionSnapshot, swaps: SwapHistory, begin: int) -> float:
    identity = one.identity
    lower, upper = (sqrt_price_at_tick(t) for t in (identity.tick_lower, identity.tick_upper))
    held = LiquidityRange(lower, upper, one.liquidity)
    before = [timed.swap for timed in swaps.swaps if timed.time <= begin]
    after = [timed.swap for timed in swaps.swaps if timed.time > begin]
    terms = FeeTerms(one.pool.key.fee, one.pool.protocol_fee)
    fees = range_fees([*before[-1:], *after], held, terms, included=True)
    return float(worth(Amounts(fees.fees0, fees.fees1), one.pool.sqrt_price_x96))


async def test_a_position_younger_than_a_day_has_no_days(desk: Desk) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    one = wallet.positions[0]
    swaps = await read_recent_swaps(desk.client, desk.network, one.pool.pool_id, 2 * DAY)

    assert days_of_range(one, swaps, one.block.timestamp - DAY + 1) == ()
