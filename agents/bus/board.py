"""What one agent has heard in one request: the only memory a handler has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.bus.envelope import Envelope, Role


class Board:
    """Filled from envelopes alone, so a replay and an agent that was restarted fill it alike."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self._places = {role: place for place, role in enumerate(roles)}
        self._heard: list[Envelope] = []

    def add(self, envelope: Envelope) -> None:
        self._heard.append(envelope)

    def heard(self, *kinds: str) -> tuple[Envelope, ...]:
        """All of these kinds, by sender in the flow's order: who was faster makes no difference."""
        chosen = (envelope for envelope in self._heard if envelope.kind in kinds)
        return tuple(
            sorted(chosen, key=lambda one: (self._places[one.sender], one.ts, one.content_id))
        )
