"""Alerts at the desk: the book everybody writes to, and the monitor when nobody else runs it."""

import asyncio
import sqlite3
from contextlib import suppress
from typing import Literal

from msgspec.structs import replace

from agents.monitor.alerts.alert import Alert, AlertKind, AlertMute
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import RAISING
from agents.monitor.deliver.ledger import all_progress
from agents.monitor.heartbeat import (
    Beat,
    Note,
    RoundEnded,
    Troubled,
    TurnTaken,
    WaitingForTurn,
    last_beat,
)
from agents.monitor.rules.thresholds import still_fresh
from agents.monitor.service import run_monitor
from chain.base.clean_text import clean_text
from chain.base.clock import loop_time
from chain.base.store import StoreError
from chain.base.units import age_text
from chain.contracts.addresses import shorten_address
from chain.contracts.networks import Address, Network, UnknownNetworkError, network_named
from chain.protocols.reference import position_label, read_position_ref
from zuno_tui.app.alerts import delivery_troubles
from zuno_tui.app.session import SettingsSource
from zuno_tui.app.watchlist import HomeWatchlist
from zuno_tui.catalog.handed_over import HandedOver, take_handed_over
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import AlertRaised, AlertsChanged, Said
from zuno_tui.desk.jobs import fault_words
from zuno_tui.intents.intents import ALL_ALERTS, Acknowledge
from zuno_tui.intents.intents import MuteAlert as AskedMute
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.present.views import AlertRow, AlertsView
from zuno_tui.settings import Flags


def alert_row(alert: Alert, network: Network, wallet: Address) -> AlertRow:
    """As seen from a desk that shows one wallet on one network."""
    elsewhere = alert.network if alert.chain_id != network.chain_id else ""
    other = shorten_address(alert.wallet_address) if alert.wallet_address != wallet else ""
    return AlertRow(
        alert_id=str(alert.id),
        severity=alert.severity.value,
        state=alert.state.value,
        ref=alert.position_id,
        since=_since(alert),
        message=alert.message if alert.active else f"{alert.message} Over: {alert.resolution}.",
        next_command=_phrase(alert, network) if alert.active else "",
        muted_until=alert.muted_until,
        place=" ".join(filter(None, (elsewhere, other))),
        fees=alert.waiting_usd if alert.subject.kind == AlertKind.FEES_WORTH_COLLECTING else None,
        waiting=alert.waiting_usd,
        kind=alert.subject.kind,
        numbers=alert.numbers,
    )


def _phrase(alert: Alert, network: Network) -> str:
    """The command as the prompt takes it, which acts on the desk's own network alone."""
    if alert.chain_id != network.chain_id:
        return f"switch to {alert.network}"
    return alert.next_command.removeprefix(f"zuno --network {network.name} ").removeprefix("zuno ")


def _since(alert: Alert) -> float:
    """By the wall's clock, which ages are told by; the embedded chain's own would mislead."""
    try:
        if network_named(alert.network).clock == "wall":
            return alert.since
    except UnknownNetworkError:
        return alert.since
    return alert.created_at if alert.episode == 1 else alert.updated_at


_BETWEEN_LOOKS = 1.0
_BETWEEN_BEATS = 5.0
_BETWEEN_TRIES = 30.0
"""Seconds until a watch that failed is begun again."""
_EMBEDDED_INTERVAL = 8.0
"""Seconds: where a minute passes in one, the usual interval would be an hour."""
_LAST_MOMENTS = 1.5
_COARSE_SECONDS = 15.0
_MOST_ROWS = 200


class Watching:
    def __init__(self, context: DeskContext) -> None:
        self._context = context
        self._book = AlertStore.open(context.session.home, now=context.clock())
        self._view = AlertsView()
        self._alerts: tuple[Alert, ...] = ()
        """What the rows were drawn from; the book gives the same again until something changes."""
        self._watched_by: Literal["desk", "daemon", "nobody"] = "nobody"
        self._beat: Beat | None = None
        self._trouble: str | None = None
        self._undelivered: tuple[str, ...] = ()
        self._store_seen: float | None = None
        self._notices = 0
        self._stop = asyncio.Event()
        self._events = _newest_event(self._book)

    async def run(self) -> None:
        """Until cancelled: watch beside or instead of a daemon, and tell what changes."""
        if self._context.opening.looks_only:
            self._watched_by = "daemon"
            self._stop.set()
        monitor = asyncio.create_task(self._monitor(), name="zuno monitor")
        try:
            while True:
                try:
                    self._look()
                except Exception as error:  # whatever is odd in the home, the desk looks again
                    self._tell_view(replace(self._view, trouble=fault_words(error)))
                await asyncio.sleep(_BETWEEN_LOOKS)
        finally:
            self._stop.set()
            with suppress(TimeoutError, asyncio.CancelledError):
                await asyncio.wait_for(monitor, _LAST_MOMENTS)
            self._book.close()

    def acknowledge(self, intent: Acknowledge) -> None:
        now = self._context.clock()
        if intent.alert_id == ALL_ALERTS:
            self._book.ack_all({alert.id for alert in self._book.current() if alert.active}, now)
            self._say("All alerts are acknowledged.", intent.twin)
            return
        alert = self._book.ack(_number(intent.alert_id), now)
        self._say(f"Alert {alert.id} is acknowledged.", intent.twin)

    def mute(self, asked: AskedMute) -> None:
        now, length = self._context.clock(), age_text(asked.seconds)
        if asked.alert_id == ALL_ALERTS:
            self._book.mute(AlertMute(now + asked.seconds), now)
            self._say(f"Everything is muted for {length}, new alerts too.", asked.twin)
            return
        alert = self._book.find(_number(asked.alert_id))
        self._book.mute(AlertMute.of(alert.subject, now + asked.seconds), now)
        self._say(f"Alert {alert.id} is muted for {length}.", asked.twin)

    def _say(self, words: str, twin: str) -> None:
        self._look()
        trouble = self._book.trouble
        self._context.tell(Said(words if trouble is None else f"{words} {trouble}", twin=twin))

    async def _monitor(self) -> None:
        while not self._stop.is_set():
            try:
                await self._watch()
            except Exception as error:  # without a watch the rest of the desk goes on
                self._watched_by, self._trouble = "nobody", fault_words(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _BETWEEN_TRIES)

    async def _watch(self) -> None:
        context, session = self._context, self._context.session
        flags = context.opening.flags or _own_flags(context)
        interval = _EMBEDDED_INTERVAL if session.network.clock == "head" else None
        chosen = SettingsSource(session.home, flags, context.opening.environment, interval)
        watchlist = HomeWatchlist(chosen, self._book, tell=self._hear, clock=context.clock)
        try:
            await run_monitor(
                session.home,
                self._book,
                watchlist,
                tell=self._hear,
                stop=self._stop,
                clock=context.clock,
            )
        finally:
            await watchlist.close()

    def _hear(self, note: Note) -> None:
        match note:
            case TurnTaken():
                self._watched_by = "desk"
            case WaitingForTurn():
                self._watched_by = "daemon"
            case RoundEnded(beat=beat):
                self._beat, self._trouble = beat, beat.trouble
            case Troubled(sentence=sentence):
                self._trouble = sentence

    def _look(self) -> None:
        """Told when an alert changed, whoever changed it, or when the watch itself did."""
        self._see_store()
        view = self._drawn()
        changed = view.revision != self._view.revision
        self._tell_view(view)
        if changed:
            self._raise()
        for notice in self._book.notices[self._notices :]:
            self._context.tell(Said(notice, "warn"))
        self._notices = len(self._book.notices)

    def _tell_view(self, view: AlertsView) -> None:
        if view.revision != self._view.revision or _differs(self._view, view):
            self._view = view
            self._context.tell(AlertsChanged(view))

    def _raise(self) -> None:
        now = self._context.clock()
        for event in self._book.events_after(self._events):
            self._events = event.number
            if event.kind in RAISING and not event.alert.is_muted(now):
                self._context.tell(AlertRaised(self._row(event.alert)))

    def _row(self, alert: Alert) -> AlertRow:
        return alert_row(alert, self._context.session.network, self._context.wallet)

    def _drawn(self) -> AlertsView:
        revision = self._book.revision
        rows = self._view.rows
        # While another thread writes, the book may tell the new revision and the old alerts.
        if (alerts := self._book.current()) is not self._alerts:
            rows = tuple(map(self._row, alerts[:_MOST_ROWS]))
        troubles = (self._book.trouble, self._trouble, *self._undelivered)
        view = AlertsView(
            rows=rows,
            revision=revision,
            watched_by=self._watched_by,
            last_seen=None if self._beat is None else self._beat.at,
            trouble=" ".join(dict.fromkeys(filter(None, troubles))) or None,
            unseen=self._unseen(),
        )
        # Not before: rows that a fault kept from the screen are drawn at the next look.
        self._alerts = alerts
        return view

    def _see_store(self) -> None:
        """What whoever polls has written down of itself, and of the channels."""
        now = loop_time()
        if still_fresh(self._store_seen, _BETWEEN_BEATS, now):
            return
        self._store_seen = now
        store = self._context.sources.store
        try:
            self._undelivered = delivery_troubles(all_progress(store))
            beat = last_beat(store)
            # Told once, and where somebody can decide.
            here = not self._context.opening.looks_only
            handed = take_handed_over(store, self._context.clock()) if here else ()
        except (StoreError, sqlite3.Error):
            # What keeps it from being read is the alert book's to say.
            return
        for each in handed:
            self._context.tell(Said(_handed_words(each), "warn"))
        if self._watched_by == "daemon" and beat is not None:
            self._beat, self._trouble = beat, beat.trouble

    def _unseen(self) -> str | None:
        """Why nothing to show is no proof that all is well."""
        network, wallet = self._context.session.network, self._context.wallet
        if self._watched_by == "nobody":
            return "The monitor has not run yet."
        if self._beat is None or not self._beat.sights:
            return "Not everything has been checked yet."
        if self._beat.overdue(self._context.clock()):
            return "The monitor has not been seen for too long: zuno alerts"
        for sight in self._beat.sights:
            if sight.block is None:
                return f"{sight.network} {shorten_address(sight.wallet_address)} cannot be seen."
        if (network.name, wallet) not in {
            (sight.network, sight.wallet_address) for sight in self._beat.sights
        }:
            return f"The monitor does not watch this wallet on {network.title}."
        return None


def _handed_words(handed: HandedOver) -> str:
    """A stranger proposes; what its plan says is read on the card, and a person decides."""
    named = read_position_ref(handed.position)
    about = "a new position" if named is None else position_label(named)
    by = clean_text(handed.by, limit=40)
    return f"An agent («{by}») proposes a plan for {about}. To read it: plan {handed.plan_id}"


def _differs(before: AlertsView, after: AlertsView) -> bool:
    """That the watch was seen once more is only worth telling now and then."""
    if before.last_seen is None or after.last_seen is None:
        return before != after
    later = after.last_seen - before.last_seen
    return later >= _COARSE_SECONDS or replace(before, last_seen=after.last_seen) != after


def _own_flags(context: DeskContext) -> Flags:
    """What this desk looks at is watched, where no flags of its own say what else is."""
    session = context.session
    urls = ",".join((*session.endpoints, *session.sockets))
    return Flags(session.network.name, urls, context.wallet)


def _number(alert_id: str) -> int:
    digits = alert_id.removeprefix("#")
    if not digits.isascii() or not digits.isdigit():
        raise PhraseError(f"{alert_id!r} is not an alert's number, like 3. See them: alerts", "")
    return int(digits)


def _newest_event(book: AlertStore) -> int:
    """What happened before the desk opened rings no bell."""
    number = 0
    while events := book.events_after(number):
        number = events[-1].number
    return number
