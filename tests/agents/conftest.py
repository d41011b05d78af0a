"""The demo wallet's positions on an embedded chain."""

from tests import node_rpc


def positions_by_state(url: str) -> dict[str, int]:
    """Token ids by the state each is in."""
    found: dict[str, int] = node_rpc.ask(url, "zuno_status")["positions"]
    return found
