"""What positions earned and lost in 24 closed hours, against the chain's own past."""

import random
import sys
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.pools import STABLE
from chain.history.events import FeeTerms, fee_terms, read_marks
from chain.history.hour_reader import read_hours
from chain.history.hours import (
    PoolHours,
    PoolMoment,
    growth_inside,
    hour_of,
    hour_rows,
    paid_fees,
    recent_swap,
)
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.batch_reader import read_positions
from chain.positions.by_day import (
    DayMemory,
    HourlyPrices,
    HourPrices,
    SinceEntry,
    days_of_range,
    hours_of_range,
    liquidity_in,
    result_path,
    settled_days,
    worth,
)
from chain.positions.overview import Sources
from chain.positions.performance import DailyResult, earning_since, read_accounts, read_performance
from chain.protocols.past import LiquidityChange, LogPlace
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.storage import layout_of
from chain.rpc import requests
from chain.rpc.records import Block
from tests.chain.conftest import Desk
from tests.chain.history.market import LIQUIDITY, POOL, swap_between
from tests.chain.moves import Moves

NETWORK = network_named("ethereum")
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
        days = days_of_range(one.identity, account, hours)
        assert all(day.begin % DAY == 0 for day in days)
        assert [day.begin for day in days] == [
            days[0].begin + DAY * place for place in range(len(days))
        ]
        assert days[-1].begin + DAY >= one.block.timestamp
        assert isinstance(account.fees_earned, Known)
        by_hour = [*hours_of_range(one.identity, account, hours)]
        assert sum(day.fees for day in days) == sum(
            hour.fees for hour in by_hour if hour.begin >= days[0].begin
        )
        if hours.since <= account.changes[0].timestamp:
            paid = account.fees_earned.value
            told = [sum(hour.tokens[place] for hour in by_hour) for place in (0, 1)]
            assert told == [*paid]
            assert all(min(hour.tokens) >= 0 for hour in by_hour)
            compared += sum(each > 1_000 for each in paid)
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
        told = settled_days(one.identity, account, hours, memory)
        over = [day for day in told if day.begin + DAY + HOUR <= hours.last.timestamp]
        assert over
        # Whatever is read later, another liquidity or other hours: the past stays as it was told.
        other = replace(hours, rows=hours.rows[-3:], since=hours.rows[-3].hour)
        again = settled_days(one.identity, account, other, memory)
        assert [*again][: len(over)] == over


def test_a_day_that_is_over_keeps_its_worth_whatever_a_token_is_worth_later() -> None:
    identity, account, hours, _ = a_life(3)
    first = hours.rows[0].hour
    dear = {row.hour: 1e-6 * (1 + (row.hour - first) / DAY) for row in hours.rows}
    with Store.in_memory() as store:
        memory = DayMemory(store, NETWORK, lambda: 0.0)
        # Without prices first: their worth is written down once they are known.
        settled_days(identity, account, hours, memory)
        told = settled_days(identity, account, hours, memory, HourlyPrices(HourPrices(dear)))
        over = [day for day in told if day.begin + DAY + HOUR <= hours.last.timestamp]
        assert over
        for day in over:
            expected = sum(
                hour.fees * dear[hour.begin]
                for hour in hours_of_range(identity, account, hours)
                if hour.begin // DAY == day.begin // DAY
            )
            assert day.usd is not None
            assert day.usd[0] == pytest.approx(expected)
        twice = HourlyPrices(HourPrices({hour: 2 * price for hour, price in dear.items()}))
        again = settled_days(identity, account, hours, memory, twice)
        assert [*again][: len(over)] == over


BLOCK, LIVES = 12, 8
LOWER, UPPER = -198_000, -194_000


def _change(place: LogPlace, time: int, delta: int, paid: Amounts) -> LiquidityChange:
    nothing = Known(Amounts(0, 0), "made up")
    return LiquidityChange(
        place, time, delta, nothing, Known(paid, "made up"), Known(0, ""), Known(0, "")
    )


def _account(changes: tuple[LiquidityChange, ...], earned: Amounts) -> SinceEntry:
    nothing, none = Known(Amounts(0, 0), "made up"), Known(Fraction(0), "made up")
    return SinceEntry(
        v4_position(7),
        changes,
        Known(0, "made up"),
        nothing,
        nothing,
        nothing,
        Known(earned, "made up"),
        nothing,
        none,
        none,
        Known(0, "made up"),
    )


def a_life(seed: int) -> tuple[PositionIdentity, SinceEntry, PoolHours, dict[int, list[float]]]:
    """Days of swaps and changes, several an hour and in a block, by their place in it; what the
    contract paid for it, and what each day really earned."""
    chance = random.Random(seed)
    terms = FeeTerms(500, ProtocolFee(0, 0))
    begin, root, tick = 1_768_003_200 + chance.randrange(HOUR), 0, float(-196_000)
    at = PoolMoment(sqrt_price_at_tick(-196_000), LIQUIDITY)
    swaps, liquidity, waiting = [], 0, [0.0, 0.0]
    changes: list[LiquidityChange] = []
    days: dict[int, list[float]] = {}
    for block in range(1, chance.randrange(200, 900)):
        time = begin + block * BLOCK * 40
        for log in range(chance.choice((0, 1, 1, 2, 5))):
            place = LogPlace(block, log, f"0x{block:064x}", f"0x{log:064x}")
            if not changes or chance.random() < 0.06:
                delta = chance.randrange(10**16, 10**18) if not liquidity else 0
                delta = delta or chance.choice((-liquidity, -liquidity // 3, 10**17, 0))
                paid = Amounts(*map(int, waiting))
                waiting = [each - whole for each, whole in zip(waiting, paid, strict=True)]
                changes.append(_change(place, time, delta, paid))
                liquidity += delta
                continue
            tick = min(max(tick + chance.gauss(0, 120), -205_000.0), -187_000.0)
            root = sqrt_price_at_tick(round(tick))
            if root == at.sqrt_price_x96:
                continue
            event = swap_between(at.sqrt_price_x96, root, block, fee=500)
            swap = recent_swap(event, time, estimated=False)
            growth = growth_inside(tuple(paid_fees(swap, terms, at).path), LOWER, UPPER)
            for token in (0, 1):
                waiting[token] += growth[token] * liquidity
                day = days.setdefault(time - time % DAY, [0.0, 0.0])
                day[token] += growth[token] * liquidity
            swaps.append(swap)
            at = at.after(swap)
    zero = "0x" + "0" * 64
    last = Block(10**6, zero, zero, time + HOUR, 0, 0, 0)
    recent_since = time - time % HOUR - DAY
    hours = PoolHours(
        POOL,
        begin - HOUR,
        last,
        tuple(hour_rows(swaps, terms, PoolMoment(sqrt_price_at_tick(-196_000), LIQUIDITY))),
        tuple(swap for swap in swaps if swap.time >= recent_since),
        recent_since,
        terms=terms,
        opening=sqrt_price_at_tick(-196_000),
    )
    collected = [change.fees.value for change in changes if isinstance(change.fees, Known)]
    earned = [sum(each[token] for each in collected) + int(waiting[token]) for token in (0, 1)]
    key = PoolKey("0x" + "11" * 20, "0x" + "22" * 20, 500, 10, NATIVE)
    identity = PositionIdentity(v4_position(7), key, POOL, LOWER, UPPER)
    return identity, _account(tuple(changes), Amounts(*earned)), hours, days


@pytest.mark.parametrize(
    "lives", [range(LIVES), pytest.param(range(500), marks=pytest.mark.soak)], ids=len
)
def test_a_lifes_fees_by_day_come_to_what_the_contract_paid_to_the_unit(
    lives: range, capsys: pytest.CaptureFixture[str]
) -> None:
    many, far, worst = 0, 0.0, 0.0
    for seed in lives:
        identity, account, hours, days = a_life(seed)
        by_hour = [*hours_of_range(identity, account, hours)]
        assert isinstance(account.fees_earned, Known)
        for token in (0, 1):
            assert sum(hour.tokens[token] for hour in by_hour) == account.fees_earned.value[token]
            assert all(hour.tokens[token] >= 0 for hour in by_hour)
        many += len(account.changes)
        whole = sum(each[1] for each in days.values()) or 1.0
        for begin, paid in days.items():
            told = sum(hour.tokens[1] for hour in by_hour if begin <= hour.begin < begin + DAY)
            far = max(far, abs(told - paid[1]) / whole)
        worst = max(worst, far)
    assert many > 10 * len(lives)
    with capsys.disabled():
        words = f"{len(lives)} lives, {many} changes: to the unit; no day off by over {worst:.1%}"
        sys.stdout.write(f"\n{words} of what the life earned\n")


def test_liquidity_is_weighed_by_the_time_it_was_there(desk: Desk) -> None:
    class Change:
        def __init__(self, timestamp: int, delta: int) -> None:
            self.timestamp, self.liquidity_delta = timestamp, delta

    changes = [Change(100, 50), Change(150, -30)]
    assert liquidity_in(changes, 100, 200) == 35  # type: ignore[arg-type]
    assert liquidity_in(changes, 0, 100) == 0  # type: ignore[arg-type]
    assert liquidity_in(changes, 160, 200) == 20  # type: ignore[arg-type]
