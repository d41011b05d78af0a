"""The rules by which a position is risky: one pure function a kind, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from agents.monitor.alerts.alert import AlertKind, Finding
from agents.monitor.rules import change_risks, hedge_risks, range_risks, worth_risks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agents.monitor.rules.baseline import Baseline
    from agents.monitor.rules.excursions import RangeState
    from agents.monitor.rules.thresholds import Thresholds
    from chain.contracts.networks import Address, Network
    from chain.history.candle_volatility import Volatility
    from chain.positions.snapshot import PositionSnapshot
    from chain.tokens.pair import Pair


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


class HedgeSource(Protocol):
    """Tells what is short on venues; it may not change anything there."""

    async def held_hedges(self) -> Mapping[int, HeldHedge] | None:
        """By position of one network; None where a venue cannot be read."""


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
        return f"#{self.position.token_id} {self.pair.name}"

    def command(self, verb: str) -> str:
        return f"zuno --network {self.network.name} {verb} {self.position.token_id}"


Rule: TypeAlias = "Callable[[Situation, Thresholds, bool], Finding | None]"
"""Whether the matter stands; the flag says that its alert does, so that it is left less easily."""

RULES: Mapping[AlertKind, Rule] = {
    AlertKind.OUT_OF_RANGE: range_risks.out_of_range,
    AlertKind.NEAR_BOUNDARY: range_risks.near_boundary,
    AlertKind.LIKELY_TO_LEAVE: range_risks.likely_to_leave,
    AlertKind.FEES_WORTH_COLLECTING: worth_risks.fees_worth_collecting,
    AlertKind.POOL_DRAINED: change_risks.pool_drained,
    AlertKind.FEE_CHANGED: change_risks.fee_changed,
    AlertKind.HOOK_CHANGED: change_risks.hook_changed,
    AlertKind.APPROVAL_CHANGED: change_risks.approval_changed,
    AlertKind.PRICE_DISAGREEMENT: worth_risks.price_disagreement,
    AlertKind.PRICE_LEVEL: worth_risks.price_level,
    AlertKind.LOSS_LEVEL: worth_risks.loss_level,
    AlertKind.HEDGE_DRIFTED: hedge_risks.hedge_drifted,
}
"""What can be said of a position alone; a lost owner and a blind eye are told elsewhere."""

_NONE_STANDING: frozenset[AlertKind] = frozenset()


def findings(
    situation: Situation,
    thresholds: Thresholds,
    standing: Collection[AlertKind] = _NONE_STANDING,
) -> list[Finding]:
    """All that is the matter, given the kinds whose alerts stand already."""
    judged = (rule(situation, thresholds, kind in standing) for kind, rule in RULES.items())
    return [finding for finding in judged if finding is not None]
