"""Whether somebody watches over this home, and whether what they see reaches the person."""

import sqlite3
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from agents.monitor.deliver.delivery import REFUSED_REST_SECONDS
from agents.monitor.deliver.ledger import Progress, all_progress
from agents.monitor.heartbeat import Beat, Holder, current_holder, last_beat
from chain.base.home import Home
from chain.base.store import Store, StoreError
from chain.base.units import age_text
from chain.contracts.addresses import shortened

START = "zuno monitor"
_MOST_NAMED = 5


class WatchStatus(StrEnum):
    KEPT = "watching"
    SILENT = "silent"
    """Somebody holds the watch, and has not been seen for too long."""
    ENDED = "ended"
    NEVER = "never started"


class WatchHealth(Struct, frozen=True):
    state: WatchStatus
    holder: Holder | None
    beat: Beat | None
    channels: Mapping[str, Progress]
    """By name, those that alerts were ever sent through."""
    now: float

    @property
    def sentence(self) -> str:
        if self.beat is None:
            started = self.holder is not None
            return "The monitor has just started." if started else "The monitor has not run yet."
        seen = f"last seen {age_text(int(self.beat.age(self.now)))} ago"
        if self.holder is None:
            return f"The monitor is not running: it was {seen}."
        who = f"process {self.holder.pid} on {self.holder.host}"
        if self.state is WatchStatus.SILENT:
            return f"The monitor is stuck: {who} holds the watch, {seen}."
        if self.troubles:
            return f"The monitor runs, {seen} ({who}), but not all is well:"
        return f"The monitor is watching, {seen} ({who})."

    @property
    def next_step(self) -> str:
        if self.state is WatchStatus.KEPT:
            return ""
        if self.state is WatchStatus.SILENT and self.holder is not None:
            return f"End it, and another takes over: kill {self.holder.pid}"
        return f"Start it: {START}"

    @property
    def troubles(self) -> tuple[str, ...]:
        """A sentence for each thing that keeps the watch, as it was last seen, from being whole."""
        if self.beat is None:
            return ()
        whole = () if self.beat.trouble is None else (self.beat.trouble,)
        parts = (
            f"{sight.network} {shortened(sight.wallet_address)}"
            f" {'cannot be seen' if sight.block is None else 'is not wholly seen'}: {sight.trouble}"
            for sight in self.beat.sights
            if sight.trouble is not None and sight.trouble != self.beat.trouble
        )
        return (*whole, *parts)


def undelivered(channels: Mapping[str, Progress]) -> tuple[str, ...]:
    """A sentence for each channel that refuses alerts, and for each that gave some up."""
    return tuple(
        sentence
        for name, channel in channels.items()
        for sentence in _channel_sentences(name, channel)
    )


def _channel_sentences(name: str, progress: Progress) -> tuple[str, ...]:
    minutes = REFUSED_REST_SECONDS / 60
    refusing = f"{name} is stopped: {progress.trouble} It is tried again every {minutes:.0f} min."
    given_up = ", ".join(map(str, progress.set_aside[-_MOST_NAMED:]))
    aside = f"{name} never took {len(progress.set_aside)} events, the last of them {given_up}."
    return (*((refusing,) if progress.stopped else ()), *((aside,) if given_up else ()))


def watch_health(home: Home, *, now: float) -> WatchHealth:
    """As any process on the home can tell, without a lock and without the network."""
    holder = current_holder(home.monitor_lock)
    beat, channels = _read_health(home, now)
    if holder is not None:
        state = WatchStatus.SILENT if beat is not None and beat.overdue(now) else WatchStatus.KEPT
    else:
        state = WatchStatus.NEVER if beat is None else WatchStatus.ENDED
    return WatchHealth(state, holder, beat, channels, now)


def _read_health(home: Home, now: float) -> tuple[Beat | None, Mapping[str, Progress]]:
    if not home.database.exists():
        return None, {}
    try:
        store, _ = Store.open(home.database, now=now)
        with store:
            return last_beat(store), all_progress(store)
    except (OSError, sqlite3.Error, StoreError):
        # What keeps it from being read is the alert book's to say.
        return None, {}
