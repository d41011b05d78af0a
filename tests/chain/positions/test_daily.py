"""What positions earned and lost in 24 closed hours, against the chain's own past."""

from bisect import bisect_left
from itertools import pairwise
from typing import TypeAlias

import pytest

from chain.base.units import DAY, HOUR, Known, Unknown
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.pools import STABLE
from chain.history.events import fee_terms, read_marks
from chain.history.hour_reader import read_hours
from chain.history.hours import PoolHours, hour_of
from chain.math.liquidity import Amounts
from chain.positions.batch_reader import read_positions
from chain.positions.by_day import SinceEntry, liquidity_in
from chain.positions.overview import Sources
from chain.positions.performance import DailyResult, earning_since, read_performance
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4.storage import layout_of
from chain.rpc import requests
from chain.rpc.records import Block
from tests.chain.conftest import Desk
from tests.chain.moves import Moves

Measured: TypeAlias = "tuple[PositionSnapshot, SinceEntry, DailyResult, PoolHours]"


async def daily(desk: Desk, owner: str = DEMO_WALLET.address) -> list[Measured]:
    wallet = await desk.discovery.read(owner)
    performance = await read_performance(
        Sources(desk.client, desk.network, desk.store, None, lambda: 0.0), wallet.positions
    )
    return [
        (
            one,
            performance.accounts[one.ref],
            performance.daily[one.ref],
            performance.hours[one.pool.pool_id],
        )
        for one in wallet.positions
    ]


async def test_a_day_is_24_closed_hours_and_what_accrued_in_them(desk: Desk) -> None:
    compared = 0
    for snapshot, account, result, hours in await daily(desk):
        end = snapshot.block.timestamp - snapshot.block.timestamp % HOUR
        assert isinstance(result.fees, Known)
        assert result.fees.time == end
        opened = earning_since(account)
        assert opened is not None
        age = end - opened
        assert result.measured_seconds == min(DAY, age)
        assert result.whole_day is (age >= DAY)
        if any(change.timestamp > end - DAY for change in account.changes):
            continue
        before, after = [
            (await _fees_at(desk, snapshot.ref.token_id, moment)) for moment in (end - DAY, end)
        ]
        for paid, grown in zip(result.fees.value, _difference(after, before), strict=True):
            # The contract rounds each swap's fee up to a unit, of all providers together.
            assert abs(paid - grown) <= hours.swaps
            compared += grown > 10_000
    assert compared >= 12


def _difference(after: Amounts, before: Amounts) -> Amounts:
    return Amounts(after.amount0 - before.amount0, after.amount1 - before.amount1)


async def _fees_at(desk: Desk, token_id: int, moment: int) -> Amounts:
    """By the state of the newest block before."""
    head = await desk.client.head()
    blocks = await desk.client.settle([requests.block(one) for one in range(head.number + 1)])
    times = [block.timestamp for block in blocks if isinstance(block, Block)]
    at = bisect_left(times, moment) - 1
    found = await read_positions(
        desk.client, desk.network, desk.memory, [v4_position(token_id)], at=at
    )
    return Amounts(found[v4_position(token_id)].fees0, found[v4_position(token_id)].fees1)


async def test_loss_is_that_of_the_prices_hours_closed_with(desk: Desk) -> None:
    manager = desk.network.contracts.position_manager
    lost = 0
    for snapshot, account, result, hours in await daily(desk):
        layout = layout_of(snapshot.identity, manager)
        end = snapshot.block.timestamp - snapshot.block.timestamp % HOUR
        rows = [row for row in hours.rows if row.hour < end]
        marks = await read_marks(
            desk.client, desk.network, [hours.pool_id], hours.recent[0].block_number - 1
        )
        opening = marks[hours.pool_id].sqrt_price_x96
        roots = [(0, opening / 2**96), *((row.hour, row.close / 2**96) for row in rows)]
        expected = sum(
            _loss(
                liquidity_in(account.changes, hour, hour + HOUR),
                layout.sqrt_price_lower,
                layout.sqrt_price_upper,
                before,
                after,
            )
            for (_, before), (hour, after) in pairwise(roots)
            if hour > end - result.measured_seconds - HOUR
        )
        assert isinstance(result.lvr, Known)
        assert float(result.lvr.value) == pytest.approx(expected, rel=1e-4, abs=30)
        assert isinstance(result.net, Known)
        assert result.net.value == sum(one.fees - one.lvr for one in result.closed)
        lost += result.lvr.value > 0
    assert lost >= 6


def _loss(liquidity: int, lower: int, upper: int, before: float, after: float) -> float:
    """V(p₀) + x(p₀)·(p₁ − p₀) − V(p₁), V = L(2c − a − p/b)."""
    low, high = lower / 2**96, upper / 2**96

    def value(root: float) -> float:
        inside = min(max(root, low), high)
        return liquidity * ((inside - low) + root * root * (1 / inside - 1 / high))

    inside = min(max(before, low), high)
    amount0 = liquidity * (1 / inside - 1 / high)
    return value(before) + amount0 * (after * after - before * before) - value(after)


async def test_a_day_is_the_same_whether_or_not_the_days_before_it_were_read(desk: Desk) -> None:
    alone = await daily(desk)
    terms = {one.pool.pool_id: fee_terms(one.pool) for one, *_ in alone}
    head = alone[0][0].block
    await read_hours(desk.client, desk.network, terms, 7 * DAY, memory=desk.hours, head=head)
    begun_in_the_day = 0
    for (_, _, before, hours), (_, _, after, longer) in zip(alone, await daily(desk), strict=True):
        assert longer.since < hours.since
        begun_in_the_day += hours.rows[0].hour >= hour_of(head.timestamp) - DAY
        assert isinstance(before.net, Known)
        assert isinstance(after.net, Known)
        # What a day was paid adds up in another order.
        assert float(before.net.value) == pytest.approx(float(after.net.value), abs=24)
        assert before.lvr == after.lvr
        assert before.path == after.path
    assert begun_in_the_day >= 4


async def test_a_position_of_this_very_block_has_no_day_yet(desk: Desk, changing: Moves) -> None:
    owner = "0x" + "0d" * 20
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, owner)
    [(_, _, result, _)] = await daily(desk, owner)
    assert isinstance(result.fees, Unknown)
    assert isinstance(result.net, Unknown)
