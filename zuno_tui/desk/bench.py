"""What every part of the desk works with while it is open on one network and wallet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.networks import Address
    from chain.overview import Sources
    from zuno_tui.cli.session import Session
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.jobs import Jobs
    from zuno_tui.desk.opening import DeskOpening
    from zuno_tui.desk.status import StatusBoard

    Tell = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Bench:
    opening: DeskOpening
    session: Session
    wallet: Address
    sources: Sources
    tell: Tell
    jobs: Jobs
    status: StatusBoard

    @property
    def clock(self) -> Callable[[], float]:
        return self.opening.clock
