"""`zuno alerts`: who watches, what stands, since when, and what to type about it; price alerts."""

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from textwrap import wrap
from typing import cast

from msgspec import Struct, to_builtins

from agents.monitor.alerts.alert import Alert, AlertMute, AlertState, alert_document, iso_time
from agents.monitor.alerts.state import (
    PriceAlert,
    UnknownPriceAlertError,
    drop_price_alert,
    keep_price_alert,
    read_price_alerts,
)
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.delivery import REFUSED_REST_SECONDS
from agents.monitor.deliver.ledger import Progress, all_progress
from agents.monitor.heartbeat import Beat, Holder, current_holder, last_beat
from chain.base.home import Home
from chain.base.store import Store, StoreError
from chain.base.units import NumeralError, Quantity, Unknown, age_text, read_numeral, spelled_out
from chain.contracts.addresses import shorten_address
from chain.contracts.networks import all_networks, network_named
from chain.prices.ladder import read_prices
from chain.protocols.reference import PositionRef, position_label
from chain.rpc.errors import RpcError
from chain.tokens import Token
from zuno_tui.app.price import token_called
from zuno_tui.app.session import Session
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import Json, table
from zuno_tui.present.terminal import columns, line_width
from zuno_tui.present.words import number
from zuno_tui.settings import Flags, SettingsError

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
            return f"The monitor runs, {seen} ({who}), with problems:"
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
            f"{sight.network} {shorten_address(sight.wallet_address)}"
            f" {'cannot be seen' if sight.block is None else 'is not wholly seen'}: {sight.trouble}"
            for sight in self.beat.sights
            if sight.trouble is not None and sight.trouble != self.beat.trouble
        )
        return (*whole, *parts)


def delivery_troubles(channels: Mapping[str, Progress]) -> tuple[str, ...]:
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
    aside = f"{name} never accepted {len(progress.set_aside)} events; the last: {given_up}."
    return (*((refusing,) if progress.is_stopped else ()), *((aside,) if given_up else ()))


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


ALL = "all"
_FRAME = 4
"""Cells that a page's frame takes of a line."""
_KEPT_OF_A_CHANNEL = ("fingerprint", "suspects", "trial", "ledger")
_COLUMNS = columns("ID>", "STATE", "SEVERITY", "POSITION", "SINCE (UTC)", "WHAT", "NEXT")


async def list_alerts(session: Session, *, ended: bool) -> CommandAnswer:
    now = time.time()
    with _open_store(session, now) as store:
        return _list(session, store, ended=ended, now=now)


async def show_alert(session: Session, alert_id: str) -> CommandAnswer:
    """One, whole: nothing of it is cut."""
    now = time.time()
    with _open_store(session, now) as store:
        alert = store.find(int(alert_id))
    over = "" if alert.resolution is None else f", over: {alert.resolution}"
    facts = (
        ("alert", f"{alert.id}, {alert.severity.value}, {alert.state.value}{over}"),
        ("about", _about(alert)),
        ("what", alert.message),
        ("why", alert.reason),
        ("since", f"{_moment(alert.since)} UTC"),
        ("next", "" if alert.resolved_at is not None else alert.next_command),
    )
    return CommandAnswer(
        heading=(),
        lines=tuple(
            line for label, words in facts if words for line in _broken(f"{label:<8}{words}")
        ),
        document=_told(alert),
    )


async def acknowledge(session: Session, alert_id: str) -> CommandAnswer:
    now = time.time()
    with _open_store(session, now) as store:
        return _changed(store, _acked(session, store, alert_id, now), "acknowledged")


async def mute(session: Session, alert_id: str, seconds: int, until: str | None) -> CommandAnswer:
    now = time.time()
    end = now + seconds if until is None else _read_moment(until, now)
    done = f"muted until {_moment(end)} UTC"
    with _open_store(session, now) as store:
        silenced = store.mute(_mute(session, store, alert_id, end), now)
        if alert_id != ALL:
            return _changed(store, silenced, done)
        session.narrate(f"New alerts until {_moment(end)} UTC are muted, too.")
        return _changed(store, tuple(alert for alert in silenced if alert.active), done)


def standing_alerts(session: Session, now: float) -> tuple[tuple[str, PositionRef], ...]:
    """Those of the network that are about positions, each with its position."""
    with _open_store(session, now) as store:
        return tuple(
            (str(alert.id), alert.position_id)
            for alert in store.current()
            if alert.active
            and alert.position_id is not None
            and alert.chain_id == session.network.chain_id
            and _is_meant(alert, session.flags)
        )


@contextmanager
def _open_store(session: Session, now: float) -> Iterator[AlertStore]:
    session.home.prepare()
    with closing(AlertStore.open(session.home, now=now)) as store:
        for notice in store.notices:
            session.narrate(notice)
        yield store


def _acked(session: Session, store: AlertStore, alert_id: str, now: float) -> tuple[Alert, ...]:
    if alert_id != ALL:
        return (store.ack(int(alert_id), now),)
    waiting = {
        alert.id
        for alert in store.current()
        if alert.active and alert.state is not AlertState.ACKED and _is_meant(alert, session.flags)
    }
    if not waiting:
        session.narrate("No alert is waiting to be acknowledged.")
    return store.ack_all(waiting, now)


def _mute(session: Session, store: AlertStore, alert_id: str, until: float) -> AlertMute:
    if alert_id != ALL:
        return AlertMute.of(store.find(int(alert_id)).subject, until)
    flags = session.flags
    chain_id = network_named(flags.network).chain_id if flags.network else None
    return AlertMute(until, chain_id, flags.address.strip().lower() if flags.address else None)


def _list(session: Session, store: AlertStore, *, ended: bool, now: float) -> CommandAnswer:
    health = watch_health(session.home, now=now)
    alerts = [alert for alert in store.current() if _is_meant(alert, session.flags)]
    shown = alerts if ended else [alert for alert in alerts if alert.active]
    nothing = "No alert so far." if ended else "There is no open alert."
    beat, holder = health.beat, health.holder
    return CommandAnswer(
        heading=() if shown else (nothing,),
        lines=tuple(table(_COLUMNS, [_row(alert, now) for alert in shown])) if shown else (),
        document={
            "alerts": [_told(alert) for alert in shown],
            "monitor": {
                **parts(health, "state", "troubles"),
                **({"pid": None, "host": None} if holder is None else parts(holder, "pid", "host")),
                "lastSeen": None if beat is None else iso_time(beat.at),
                "trouble": None if beat is None else beat.trouble,
            },
            "channels": [
                {"name": name, **document(progress, "is_stopped", without=_KEPT_OF_A_CHANNEL)}
                for name, progress in health.channels.items()
            ],
            "trouble": store.trouble,
        },
        remarks=() if session.as_json else _remarks(store, health, len(alerts) - len(shown)),
    )


def _remarks(store: AlertStore, health: WatchHealth, more: int) -> tuple[str, ...]:
    words = (
        f"{more} more are over: zuno alerts --all" if more else "",
        health.sentence,
        *health.troubles,
        health.next_step,
        *delivery_troubles(health.channels),
        store.trouble or "",
    )
    return tuple(dict.fromkeys(filter(None, words)))


def _is_meant(alert: Alert, flags: Flags) -> bool:
    """All networks and wallets, unless one was named."""
    if flags.network and network_named(flags.network).chain_id != alert.chain_id:
        return False
    return not flags.address or flags.address.strip().lower() == alert.wallet_address


def _changed(store: AlertStore, alerts: tuple[Alert, ...], done: str) -> CommandAnswer:
    words = [
        f"Alert {alert.id} ({_about(alert)}, {_kind(alert)}) is {done}."
        + ("" if alert.active else " It is over already.")
        for alert in alerts
    ]
    if store.trouble is not None:
        words.append(f"{store.trouble} What you typed is lost when this ends: try again then.")
    return CommandAnswer(
        lines=(),
        document={"alerts": [_told(alert) for alert in alerts], "trouble": store.trouble},
        remarks=tuple(words),
        code=DONE if store.trouble is None else FAILED,
    )


_CLOCK = re.compile(r"(?:(?:at|by) )?([0-9]{1,2})(?::([0-9]{2}))? ?([ap]m)?", re.ASCII)
_NAMED_HOURS = {"noon": "12:00", "midnight": "00:00"}


def _clock_time(text: str, now: float) -> float | None:
    """`8am`, `tomorrow 20:30`: the next such time by the person's own clock."""
    words = text.strip().lower()
    clock = words.removeprefix("tomorrow").strip()
    found = _CLOCK.fullmatch(_NAMED_HOURS.get(clock, clock))
    if found is None or not (found[2] or found[3]):
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        hour = hour % 12 + 12 * (found[3] == "pm") if 1 <= hour <= 12 else 24
    if hour > 23 or minute > 59:
        return None
    local = datetime.fromtimestamp(now, UTC).astimezone()
    today = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    later = words.startswith("tomorrow") or today.timestamp() <= now
    return (today + timedelta(days=later)).timestamp()


def _read_moment(text: str, now: float) -> float:
    if (clock := _clock_time(text, now)) is not None:
        return clock
    try:
        # Without a zone it is the person's own time.
        moment = datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise SettingsError(
            f"{text!r} is not a date or time. Write it like: --until 8am, or 2026-12-01T08:00"
        ) from None
    if moment <= now:
        raise SettingsError(f"{text} has already passed. A mute ends in the future.")
    return moment


def _row(alert: Alert, now: float) -> tuple[str, ...]:
    state = alert.state.value + (", muted" if alert.is_muted(now) else "")
    what = alert.message if alert.active else f"{alert.message} Over: {alert.resolution}."
    next_command = alert.next_command if alert.active else ""
    return (
        str(alert.id),
        state,
        alert.severity.value,
        _about(alert),
        _moment(alert.since),
        what,
        next_command,
    )


def _about(alert: Alert) -> str:
    position = "" if alert.position_id is None else f" {position_label(alert.position_id)}"
    return alert.network + position


def _broken(line: str) -> list[str]:
    """For a page as wide as the terminal, within its frame; whole where there is no terminal."""
    width = line_width()
    if width is None:
        return [line]
    return wrap(line, width - _FRAME, subsequent_indent=" " * 8, break_on_hyphens=False)


def _kind(alert: Alert) -> str:
    return alert.kind.replace("_", " ")


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _told(alert: Alert) -> Json:
    return cast("dict[str, Json]", alert_document(alert))


_PRICE_ALERT_COLUMNS = columns("#>", "TOKEN", "WHEN", "PRICE (USD)>", "NETWORK")
_HOW = "Type it like: zuno alert ETH below 3000"


def list_price_alerts(session: Session) -> CommandAnswer:
    session.home.prepare()
    alerts = read_price_alerts(session.home.database)
    rows = [
        (str(alert.id), alert.symbol, alert.side, alert.level, _network(alert)) for alert in alerts
    ]
    return CommandAnswer(
        heading=() if rows else (f"No price alert is set. {_HOW}",),
        lines=tuple(table(_PRICE_ALERT_COLUMNS, rows)) if rows else (),
        document={"priceAlerts": [_price_alert_document(alert) for alert in alerts]},
        remarks=_watched(session) if rows else (),
    )


async def create_price_alert(
    session: Session, symbol: str, side: str | None, level: str | None
) -> CommandAnswer:
    if side not in ("below", "above") or level is None:
        raise PhraseError(
            f"{symbol!r} is not a price alert yet: below or above which price? {_HOW}", ""
        )
    token = token_called(session.network, symbol)
    dollars = _dollars(level)
    session.home.prepare()
    alert = keep_price_alert(
        session.home.database,
        chain_id=session.network.chain_id,
        token=token.address,
        symbol=token.symbol,
        side="below" if side == "below" else "above",
        level=dollars,
        now=time.time(),
    )
    price = await _price(session, token)
    return CommandAnswer(
        lines=(f"Price alert {alert.id}: {alert.words} USD on {session.network.title}.",),
        document={**_price_alert_document(alert), "price": number(price), "unit": "usd"},
        remarks=(_now(alert, price), *_watched(session)),
    )


def remove_price_alert(session: Session, said: str | None) -> CommandAnswer:
    if said is None or not said.removeprefix("#").isdecimal():
        raise PhraseError("Which one? Like: zuno alert remove 2. See them all: zuno alert", "")
    session.home.prepare()
    try:
        alert = drop_price_alert(session.home.database, int(said.removeprefix("#")))
    except UnknownPriceAlertError as error:
        raise PhraseError(str(error), "") from error
    return CommandAnswer(
        lines=(f"Price alert {alert.id} ({alert.words}) is removed.",),
        document=_price_alert_document(alert),
    )


def _dollars(level: str) -> str:
    try:
        numeral = read_numeral(level.removeprefix("$"))
    except NumeralError as error:
        raise PhraseError(str(error), "") from error
    if numeral.digits <= 0:
        raise PhraseError(f"A price must be above zero. {_HOW}", "")
    return spelled_out(numeral)


async def _price(session: Session, token: Token) -> Quantity[Fraction]:
    try:
        async with session.connect() as client, session.market() as coingecko:
            prices = await read_prices(
                client, session.network, [token.address], coingecko=coingecko
            )
    except (RpcError, SettingsError) as error:
        return Unknown(str(error))
    return prices.price(token.address)


def _now(alert: PriceAlert, price: Quantity[Fraction]) -> str:
    if isinstance(price, Unknown):
        return f"The price of {alert.symbol} could not be read: {price.reason}"
    beyond = price.value < alert.dollars if alert.side == "below" else price.value > alert.dollars
    already = f" It is already {alert.side} that, so the alert comes at once." if beyond else ""
    return f"{alert.symbol} is ${float(price.value):,.6g} now.{already}"


def _watched(session: Session) -> tuple[str, ...]:
    health = watch_health(session.home, now=time.time())
    return tuple(filter(None, (health.sentence, health.next_step)))


def _network(alert: PriceAlert) -> str:
    found = (network.name for network in all_networks() if network.chain_id == alert.chain_id)
    return next(found, str(alert.chain_id))


def _price_alert_document(alert: PriceAlert) -> dict[str, Json]:
    return {
        **to_builtins(alert),
        "network": _network(alert),
        "level": float(alert.level),
        "levelUnit": "usd",
        "createdAt": iso_time(alert.created_at),
    }
