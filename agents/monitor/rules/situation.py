"""What the rules of alerts judge: one position with what is known around it."""

from __future__ import annotations

from msgspec import Struct

from agents.monitor.rules.baseline import Baseline, RangeState
from chain.contracts.networks import Network
from chain.history.volatility import Volatility
from chain.protocols.reference import position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens.pair import Pair


class Situation(Struct, frozen=True, gc=False):
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

    @property
    def name(self) -> str:
        return f"{position_label(self.position.ref)} {self.pair.name}"

    def command(self, verb: str) -> str:
        """What to type about it."""
        return f"zuno --network {self.network.name} {verb} {position_name(self.position.ref)}"
