"""An alert as its pane draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.desk.views import AlertRow

if TYPE_CHECKING:
    from agents.monitor.alert import Alert
    from chain.networks import Network


def alert_row(alert: Alert, network: Network) -> AlertRow:
    return AlertRow(
        alert_id=str(alert.id),
        severity=alert.severity.value,
        state=alert.state.value,
        token_id=alert.position_id,
        since=_since(alert, network),
        message=alert.message if alert.active else f"{alert.message} Over: {alert.resolution}.",
        next_command=_phrase(alert, network) if alert.active else "",
        muted_until=alert.muted_until,
    )


def _phrase(alert: Alert, network: Network) -> str:
    """The command as the prompt takes it, which is on this network already."""
    return alert.next_command.removeprefix(f"zuno --network {network.name} ").removeprefix("zuno ")


def _since(alert: Alert, network: Network) -> float:
    """By the wall's clock, which ages are told by; the embedded chain's own would mislead."""
    if network.clock == "wall":
        return alert.since
    return alert.created_at if alert.episode == 1 else alert.updated_at
