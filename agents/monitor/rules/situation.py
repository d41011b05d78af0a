"""What the rules of alerts judge: one position with what is known around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from agents.monitor.rules.baseline import Baseline, RangeState
from chain.contracts.networks import Address, Network
from chain.history.volatility import Volatility
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens.pair import Pair


class HedgeSource(Protocol):
    """Tells what is short on venues, and brings there what was approved and is missing."""

    async def tend_trades(self) -> Mapping[str, str] | None:
        """Sends stops that are missing and cancels what is left over; by plan, what is urgent.

        None where a venue cannot be read.
        """

    async def held_hedges(self) -> Mapping[PositionRef, HeldHedge] | None:
        """By position of one network; None where a venue cannot be read."""


class HeldHedge(Struct, frozen=True):
    """What is short on a venue for one position."""

    wallet: Address
    coin: str
    token: Address
    """The coin, as the position's pool knows it."""
    ratio: float
    """Of the coins the position holds, what should be short."""
    short: float
    """Coins, with what still waits to be sold."""
    rate: float = 1.0
    """Of what the contract is of, how much one of the position's coins is worth."""
    band: float = 0.0
    """How far it may be off before it is adjusted; 0 is the threshold that is set for all."""
    to_liquidation: float | None = None
    """By which share the price may rise before the venue closes it; None where nobody can tell."""
    funding_a_day: float | None = None
    """What the short pays, as a share of its worth; below 0 it is paid."""
    other_rate: float = 0.0
    """The same of the pool's other token; 0 where that is no coin of this contract."""
    wanted: str | None = None
    """The part somebody wanted closed while the venue did not answer, as it is typed."""
    others: tuple[HeldHedge, ...] = ()
    """Of the other coins of its position."""

    @property
    def legs(self) -> tuple[HeldHedge, ...]:
        return (self, *self.others)

    @property
    def flags(self) -> str:
        """Of the command that brings it back to its target."""
        target = "" if self.ratio == 1 else f" --target {self.ratio * 100:g}%"
        return f"{target} --band {self.band * 100:g}%" if self.band else target


class Situation(Struct, frozen=True):
    network: Network
    position: PositionSnapshot
    pair: Pair
    standing: RangeState
    out_since: float | None
    """The network's time at which the present excursion began."""
    baseline: Baseline
    others_there: int | None = None
    """The others' liquidity now where the baseline's was measured; None where that is unknown."""
    hook_code: str | None = None
    """What runs as the pool's hook; None where there is none."""
    volatility: Volatility | None = None
    """How much the price moves in a day; None where nobody can tell."""
    principal_usd: float | None = None
    fees_usd: float | None = None
    withdrawn_usd: float | None = None
    waiting_usd: float | None = None
    """Fees and what was withdrawn: known where the two cannot be told apart."""
    collect_usd: float | None = None
    """What collecting costs in gas."""
    price_difference: float | None = None
    """The larger of what its two tokens' price sources are apart; None with one source."""
    loss: float | None = None
    """The share of what went in that is gone, fees counted; None where it was not asked for."""

    hedge: HeldHedge | None = None
    """What is short for it; None where nothing ever was, or where that is unknown."""

    @property
    def name(self) -> str:
        return f"{position_label(self.position.ref)} {self.pair.name}"

    def command(self, verb: str) -> str:
        """What to type about it."""
        return f"zuno --network {self.network.name} {verb} {position_name(self.position.ref)}"
