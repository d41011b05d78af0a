"""A wallet that could not be seen, poll after poll: that nobody watches is an alert too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from agents.monitor.alerts.alert import AlertKind, AlertSubject, Finding, Severity
from agents.monitor.alerts.lifecycle import Raised
from agents.monitor.alerts.store_page import Failures, WatchPlace
from agents.monitor.rules.baseline import Baselines
from chain.base.clean_text import clean_text, quoted
from chain.base.redaction import Redactor
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from chain.contracts.networks import Network


class WatchedWallet(Struct):
    """What is remembered of a wallet between polls."""

    place: WatchPlace
    baselines: Baselines = field(default_factory=Baselines)


def failed_again(before: Failures | None, now: float) -> Failures:
    """One failed poll more; a clock that was set back does not make the first lie ahead."""
    if before is None:
        return Failures(1, now)
    return Failures(before.polls + 1, min(before.since, now))


def blindness(
    network: Network, wallet: WatchedWallet, failures: Failures, error: Exception, now: float
) -> Raised:
    finding = Finding(
        AlertKind.BLIND,
        Severity.CRITICAL,
        f"{network.title} cannot be read for {(now - failures.since) / 60:.0f} min:"
        f" {sentence_of(error)} Nobody is watching these positions meanwhile.",
        "the chain cannot be read",
        f"zuno --network {network.name} doctor",
        {"failedPolls": failures.polls},
    )
    subject = AlertSubject(network.chain_id, wallet.place.wallet_address, None, AlertKind.BLIND)
    return Raised(subject, network.name, finding, None, failures.since)


def sentence_of(error: Exception) -> str:
    """What kept a wallet from being seen, without a secret, whether it was foreseen or not."""
    if isinstance(error, RpcError):
        return error.sentence
    words = quoted(Redactor().text(clean_text(str(error))))
    return f"The look failed with an unexpected error ({type(error).__name__}: {words})."
