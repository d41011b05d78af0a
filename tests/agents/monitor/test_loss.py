"""A loss is followed between reads of the logs, and is what a fresh read would say."""

from collections.abc import Mapping

import pytest

from agents.monitor.alerts.alert import AlertKind, AlertState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.reader import Sought, WatchReader
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from agents.monitor.rules.worth_risks import KEPT_SECONDS, RETRY_SECONDS, Losses
from chain.base.home import Home
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.positions.overview import Sources
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import PositionRef, v4_position
from chain.protocols.snapshot import PositionIdentity, identify
from chain.protocols.v4.changes import ChangeReader
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError, Unreachable
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.made_up_readings import MadeUpChain
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves

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
