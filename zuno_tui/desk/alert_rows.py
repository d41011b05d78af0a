"""An alert as its pane draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.checksum import shortened
from chain.networks import UnknownNetworkError, network_named
from zuno_tui.desk.views import AlertRow

if TYPE_CHECKING:
    from agents.monitor.alert import Alert
    from chain.networks import Address, Network


def alert_row(alert: Alert, network: Network, wallet: Address) -> AlertRow:
    """As seen from a desk that shows one wallet on one network."""
    return AlertRow(
        alert_id=str(alert.id),
        severity=alert.severity.value,
        state=alert.state.value,
        token_id=alert.position_id,
        since=_since(alert),
        message=alert.message if alert.active else f"{alert.message} Over: {alert.resolution}.",
        next_command=_phrase(alert, network) if alert.active else "",
        muted_until=alert.muted_until,
        place=_place(alert, network, wallet),
    )


def _place(alert: Alert, network: Network, wallet: Address) -> str:
    elsewhere = alert.network if alert.chain_id != network.chain_id else ""
    other = shortened(alert.wallet_address) if alert.wallet_address != wallet else ""
    return " ".join(filter(None, (elsewhere, other)))


def _phrase(alert: Alert, network: Network) -> str:
    """The command as the prompt takes it, which acts on the desk's own network alone."""
    if alert.chain_id != network.chain_id:
        return f"switch to {alert.network}"
    return alert.next_command.removeprefix(f"zuno --network {network.name} ").removeprefix("zuno ")


def _since(alert: Alert) -> float:
    """By the wall's clock, which ages are told by; the embedded chain's own would mislead."""
    try:
        if network_named(alert.network).clock == "wall":
            return alert.since
    except UnknownNetworkError:
        return alert.since
    return alert.created_at if alert.episode == 1 else alert.updated_at
