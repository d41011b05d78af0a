"""What readings make of alerts, and with what they compare a position."""

import json
from collections.abc import Mapping
from fractions import Fraction

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent, AlertKind, AlertState, EventKind, Severity
from agents.monitor.alerts.store import AlertStore, WatchState
from agents.monitor.judge import depth_references
from agents.monitor.reader import Sought, WatchReader
from agents.monitor.rules.baseline import (
    INSIDE,
    OUTSIDE,
    WALLET,
    Baseline,
    DepthReference,
    read_baseline,
)
from agents.monitor.rules.risks import operators_changed
from agents.monitor.rules.thresholds import LEAST_INTERVAL_SECONDS, Thresholds, WatchSettings
from agents.monitor.rules.worth_risks import KEPT_SECONDS, RETRY_SECONDS, Losses
from chain.base.home import Home
from chain.base.store import Store
from chain.base.units import DAY, Known
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.math.liquidity import Amounts
from chain.positions.overview import Sources
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import PositionRef, v4_position
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot, identify
from chain.protocols.v4.changes import ChangeReader
from chain.rpc.client import RpcClient
from chain.rpc.errors import Malformed, RpcError, Unreachable
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.made_up_positions import KEY, NETWORK, UPPER, block, position
from tests.agents.monitor.made_up_readings import PLACE, MadeUpChain
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves

RANGE_ONLY = WatchSettings(Thresholds(near_edge=0.0))
STRANGER = "0x" + "66" * 20


@pytest.fixture
def chain(home: Home) -> MadeUpChain:
    made = MadeUpChain(AlertStore.open(home, now=NOW), RANGE_ONLY)
    assert made.poll() == ()
    return made


def told(events: tuple[AlertEvent, ...]) -> list[tuple[EventKind, str, int | None]]:
    return [(one.kind, one.alert.kind, one.alert.block) for one in events]


@pytest.mark.parametrize("crossings_a_poll", [1, 25])
def test_a_price_crossing_an_edge_a_thousand_times_is_one_alert(
    chain: MadeUpChain, crossings_a_poll: int
) -> None:
    events: list[AlertEvent] = []
    crossing = 0
    while crossing < 1_000:
        ticks: list[tuple[int, int]] = []
        for _ in range(crossings_a_poll):
            crossing += 1
            ticks.append((chain.head + len(ticks) + 1, UPPER if crossing % 2 else UPPER - 1))
        events += chain.poll(ticks)

    opened = [one for one in events if one.kind is not EventKind.RISEN]
    assert told(tuple(opened)) == [(EventKind.OPENED, AlertKind.OUT_OF_RANGE, 102)]
    [alert] = chain.book.current()
    assert (alert.state, alert.episode) == (AlertState.OPEN, 1)


def test_an_excursion_between_two_polls_is_told_with_its_blocks(chain: MadeUpChain) -> None:
    events = chain.poll([(105, UPPER + 3), (109, 0)])

    assert told(events) == [
        (EventKind.OPENED, AlertKind.OUT_OF_RANGE, 105),
        (EventKind.RESOLVED, AlertKind.OUT_OF_RANGE, 109),
    ]
    assert "in block 105" in events[0].alert.message


def test_every_excursion_is_told_again(chain: MadeUpChain) -> None:
    chain.poll([(105, UPPER), (109, 0)])
    events = chain.poll([(112, -1_001), (115, 0), (120, UPPER)])

    assert told(events) == [
        (EventKind.REOPENED, AlertKind.OUT_OF_RANGE, 112),
        (EventKind.RESOLVED, AlertKind.OUT_OF_RANGE, 115),
        (EventKind.REOPENED, AlertKind.OUT_OF_RANGE, 120),
    ]
    assert chain.book.find(1).episode == 3


def test_what_happened_to_several_positions_is_told_in_the_order_of_the_blocks(
    chain: MadeUpChain,
) -> None:
    wider = identify(v4_position(8), KEY, -1_500, 1_500)

    def both(tick: int) -> list[PositionSnapshot]:
        return [position(tick), replace(position(tick), identity=wider)]

    chain.poll(positions=both(0))
    events = chain.poll([(105, 1_200), (108, 1_600), (110, 0)], positions=both(0))

    assert [(one.alert.position_id, one.alert.block) for one in events] == [
        (v4_position(number), block) for number, block in ((7, 105), (8, 108), (7, 110), (8, 110))
    ]


def test_staying_out_becomes_critical_once(chain: MadeUpChain) -> None:
    chain.poll([(105, UPPER + 100)])
    chain.head += 400

    assert told(chain.poll()) == [(EventKind.RISEN, AlertKind.OUT_OF_RANGE, 506)]
    assert chain.book.find(1).severity is Severity.CRITICAL
    assert chain.poll() == ()


def test_swaps_that_do_not_lead_to_the_price_are_not_believed(chain: MadeUpChain) -> None:
    before = chain.book.state(PLACE).cursor

    with pytest.raises(Malformed, match="do not lead to the pool's price"):
        chain.poll([], positions=[position(UPPER + 5)])
    assert chain.book.state(PLACE).cursor == before


def test_blocks_that_were_replaced_are_not_told_again(chain: MadeUpChain) -> None:
    chain.poll([(105, UPPER), (109, 0), (110, 0)])

    # The chain went back and came again by other blocks: the same excursion, then a new one.
    events = chain.poll([(106, UPPER), (108, 0), (115, UPPER)], since=101)

    assert told(events) == [(EventKind.REOPENED, AlertKind.OUT_OF_RANGE, 115)]


def test_a_swap_in_a_replaced_block_does_not_hold_the_watch_up(chain: MadeUpChain) -> None:
    chain.poll([(105, UPPER)])

    # That block is gone, and nobody swapped in the ones that came instead.
    chain.tick = 0
    events = chain.poll([], since=101)

    assert told(events) == [(EventKind.RESOLVED, AlertKind.OUT_OF_RANGE, 106)]


def test_a_position_that_went_to_a_stranger_is_told_until_it_is_accepted(
    chain: MadeUpChain,
) -> None:
    chain.poll([(105, UPPER)])

    events = chain.poll(positions=[], gone={v4_position(7): STRANGER})

    assert {one[:2] for one in told(events)} == {
        (EventKind.OPENED, AlertKind.OWNER_CHANGED),
        (EventKind.RESOLVED, AlertKind.OUT_OF_RANGE),
    }
    assert chain.poll(positions=[]) == ()
    lost = next(one for one in chain.book.current() if one.kind == AlertKind.OWNER_CHANGED)
    chain.book.ack(lost.id, NOW)
    assert [one.kind for one in chain.poll(positions=[])] == [EventKind.RESOLVED]


@pytest.mark.parametrize("how", ["burned", "emptied"])
def test_a_position_that_was_closed_ends_its_alerts_without_a_new_one(
    chain: MadeUpChain, how: str
) -> None:
    chain.poll([(105, UPPER)])
    left = [] if how == "burned" else [replace(position(UPPER), liquidity=0)]

    assert [one[:2] for one in told(chain.poll(positions=left, gone={v4_position(7): None}))] == [
        (EventKind.RESOLVED, AlertKind.OUT_OF_RANGE)
    ]


def test_what_an_emptied_position_is_owed_is_told_until_it_is_collected(
    chain: MadeUpChain,
) -> None:
    one = Known(Fraction(1), "a market")
    chain.dollars, chain.collect_usd = {KEY.currency0: one, KEY.currency1: one}, 0.5
    chain.poll([(105, UPPER)])
    owed = Known(Amounts(40 * 10**18, 2 * 10**18), "logs")
    empty = replace(position(UPPER), liquidity=0, fees0=3 * 10**18, withdrawn=owed)
    events = chain.poll(positions=[empty])
    assert {one[:2] for one in told(events)} == {
        (EventKind.RESOLVED, AlertKind.OUT_OF_RANGE),
        (EventKind.OPENED, AlertKind.WITHDRAWN_WAITS),
    }
    [opened] = [each.alert for each in events if each.kind is EventKind.OPENED]
    assert "$45.00 waits: $42.00 you withdrew + $3.00 fees" in opened.message
    assert chain.poll(positions=[empty]) == ()
    paid = replace(empty, fees0=0, withdrawn=Known(Amounts(0, 0), "logs"))
    assert [event.kind for event in chain.poll(positions=[paid])] == [EventKind.RESOLVED]


def test_acknowledging_a_change_accepts_it(chain: MadeUpChain) -> None:
    one = position(0)
    given = replace(one, custody=replace(one.custody, approved=STRANGER))
    [opened] = chain.poll(positions=[given])
    assert opened.alert.kind == AlertKind.APPROVAL_CHANGED
    chain.book.ack(opened.alert.id, NOW)

    assert [event.kind for event in chain.poll(positions=[given])] == [EventKind.RESOLVED]
    assert chain.poll(positions=[given]) == ()


def test_an_operator_of_the_whole_wallet_is_one_alert(chain: MadeUpChain) -> None:
    [opened] = chain.poll(operators=(STRANGER,))

    assert opened.alert.kind == AlertKind.APPROVAL_CHANGED
    assert opened.alert.position_id is None
    assert [one.kind for one in chain.poll()] == [EventKind.RESOLVED]


def test_an_operator_that_comes_is_critical_and_one_that_goes_is_not() -> None:
    come = operators_changed(NETWORK, (), (STRANGER,))
    gone = operators_changed(NETWORK, (STRANGER,), ())

    assert come is not None
    assert gone is not None
    assert (come.severity, come.numbers) == (Severity.CRITICAL, {"come": 1, "gone": 0})
    assert (gone.severity, gone.numbers) == (Severity.INFO, {"come": 0, "gone": 1})
    assert "may move every position" in come.message
    assert "may move every position" not in gone.message
    assert operators_changed(NETWORK, (STRANGER,), (STRANGER,)) is None


def test_a_position_first_met_outside_is_told_from_there(home: Home) -> None:
    made = MadeUpChain(AlertStore.open(home, now=NOW), RANGE_ONLY, tick=UPPER + 1)

    assert told(made.poll()) == [(EventKind.OPENED, AlertKind.OUT_OF_RANGE, 101)]


LIQUIDITY = 10**16


class Followed:
    """One reader that goes on, beside one that begins anew each time."""

    def __init__(self, client: RpcClient, store: Store, number: int) -> None:
        self._sources = Sources(client, network_named("devnet"), store, None, lambda: NOW)
        self._number = v4_position(number)
        self.reader = WatchReader(self._sources)

    async def loss(self, now: float) -> float | None:
        return await self._loss(self.reader, now)

    async def fresh_loss(self) -> float | None:
        return await self._loss(WatchReader(self._sources), NOW)

    async def _loss(self, reader: WatchReader, now: float) -> float | None:
        sought = [Sought(MEDIUM_PROVIDER.address, None, ())]
        [reading] = await reader.read(sought, self._number.__eq__, now)
        assert (self._number in reading.losses.shares) is not (
            self._number in reading.losses.unknown
        )
        return reading.losses.shares.get(self._number)


@pytest.mark.parametrize(
    ("taken", "fees"),
    [(0, True), (LIQUIDITY // 2, True), (LIQUIDITY // 2, False)],
    ids=["fees collected", "half withdrawn with fees", "half withdrawn"],
)
async def test_what_the_person_takes_out_is_no_loss(
    devnet: DevnetReady, changing: Moves, taken: int, fees: bool
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    spacing = pool.key.tick_spacing
    near = pool.tick // spacing * spacing
    ticks = (near - 20 * spacing, near + 20 * spacing)
    [number] = changing.mint(MEDIUM_PROVIDER, pool.key, [ticks], LIQUIDITY, MEDIUM_PROVIDER.address)
    with Store.in_memory() as store:
        async with RpcClient(network_named("devnet"), [devnet.url]) as client:
            followed = Followed(client, store, number)
            await followed.loss(NOW)
            if fees:
                pool.push(5 * spacing)
                pool.push(-5 * spacing)
            earned = await followed.loss(NOW + 60)
            assert earned == await followed.fresh_loss()
            changing.decrease(
                MEDIUM_PROVIDER, identify(v4_position(number), pool.key, *ticks), taken
            )
            after = await followed.loss(NOW + 120)
            fresh = await followed.fresh_loss()

    assert earned is not None
    assert (earned < 0) is fees
    assert after == fresh
    assert after is not None


async def test_logs_are_read_hourly_and_after_a_failure_every_five_minutes(
    devnet: DevnetReady, changing: Moves, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    near = pool.tick // pool.key.tick_spacing * pool.key.tick_spacing
    ticks = (near - 20 * pool.key.tick_spacing, near + 20 * pool.key.tick_spacing)
    [number] = changing.mint(MEDIUM_PROVIDER, pool.key, [ticks], LIQUIDITY, MEDIUM_PROVIDER.address)
    read: list[float] = []
    changes = ChangeReader.changes
    broken: list[RpcError] = []

    async def counted(
        self: ChangeReader, liquidity: Mapping[PositionIdentity, int | None], until: int
    ) -> dict[PositionRef, tuple[LiquidityChange, ...]]:
        read.append(now)
        if broken:
            raise broken[0]
        return await changes(self, liquidity, until)

    monkeypatch.setattr(ChangeReader, "changes", counted)
    known: list[bool] = []
    with Store.in_memory() as store:
        async with RpcClient(network_named("devnet"), [devnet.url]) as client:
            followed = Followed(client, store, number)
            for now in (0, 60, KEPT_SECONDS - 1, KEPT_SECONDS, KEPT_SECONDS + 60):
                known.append(await followed.loss(now) is not None)
            broken.append(Unreachable("nothing", endpoint="The RPC"))
            start = 2 * KEPT_SECONDS
            for now in (start, start + 60, start + RETRY_SECONDS):
                known.append(await followed.loss(now) is not None)
            changing.decrease(
                MEDIUM_PROVIDER, identify(v4_position(number), pool.key, *ticks), LIQUIDITY // 2
            )
            now = start + RETRY_SECONDS + 60
            known.append(await followed.loss(now) is not None)
            broken.clear()
            now = start + 2 * RETRY_SECONDS
            known.append(await followed.loss(now) is not None)

    assert read == [0, KEPT_SECONDS, start, start + RETRY_SECONDS, start + 2 * RETRY_SECONDS]
    assert known == [*[True] * 8, False, True]


def test_a_loss_that_cannot_be_judged_for_a_while_is_not_over(home: Home) -> None:
    book = AlertStore.open(home, now=NOW)
    chain = MadeUpChain(book, WatchSettings(Thresholds(loss=0.1)))
    states = []
    for losses in (
        Losses({v4_position(7): 0.2}, {}),
        Losses({}, {v4_position(7): "No loss could be judged."}),
        Losses({v4_position(7): 0.2}, {}),
        Losses({v4_position(7): 0.01}, {}),
    ):
        chain.losses = losses
        chain.poll()
        [alert] = [one for one in book.current() if one.kind == AlertKind.LOSS_LEVEL]
        states.append((alert.state, alert.episode))

    assert states == [*[(AlertState.OPEN, 1)] * 3, (AlertState.RESOLVED, 1)]


OTHERS = 1_000


def with_others(others: int, *, tick: int = 0, seconds: int = 0) -> PositionSnapshot:
    """In range, with so much of others around it, so long after block 100."""
    made = position(tick)
    later = replace(block(100), timestamp=block(100).timestamp + seconds)
    pool = replace(made.pool, liquidity=made.liquidity + others)
    return replace(made, pool=pool, block=later)


@pytest.fixture
def before() -> Baseline:
    return Baseline.of(with_others(OTHERS), INSIDE, "0xabc")


def test_it_is_read_back_as_it_was_written(before: Baseline) -> None:
    assert before.others == OTHERS
    assert read_baseline(before.document()) == before
    told = json.loads(before.document())
    old = {key: value for key, value in told.items() if key != "othersTick"}
    assert read_baseline(json.dumps(old)) == replace(before, others_tick=None)
    assert read_baseline(json.dumps({**old, "lpFee": "3000"})) is None
    assert read_baseline(json.dumps({**old, "others": "many"})) is None
    assert read_baseline("no JSON") is None
    assert read_baseline(None) is None


@pytest.mark.parametrize(
    ("seconds", "drained", "others_there", "depth", "anew"),
    [
        (0, False, None, OTHERS, False),
        (DAY - 1, False, None, OTHERS // 2, False),
        (DAY, False, None, OTHERS // 2, True),
        (DAY, True, None, OTHERS // 2, False),
        (0, True, 900, OTHERS // 2, True),
        (0, True, 899, OTHERS // 2, False),
        (0, False, None, 1_250, False),
        (0, False, None, 1_251, True),
    ],
)
def test_when_the_depth_is_taken_anew(
    before: Baseline,
    seconds: int,
    drained: bool,
    others_there: int | None,
    depth: int,
    anew: bool,
) -> None:
    now = with_others(depth, tick=7, seconds=seconds)
    later = before.follow_position(now, INSIDE, drained=drained, others_there=others_there)
    out = before.follow_position(now, OUTSIDE, drained=drained, others_there=others_there)

    taken = (depth, now.block.timestamp, 7) if anew else (OTHERS, before.others_time, 0)
    assert (later.others, later.others_time, later.others_tick) == taken
    assert (later.standing, out.standing) == (INSIDE, OUTSIDE)
    assert replace(out, standing=INSIDE) == later


def test_without_a_place_the_depth_is_taken_at_once(before: Baseline) -> None:
    unplaced = replace(before, others_tick=None)

    later = unplaced.follow_position(
        with_others(5, tick=7), INSIDE, drained=True, others_there=None
    )

    assert (later.others, later.others_tick) == (5, 7)


def test_a_pool_looks_drained_a_little_before_it_is(before: Baseline) -> None:
    documents: dict[PositionRef, str] = {
        WALLET: before.document(),
        v4_position(7): before.document(),
        v4_position(8): replace(before, others_tick=None).document(),
        v4_position(9): '{"of": "another time"}',
    }
    settings = WatchSettings(Thresholds(drained=0.5))

    found = depth_references(NETWORK, WatchState(None, documents), settings)

    assert found == {v4_position(7): DepthReference(0, 600)}


def test_the_thresholds_nobody_set() -> None:
    assert Thresholds() == Thresholds(
        near_edge=0.15,
        survival=0.5,
        clearly_inside=0.02,
        settle_minutes=10,
        critical_minutes=60,
        critical_distance=0.5,
        fees_usd=10,
        fees_gas_multiple=10,
        drained=0.8,
        disagreement=0.02,
        price_below=None,
        price_above=None,
        value_below_usd=None,
        loss=None,
    )
    assert (WatchSettings().interval_seconds, WatchSettings().blind_polls) == (60, 3)
    assert LEAST_INTERVAL_SECONDS == 5


@pytest.mark.parametrize(
    ("minutes", "block_seconds", "blocks"), [(10, 12, 50), (10, 7, 86), (0, 12, 1)]
)
def test_minutes_are_whole_blocks(minutes: float, block_seconds: float, blocks: int) -> None:
    network = replace(NETWORK, block_seconds=block_seconds)

    assert Thresholds(settle_minutes=minutes).settle_blocks(network) == blocks
