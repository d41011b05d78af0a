"""The positions as the last run knew them, so that a desk never opens on an empty pane."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from zuno_tui.desk.views import PositionRow, PositionsView

if TYPE_CHECKING:
    from chain.networks import Address, Network
    from chain.store import Store

_NAMESPACE = "desk-positions"
_KEPT_ROWS = 1_000
"""More would make opening slow, and nobody reads them before the first fresh ones are there."""


def remember(
    store: Store, network: Network, wallet: Address, view: PositionsView, *, now: float
) -> None:
    kept = replace(view, rows=view.rows[:_KEPT_ROWS])
    store.put(_NAMESPACE, _key(network, wallet), asdict(kept), now=now)


def remembered(store: Store, network: Network, wallet: Address) -> PositionsView | None:
    """What was kept; None when there is nothing, or it was written by another version."""
    document = store.get(_NAMESPACE, _key(network, wallet))
    if not isinstance(document, dict):
        return None
    fields = cast("dict[str, Any]", document)
    try:
        rows = tuple(PositionRow(**{**row, "notes": tuple(row["notes"])}) for row in fields["rows"])
        return PositionsView(**{**fields, "rows": rows, "stale": None, "remembered": True})
    except (KeyError, TypeError):
        return None


def _key(network: Network, wallet: Address) -> str:
    return f"{network.chain_id}:{wallet}"
