"""Readings of a wallet that holds one position, block after block, without a chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent
from agents.monitor.alerts.store import AlertStore
from agents.monitor.alerts.store_page import Poll, WatchCursor, WatchPlace
from agents.monitor.judge import follow_positions, judge
from agents.monitor.reader import Reading
from agents.monitor.rules.features import Attached, FeatureAlert, NothingAttached
from agents.monitor.rules.thresholds import WatchSettings
from agents.monitor.rules.worth_risks import Losses
from chain.base.units import Known
from chain.contracts.networks import Address
from chain.history.end_ticks import EndTicks
from chain.positions.search import WalletPositions
from chain.prices.ladder import price_book
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionSnapshot
from tests.agents.monitor.made_up_alerts import NOW, WALLET
from tests.agents.monitor.made_up_positions import KEY, NETWORK, ONE, TWO, block, position

PLACE = WatchPlace(NETWORK.chain_id, WALLET)


@dataclass
class MadeUpChain:
    """Polls a book without reading anything: the caller says what the chain would say."""

    book: AlertStore
    settings: WatchSettings = field(default_factory=WatchSettings)
    head: int = 100
    tick: int = 0
    losses: Losses = field(default_factory=lambda: Losses({}, {}))
    attached: Attached | None = field(default_factory=NothingAttached)
    of_features: Mapping[str, FeatureAlert] = field(default_factory=dict)
    dollars: Mapping[Address, Known[Fraction]] = field(default_factory=dict)
    collect_usd: float | None = None

    def poll(
        self,
        ticks: Sequence[tuple[int, int]] = (),
        *,
        positions: Sequence[PositionSnapshot] | None = None,
        gone: Mapping[PositionRef, Address | None] | None = None,
        operators: tuple[Address, ...] = (),
        since: int | None = None,
    ) -> tuple[AlertEvent, ...]:
        """The next poll, given block and tick of each swap since the last one, or since a block."""
        self.head = max([self.head + 1, *(number for number, _ in ticks)])
        self.tick = ticks[-1][1] if ticks else self.tick
        held = (position(self.tick),) if positions is None else positions
        held = [replace(one, block=block(self.head)) for one in held]
        state = self.book.state(PLACE)
        cursor = state.cursor
        end_ticks = None
        if cursor is not None:
            last = block(cursor.block if since is None else since)
            end_ticks = EndTicks({KEY.pool_id: ticks}, last)
        wallet = WalletPositions(
            owner=WALLET,
            block=block(self.head),
            positions=tuple(held),
            balance_of=len(held),
            operators=operators,
            unconfirmed=(),
            approvals_from=None,
            words={},
        )
        reading = Reading(
            wallet=wallet,
            tokens={one.address: one for one in (ONE, TWO)},
            prices=price_book(NETWORK, self.dollars, {}),
            ticks=end_ticks,
            owners_of_gone=gone or {},
            volatilities={},
            collect_usd={}
            if self.collect_usd is None
            else {each.ref: self.collect_usd for each in wallet.positions},
            losses=self.losses,
        )
        followed = follow_positions(NETWORK, reading, state, self.settings)
        times = {number: block(number).timestamp for number in range(self.head + 1)}
        judgment = judge(
            NETWORK,
            PLACE,
            reading,
            followed=followed,
            times=times,
            baselines=state.baselines,
            alerts=self.book.current(),
            attached=self.attached,
            of_features=self.of_features,
        )
        now = block(self.head)
        later = WatchCursor(now.number, now.hash, now.timestamp)
        changes = Poll(PLACE, judgment.changes, later, judgment.baselines)
        return self.book.apply([changes], NOW + self.head)
