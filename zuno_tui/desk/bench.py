"""What every part of the desk works with while it is open on one network and wallet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zuno_tui.desk.events import ViewAsked

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.networks import Address
    from chain.overview import Sources
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.intents import ViewName
    from zuno_tui.desk.jobs import Jobs
    from zuno_tui.desk.opening import DeskOpening
    from zuno_tui.desk.status import StatusBoard
    from zuno_tui.session import Session

    Tell = Callable[[Event], None]

_STILL_WAITING = 2.0


@dataclass(frozen=True, slots=True)
class Bench:
    opening: DeskOpening
    session: Session
    wallet: Address
    sources: Sources
    tell: Tell
    jobs: Jobs
    status: StatusBoard

    def bring(self, view: ViewName, asked_at: float) -> None:
        """Bring what was asked for to the front, for whoever is still waiting for it.

        Later they may be typing, and a pane that jumps to the front would take the keys.
        """
        if self.clock() - asked_at < _STILL_WAITING:
            self.tell(ViewAsked(view))

    @property
    def clock(self) -> Callable[[], float]:
        return self.opening.clock
