"""Each day of a range from the pool's hours, against what the fee growth says, and for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.devnet.world.accounts import DEMO_WALLET
from chain.history.events import FeeTerms
from chain.history.hour_reader import read_hours
from chain.history.hours import hour_of
from chain.positions.by_day import (
    DayMemory,
    days_of_range,
    hours_of_range,
    liquidity_in,
    result_path,
    settled_days,
    worth,
)
from chain.positions.performance import read_accounts

if TYPE_CHECKING:
    from chain.history.hours import PoolHours
    from chain.positions.by_day import SinceEntry
    from chain.protocols.snapshot import PositionSnapshot
    from tests.chain.conftest import Desk


async def read(desk: Desk) -> list[tuple[PositionSnapshot, SinceEntry, PoolHours]]:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    accounts = await read_accounts(desk.sources, wallet.positions)
    terms = {
        one.pool.pool_id: FeeTerms(
            one.pool.key.fee, one.pool.protocol_fee, one.pool.key.tick_spacing
        )
        for one in wallet.positions
    }
    hours = await read_hours(
        desk.client, desk.network, terms, 8 * DAY, memory=desk.hours, head=wallet.block
    )
    return [(one, accounts[one.ref], hours[one.pool.pool_id]) for one in wallet.positions]


async def test_days_are_of_the_calendar_and_add_up_to_what_was_earned(desk: Desk) -> None:
    compared = 0
    for one, account, hours in await read(desk):
        days = days_of_range(one.identity, account.changes, hours)
        assert all(day.begin % DAY == 0 for day in days)
        assert [day.begin for day in days] == [
            days[0].begin + DAY * place for place in range(len(days))
        ]
        assert days[-1].begin + DAY >= one.block.timestamp
        assert isinstance(account.fees_earned, Known)
        by_hour = [*hours_of_range(one.identity, account.changes, hours)]
        assert sum(day.fees for day in days) == sum(
            hour.fees for hour in by_hour if hour.begin >= days[0].begin
        )
        # Liquidity that came or went in an hour whose swaps are not kept is weighed by its time.
        averaged = {hour_of(change.timestamp) for change in account.changes} & {
            hour.begin for hour in by_hour if hour.begin < hours.recent_since
        }
        if hours.since <= account.changes[0].timestamp and not averaged:
            for place, paid in enumerate(account.fees_earned.value):
                told = sum(hour.tokens[place] for hour in by_hour)
                # The contract rounds each swap's fee up to a unit, of all providers together.
                assert abs(told - paid) <= hours.swaps
                compared += paid > 1_000
    assert compared >= 12


async def test_the_result_through_time_begins_with_nothing_and_ends_with_what_is_told(
    desk: Desk,
) -> None:
    compared = 0
    for one, account, hours in await read(desk):
        path = result_path(one, account, hours)
        assert isinstance(account.against_holding, Known)
        assert path[-1] == (one.block.timestamp, account.against_holding.value)
        assert [point.time for point in path] == sorted({point.time for point in path})
        opened = account.changes[0]
        put_in = opened.amounts
        assert isinstance(put_in, Known)
        scale = float(worth(put_in.value, one.pool.sqrt_price_x96))
        if hours.since <= opened.timestamp and len(path) > 2:
            assert abs(float(path[0].result)) < 0.02 * scale
            compared += 1
        # The last hour that is over lies where the present does, but for one hour of prices.
        if len(path) > 1:
            assert abs(float(path[-1].result - path[-2].result)) < 0.05 * scale
    assert compared
    unknown = replace(account, against_holding=Unknown("no archive"))
    assert result_path(one, unknown, hours) == ()


async def test_a_day_that_is_over_is_told_the_same_for_good(desk: Desk) -> None:
    one, account, hours = max(await read(desk), key=lambda each: len(each[1].changes))
    with Store.in_memory() as store:
        memory = DayMemory(store, desk.network, lambda: 0.0)
        told = settled_days(one.identity, account.changes, hours, memory)
        over = [day for day in told if day.begin + DAY + HOUR <= hours.last.timestamp]
        assert over
        # Whatever is read later, another liquidity or other hours: the past stays as it was told.
        other = replace(hours, rows=hours.rows[-3:], since=hours.rows[-3].hour)
        again = settled_days(one.identity, account.changes, other, memory)
        assert [*again][: len(over)] == over


def test_liquidity_is_weighed_by_the_time_it_was_there(desk: Desk) -> None:
    class Change:
        def __init__(self, timestamp: int, delta: int) -> None:
            self.timestamp, self.liquidity_delta = timestamp, delta

    changes = [Change(100, 50), Change(150, -30)]
    assert liquidity_in(changes, 100, 200) == 35  # type: ignore[arg-type]
    assert liquidity_in(changes, 0, 100) == 0  # type: ignore[arg-type]
    assert liquidity_in(changes, 160, 200) == 20  # type: ignore[arg-type]
