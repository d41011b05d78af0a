"""A wallet that could not be seen, poll after poll: that nobody watches is an alert too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.monitor.alert import AlertKind, Finding, Severity, Subject
from agents.monitor.baseline import Baselines
from agents.monitor.life import Raised

if TYPE_CHECKING:
    from agents.monitor.book_page import Place
    from chain.networks import Network
    from chain.rpc.errors import RpcError


@dataclass(slots=True)
class WatchedWallet:
    """What is remembered of a wallet between polls."""

    place: Place
    baselines: Baselines = field(default_factory=Baselines)
    failures: int = 0
    """Polls in a row that could not see the chain."""
    failing_since: float | None = None

    def seen(self) -> None:
        self.failures, self.failing_since = 0, None

    def not_seen(self, now: float) -> None:
        self.failures += 1
        self.failing_since = now if self.failing_since is None else self.failing_since


def blindness(network: Network, wallet: WatchedWallet, error: RpcError, now: float) -> Raised:
    since = now if wallet.failing_since is None else wallet.failing_since
    finding = Finding(
        AlertKind.BLIND,
        Severity.CRITICAL,
        f"{network.title} cannot be read for {(now - since) / 60:.0f} min: {error.sentence}"
        " Nobody is watching these positions meanwhile.",
        "the chain cannot be read",
        f"zuno --network {network.name} doctor",
        {"failedPolls": wallet.failures},
    )
    subject = Subject(network.chain_id, wallet.place.wallet_address, None, AlertKind.BLIND)
    return Raised(subject, network.name, finding, None, since)
