"""How often a channel is spoken to."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct

from agents.monitor.alerts.alert import Severity
from chain.base.units import HOUR

_LEAST_WAIT = 1.0


class QuietHours(Struct, frozen=True):
    """A part of every day, by the clocks of one place."""

    start: time
    end: time
    zone: str
    """As the time zone database calls it: Europe/Berlin."""

    def end_after(self, now: float) -> float | None:
        """When the quiet that holds now is over; None outside of it."""
        here = ZoneInfo(self.zone)
        local = datetime.fromtimestamp(now, here)
        moment = local.time()
        if self.start < self.end:
            quiet = self.start <= moment < self.end
        else:
            quiet = moment >= self.start or moment < self.end
        if not quiet:
            return None
        day = local.date() if moment < self.end else local.date() + timedelta(days=1)
        # Where clocks change meanwhile the end may fall into the hour that comes twice.
        return max(datetime.combine(day, self.end, here).timestamp(), now + _LEAST_WAIT)


class Pace(Struct, frozen=True):
    """Without a word: everything, at once, each event by itself."""

    least_severity: Severity = Severity.INFO
    quiet_hours: QuietHours | None = None
    critical_passes: bool = True
    """Whether what is critical is told in quiet hours, too."""
    cooldown_seconds: float = 0.0
    """The least time between two messages about a position, unless it is critical."""
    most_a_day: int = 0
    """Messages about a position in 24 hours; what is critical beyond goes together. 0: no limit."""
    remind_seconds: float = 0.0
    """How long a critical alert may stand unacknowledged before it is told again. 0: for ever."""
    for_people: bool = False
    """Whether what came and went while it waited is left out, unless it was critical."""

    @property
    def looks_back(self) -> bool:
        """Whether what is told depends on what was."""
        return bool(
            self.cooldown_seconds or self.most_a_day or self.remind_seconds or self.for_people
        )


EVERYTHING = Pace()


FOR_PEOPLE = Pace(
    least_severity=Severity.WARNING,
    cooldown_seconds=HOUR,
    most_a_day=3,
    remind_seconds=12 * HOUR,
    for_people=True,
)
