"""The monitor's sign of life: written after every round of polls, read by whoever wonders."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct, to_builtins

if TYPE_CHECKING:
    from agents.monitor.alerts.state import MonitorState
    from agents.monitor.poll import PollReport
    from chain.base.store import Store


NAMESPACE = "monitor"
_KEY = "heartbeat"
_GRACE_SECONDS = 30.0
"""A round that reads slowly is not a death."""


class Sight(Struct, frozen=True):
    """What was last seen of one wallet on one network."""

    network: str
    wallet_address: str
    block: int | None
    positions: int
    trouble: str | None


class Beat(Struct, frozen=True):
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


def write_beat(notebook: MonitorState, beat: Beat) -> None:
    notebook.put(NAMESPACE, _KEY, to_builtins(beat), now=beat.at)


def last_beat(store: Store) -> Beat | None:
    kept = store.get(NAMESPACE, _KEY)
    if kept is None:
        return None
    fields = cast("dict[str, object]", kept)
    sights = cast("list[dict[str, object]]", fields["sights"])
    return Beat(**{**fields, "sights": tuple(Sight(**one) for one in sights)})  # type: ignore[arg-type]
