"""One position at one block as the rules judge it: figures only, nothing left to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from agents.monitor.rules.baseline import Baseline
    from agents.monitor.rules.excursions import RangeState
    from agents.monitor.rules.held_hedge import HeldHedge
    from chain.contracts.networks import Network
    from chain.history.candle_volatility import Volatility
    from chain.positions.snapshot import PositionSnapshot
    from chain.tokens.pair import Pair


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
