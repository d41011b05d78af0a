"""How often a person is written to: ten positions, a walking price, minute polls, all defaults."""

import os
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from math import log, sqrt
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent, Severity
from agents.monitor.alerts.store_page import Poll, WatchCursor
from agents.monitor.deliver.channel import RAISING
from agents.monitor.judge import follow_positions, judge
from agents.monitor.reader import Reading
from agents.monitor.rules.thresholds import WatchSettings
from agents.monitor.rules.worth_risks import Losses
from chain.contracts.pool_key import PoolKey
from chain.history.end_ticks import EndTicks
from chain.history.volatility import Volatility, VolatilityStep
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.search import WalletPositions
from chain.prices.ladder import price_book
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionSnapshot, identify, range_status
from tests.agents.monitor.deliver.paced_person import Message, Person
from tests.agents.monitor.made_up_alerts import NOW, WALLET
from tests.agents.monitor.made_up_positions import KEY, NETWORK, ONE, TWO, block, position
from tests.agents.monitor.made_up_readings import PLACE

POSITIONS = 10
DAILY_SIGMA = 0.03
HALF_WIDTH = 488
"""Ticks: five per cent."""
MINUTES_A_DAY = 1_440
BLOCKS_A_POLL = 5
"""Of twelve seconds."""
MOST_MESSAGES = 3


@dataclass
class Walker:
    """One position and the price of its pool."""

    number: int
    random: Random
    tick: float = 0.0
    centre: int = 0
    minutes_out: int = 0
    key: PoolKey = field(init=False)

    def __post_init__(self) -> None:
        self.key = PoolKey(KEY.currency0, KEY.currency1, KEY.fee, 10 + self.number, KEY.hooks)

    def move(self) -> None:
        step = DAILY_SIGMA / sqrt(MINUTES_A_DAY)
        self.tick += self.random.gauss(0, step) / log(1.0001)
        outside = abs(self.tick - self.centre) > HALF_WIDTH
        self.minutes_out = self.minutes_out + 1 if outside else 0

    def snapshot(self, head: int) -> PositionSnapshot:
        tick = round(self.tick)
        lower, upper = self.centre - HALF_WIDTH, self.centre + HALF_WIDTH
        one = position(0, number=self.number)
        pool = replace(
            one.pool,
            key=self.key,
            pool_id=self.key.pool_id,
            tick=tick,
            sqrt_price_x96=sqrt_price_at_tick(tick),
        )
        return replace(
            one,
            identity=identify(v4_position(self.number), self.key, lower, upper),
            block=block(head),
            pool=pool,
            status=range_status(tick, lower, upper),
        )


@dataclass
class Market:
    person: Person
    walkers: list[Walker]
    head: int = 100
    moved_after: int | None = None
    """Minutes outside after which the person moves a position around the price again."""
    events: list[AlertEvent] = field(default_factory=list)

    async def minute(self) -> None:
        self.head += BLOCKS_A_POLL
        ticks = {}
        for one in self.walkers:
            one.move()
            ticks[one.key.pool_id] = [(self.head, round(one.tick))]
        state = self.person.book.state(PLACE)
        since = None if state.cursor is None else EndTicks(ticks, block(state.cursor.block))
        held = tuple(one.snapshot(self.head) for one in self.walkers)
        reading = _reading(held, since, self.head)
        followed = follow_positions(NETWORK, reading, state, WatchSettings())
        judgment = judge(
            NETWORK,
            PLACE,
            reading,
            followed=followed,
            times={self.head: block(self.head).timestamp},
            baselines=state.baselines,
            alerts=self.person.book.current(),
        )
        head = block(self.head)
        cursor = WatchCursor(head.number, head.hash, head.timestamp)
        poll = Poll(PLACE, judgment.changes, cursor, judgment.baselines)
        self.person.clock.now = NOW + 12 * self.head
        self.events += self.person.book.apply([poll], self.person.clock())
        await self.person.carry()
        self._rerange()

    def _rerange(self) -> None:
        for one in self.walkers:
            if self.moved_after is not None and one.minutes_out >= self.moved_after:
                # A new position, as moving one makes it: the old one is burned.
                one.number += 1_000
                one.centre, one.minutes_out = round(one.tick), 0


def _reading(held: tuple[PositionSnapshot, ...], ticks: EndTicks | None, head: int) -> Reading:
    wallet = WalletPositions(
        owner=WALLET,
        block=block(head),
        positions=held,
        balance_of=len(held),
        operators=(),
        unconfirmed=(),
        approvals_from=None,
        words={},
    )
    moves = Volatility(VolatilityStep.MARKET, DAILY_SIGMA, 24, "a test", None, None, ())
    return Reading(
        wallet=wallet,
        tokens={one.address: one for one in (ONE, TWO)},
        prices=price_book(NETWORK, {}, {}),
        ticks=ticks,
        owners_of_gone={},
        volatilities={one.pool.pool_id: moves for one in held},
        collect_usd={},
        losses=Losses({}, {}),
    )


@dataclass(frozen=True)
class Figures:
    """What a person got in so many days."""

    days: int
    messages: list[Message]
    critical: list[int]
    """Events by which an alert became critical."""

    @property
    def own(self) -> Counter[tuple[int, int]]:
        """By position and day: messages that name it, but for those that merge what is beyond."""
        return self._counted([one for one in self.messages if not one.merged])

    @property
    def all(self) -> Counter[tuple[int, int]]:
        return self._counted(self.messages)

    def _counted(self, messages: list[Message]) -> Counter[tuple[int, int]]:
        counted: Counter[tuple[int, int]] = Counter()
        for one in messages:
            day = int((one.at - NOW) // 86_400)
            counted.update({(number or 0, day) for _, number in one.alerts})
        return counted

    @property
    def missing(self) -> set[int]:
        return set(self.critical) - {number for one in self.messages for number in one.events}

    @property
    def a_position_and_day(self) -> float:
        return len(self.messages) / (POSITIONS * self.days)

    def __str__(self) -> str:
        kinds = Counter(kind for one in self.messages for kind, _ in one.alerts)
        return (
            f"{self.days} days, {POSITIONS} positions: {len(self.messages)} messages,"
            f" {self.a_position_and_day:.2f} a position and day, at most"
            f" {max(self.own.values(), default=0)} about one on a day"
            f" ({max(self.all.values(), default=0)} with those that merge,"
            f" {sum(one.merged for one in self.messages)} of them);"
            f" {len(self.critical)} times critical, {len(self.missing)} missing; {dict(kinds)}"
        )


async def simulated(folder: Path, seed: int, days: int, moved_after: int | None) -> Figures:
    with pytest.MonkeyPatch.context() as patched:
        # Thousands of polls are written here, and no power will fail meanwhile.
        patched.setattr(os, "fsync", lambda _: None)
        return await _simulated(folder, seed, days, moved_after)


async def _simulated(folder: Path, seed: int, days: int, moved_after: int | None) -> Figures:
    person = Person.in_folder(folder, start=NOW)
    _without_waiting_for_the_disk(person)
    random = Random(seed)
    walkers = [Walker(number, Random(random.random())) for number in range(1, POSITIONS + 1)]
    market = Market(person, walkers, moved_after=moved_after)
    with closing(person.book):
        for _ in range(days * MINUTES_A_DAY):
            await market.minute()
        # What is to be merged waits for its time.
        await person.passes(6 * 3_600)
    critical = [
        one.number
        for one in market.events
        if one.kind in RAISING and one.alert.severity is Severity.CRITICAL
    ]
    return Figures(days, person.messages, critical)


def _without_waiting_for_the_disk(person: Person) -> None:
    notebook = person.channel_worker._notebook
    for connection in (person.book._connection, notebook._opened(NOW)._connection):
        assert connection is not None
        connection.execute("PRAGMA synchronous = OFF")


def check(figures: Figures) -> None:
    print(f"\n{figures}")  # noqa: T201 - the figure
    assert figures.missing == set()
    assert max(figures.own.values()) <= MOST_MESSAGES
    assert figures.a_position_and_day <= MOST_MESSAGES
    assert figures.critical


@pytest.mark.parametrize("moved_after", [pytest.param(None, marks=pytest.mark.soak), 360])
async def test_a_person_is_written_to_three_times_a_position_and_day_at_most(
    tmp_path: Path, moved_after: int | None
) -> None:
    check(await simulated(tmp_path, 1, 1, moved_after))


@pytest.mark.soak
@pytest.mark.parametrize("moved_after", [None, 360])
@pytest.mark.parametrize("seed", range(5))
async def test_a_week_is_no_worse(tmp_path: Path, seed: int, moved_after: int | None) -> None:
    check(await simulated(tmp_path, seed, 7, moved_after))
