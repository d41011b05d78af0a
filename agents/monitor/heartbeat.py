"""The monitor's sign of life: written after every round of polls, read by whoever wonders."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from agents.monitor.notebook import Notebook
    from agents.monitor.worker import PollReport
    from chain.store import Store


def still_fresh(read_at: float | None, kept_seconds: float, now: float) -> bool:
    """A time that lies ahead is of a clock that was set back, and says nothing."""
    return read_at is not None and 0 <= now - read_at < kept_seconds


NAMESPACE = "monitor"
_KEY = "heartbeat"
_GRACE_SECONDS = 30.0
"""A round that reads slowly is not a death."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was last seen of one wallet on one network."""

    network: str
    wallet_address: str
    block: int | None
    positions: int
    trouble: str | None


@dataclass(frozen=True, slots=True)
class Beat:
    at: float
    pid: int
    host: str
    interval_seconds: float
    sights: tuple[Sight, ...]
    trouble: str | None
    """What keeps the whole of it from being well, such as a full disk."""

    def age(self, now: float) -> float:
        return max(0.0, now - self.at)

    def overdue(self, now: float) -> bool:
        """Whether the next one should have come by now."""
        return self.age(now) > 2 * self.interval_seconds + _GRACE_SECONDS


def sight_of(report: PollReport) -> Sight:
    return Sight(
        report.network, report.wallet_address, report.block, report.positions, report.trouble
    )


def write_beat(notebook: Notebook, beat: Beat) -> None:
    notebook.put(NAMESPACE, _KEY, asdict(beat), now=beat.at)


def last_beat(store: Store) -> Beat | None:
    kept = store.get(NAMESPACE, _KEY)
    if kept is None:
        return None
    fields = cast("dict[str, object]", kept)
    sights = cast("list[dict[str, object]]", fields["sights"])
    return Beat(**{**fields, "sights": tuple(Sight(**one) for one in sights)})  # type: ignore[arg-type]
