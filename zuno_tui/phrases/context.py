"""What stands on the desk while something is typed: what `it` can mean, what can be named."""

from __future__ import annotations

from msgspec import Struct


class PhraseContext(Struct, frozen=True):
    positions: tuple[int, ...] = ()
    selected: int | None = None
    """The position under the cursor."""
    plan_id: str | None = None
    plan_position: int | None = None
    candidates: tuple[str, ...] = ()
    """What `approve` takes of the plan on the card, the recommended one first."""
    argued: bool = False
    """Whether agents argued for the plan on the card, and so left several moves."""
    approved: bool = False
    applied: bool = False
    """Whether the plan on the card came to its end."""
    alerts: tuple[str, ...] = ()
    selected_alert: str | None = None
    records: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    """The plans in the outbox."""
    network: str = ""
    has_market: bool = False
    """Whether this is the embedded chain, whose clock can be stopped."""
    market_paused: bool = False
    cancellable: bool = False
    """Whether work is under way that can be ended."""

    @property
    def it(self) -> int | None:
        """The position that `it` means."""
        if self.selected is not None:
            return self.selected
        if self.plan_position is not None:
            return self.plan_position
        return self.positions[0] if len(self.positions) == 1 else None
