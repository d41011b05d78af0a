"""How far a channel has come with a home's events, as it is written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from agents.monitor.deliver.ledger import Ledger, read_ledger

if TYPE_CHECKING:
    from chain.store import Store

NAMESPACE = "monitor-delivery"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a channel has come."""

    fingerprint: str
    cursor: int
    """The last event that was read; all before it were told, wait, or need not be told."""
    tried_at: float = 0.0
    rest_seconds: float = 0.0
    """How long to leave the channel alone since then."""
    failures: int = 0
    """In a row."""
    trouble: str | None = None
    """Why the last try failed; no secret is in it."""
    stopped_at: float | None = None
    """Since when the channel refuses what it is sent."""
    waiting: tuple[int, ...] = ()
    """Events that were read and are to be told."""
    suspects: tuple[int, ...] = ()
    """Events that failed by themselves while the channel may have been well."""
    trial: int | None = None
    """How often the first suspect failed since another event was taken; None: none was yet."""
    set_aside: tuple[int, ...] = ()
    """The last events that were given up: the channel took others, and never these."""
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def stopped(self) -> bool:
        return self.stopped_at is not None


def all_progress(store: Store) -> dict[str, Progress]:
    """How far each channel has come, as any process of the home may read it."""
    return {channel: read_progress(kept) for channel, kept in store.items(NAMESPACE).items()}


def read_progress(kept: object) -> Progress:
    fields = dict(cast("dict[str, object]", kept))
    for name in ("waiting", "suspects", "set_aside"):
        fields[name] = tuple(cast("list[int]", fields.get(name, ())))
    return Progress(**{**fields, "ledger": read_ledger(fields.get("ledger"))})  # type: ignore[arg-type]
