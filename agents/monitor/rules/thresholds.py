"""From where on a position is worth an alert; every figure can be set, for one position or all."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from msgspec import Struct, field

from chain.contracts.networks import Network
from chain.protocols.reference import PositionRef

DEFAULT_INTERVAL_SECONDS = 60.0
LEAST_INTERVAL_SECONDS = 5.0


class Thresholds(Struct, frozen=True):
    near_edge: float = 0.15
    """Near an edge: within this share of the range's width. 0 switches the rule off."""
    survival: float = 0.5
    """Likely to leave: under this chance to stay inside for 24 hours. 0 switches it off."""
    clearly_inside: float = 0.02
    """Back inside at once: this share of the width away from both edges."""
    settle_minutes: float = 10.0
    """Back inside after all: never outside for so long, however near the edge."""
    critical_minutes: float = 60.0
    """Out of range for so long is critical."""
    critical_distance: float = 0.5
    """So many widths beyond the edge is critical, however short."""
    fees_usd: float = 10.0
    """Fees worth collecting: at least so many dollars …"""
    fees_gas_multiple: float = 10.0
    """… and so many times what collecting costs in gas."""
    drained: float = 0.8
    """A pool is drained when this share of the others' liquidity has left it within a day."""
    disagreement: float = 0.02
    """Two sources of a price disagree from this relative difference on."""
    price_below: Fraction | None = None
    price_above: Fraction | None = None
    """Levels of the price as `zuno inspect` writes it; None for none."""
    value_below_usd: float | None = None
    """A stop-loss by worth: principal and fees together under so many dollars."""
    loss: float | None = None
    """A stop-loss by share: so much less than what went in, fees counted, in currency1."""
    of_features: Mapping[str, float] = field(default_factory=dict)
    """By name, what features judge by and a person set; only they know what else holds."""

    def settle_blocks(self, network: Network) -> int:
        return max(1, ceil(self.settle_minutes * 60 / network.block_seconds))


class WatchSettings(Struct, frozen=True):
    """How a person wants to be watched over."""

    everywhere: Thresholds = field(default_factory=Thresholds)
    of_networks: Mapping[str, Thresholds] = field(default_factory=dict)
    """By network name; whole, not only what differs."""
    of_positions: Mapping[tuple[str | None, PositionRef], Thresholds] = field(default_factory=dict)
    """By network name, None for any, and position; whole, not only what differs."""
    interval_seconds: float = DEFAULT_INTERVAL_SECONDS
    blind_polls: int = 3
    """Failed polls in a row after which not seeing is an alert itself."""

    def thresholds(self, network: str, position_id: PositionRef) -> Thresholds:
        here = self.of_networks.get(network, self.everywhere)
        if not self.of_positions:
            return here
        anywhere = self.of_positions.get((None, position_id), here)
        return self.of_positions.get((network, position_id), anywhere)


def still_fresh(read_at: float | None, kept_seconds: float, now: float) -> bool:
    """A time that lies ahead is of a clock that was set back, and says nothing."""
    return read_at is not None and 0 <= now - read_at < kept_seconds
