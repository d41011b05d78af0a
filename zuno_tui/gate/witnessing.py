"""Whose word the gate takes for what happened to a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence, NamedReader

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from zuno_tui.gate.connections import Connections


def evidence_of(network: Network, connections: Connections) -> Evidence:
    """Two endpoints where two are set and none may vouch alone; the embedded chain never lags."""
    rules = EMBEDDED if network.clock == "head" else ONE_ENDPOINT
    several = len(connections.witnesses) > 1
    if connections.alone or not several:
        return rules
    return replace(
        rules, witnesses=tuple(NamedReader(one.host, one.client) for one in connections.witnesses)
    )
