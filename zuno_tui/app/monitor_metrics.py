"""Figures of a running monitor, over HTTP on loopback, as Prometheus reads them.

Who knows the token in `metrics-token` of the home sees all of it; anybody else on this machine only
that it is up, when it last looked and how often it failed: wallets are nobody else's business.
"""

import hmac
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Lock

from agents.monitor.deliver.delivery import Postponed, Sent, SetAside, Stopped
from agents.monitor.heartbeat import Note, OrdersCarried, RoundEnded, TurnTaken, WaitingForTurn
from chain.base.errors import Failure, ZunoError
from chain.base.home import Home
from chain.base.loopback_http import HOST, LoopbackHandler, LoopbackServer
from zuno_tui.app.session import say

_TOKEN_FILE = "metrics-token"  # noqa: S105 - where one is
_PLACE = re.compile(rf"(?:{re.escape(HOST)}:|localhost:)?(?P<port>[0-9]{{1,5}})")
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPlaceError(ZunoError):
    failure = Failure.USAGE


class Gauges:
    """What the monitor tells, counted; read by other threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._since = time.time()
        self._round: RoundEnded | None = None
        self._rounds = 0
        self._errors = 0
        self._watching = False
        self._orders: bool | None = None
        self._events: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._unsent: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()

    def hear(self, note: Note) -> None:
        with self._lock:
            match note:
                case TurnTaken():
                    self._watching = True
                case WaitingForTurn():
                    self._watching = False
                case OrdersCarried(here, _, _):
                    self._orders = here
                case RoundEnded(beat, reports, _):
                    self._round = note
                    self._rounds += 1
                    self._errors += beat.trouble is not None or any(
                        report.trouble for report in reports
                    )
                    self._events.update(event.kind for report in reports for event in report.events)
                    # All wallets of a network are read in the same requests.
                    asked = {report.network: report.requests for report in reports}
                    self._requests.update(asked)
                case Sent(channel=channel, events=events):
                    self._sent[channel] += len(events)
                case Postponed(channel=channel) | Stopped(channel=channel):
                    self._unsent[channel] += 1
                case SetAside(channel=channel):
                    self._unsent[channel] += 1

    def text(self, now: float, *, whole: bool) -> str:
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines(now, whole=whole))

    @property
    def well(self) -> bool:
        """Whether the last look came in time and saw everything."""
        with self._lock:
            if self._round is None:
                return False
            beat = self._round.beat
            blind = any(sight.block is None for sight in beat.sights)
            return not (blind or beat.trouble or beat.overdue(time.time()))

    def _lines(self, now: float, *, whole: bool) -> Iterator[str]:
        yield from _metric("zuno_up", "gauge", "Whether the monitor runs.", {"": 1})
        watching = {"": int(self._watching)}
        yield from _metric("zuno_watching", "gauge", "0 while another one watches.", watching)
        since = self._round.beat.at if self._round is not None else self._since
        age = {"": round(max(0.0, now - since), 3)}
        yield from _metric("zuno_last_round_age_seconds", "gauge", "Since the last look.", age)
        yield from _metric("zuno_rounds_total", "counter", "Looks so far.", {"": self._rounds})
        errors = {"": self._errors}
        yield from _metric("zuno_round_errors_total", "counter", "Looks with a fault.", errors)
        if self._orders is not None:
            first = {"": int(self._orders)}
            does = "0 while another machine tries the orders first."
            yield from _metric("zuno_orders_first", "gauge", does, first)
        if whole and self._round is not None:
            yield from self._about_wallets(self._round)

    def _about_wallets(self, last: RoundEnded) -> Iterator[str]:
        seconds = {"": round(last.seconds, 3)}
        yield from _metric("zuno_round_seconds", "gauge", "What the last look took.", seconds)
        places = {
            _labels(network=sight.network, wallet=sight.wallet_address): sight
            for sight in last.beat.sights
        }
        held = {place: sight.positions for place, sight in places.items()}
        yield from _metric("zuno_positions", "gauge", "Positions with liquidity.", held)
        blocks = {place: sight.block for place, sight in places.items() if sight.block is not None}
        yield from _metric("zuno_block", "gauge", "The block that was read.", blocks)
        blind = {place: int(sight.block is None) for place, sight in places.items()}
        yield from _metric("zuno_blind", "gauge", "1 where the network cannot be read.", blind)
        for name, does, label, counted in (
            ("zuno_requests_total", "Requests to the chain.", "network", self._requests),
            ("zuno_alert_events_total", "What became of alerts.", "happened", self._events),
            ("zuno_sent_total", "Alerts that went out.", "channel", self._sent),
            ("zuno_unsent_total", "Tries that failed.", "channel", self._unsent),
        ):
            rows = {_labels(**{label: key}): count for key, count in counted.items()}
            yield from _metric(name, "counter", does, rows)


def _metric(
    name: str, kind: str, does: str, rows: dict[str, int] | dict[str, float]
) -> Iterator[str]:
    if not rows:
        return
    yield f"# HELP {name} {does}"
    yield f"# TYPE {name} {kind}"
    yield from (f"{name}{labels} {value}" for labels, value in rows.items())


def _labels(**given: str) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escape(text)}"' for name, text in given.items()) + "}"


@contextmanager
def opened_metrics(home: Home, place: str | None) -> Iterator[Gauges]:
    """Served for as long as the block lasts, where a place is named."""
    gauges = Gauges()
    if place is None:
        yield gauges
        return
    matched = _PLACE.fullmatch(place)
    if matched is None or not 0 <= int(matched["port"]) < 1 << 16:
        raise MetricsPlaceError(f"{place} is not an address of this machine. Like: {HOST}:9464")
    home.prepare()
    token = _kept_token(home.root / _TOKEN_FILE)
    try:
        server = LoopbackServer(int(matched["port"]), _handler_of(gauges, token))
    except OSError as error:
        raise MetricsPlaceError(
            f"{HOST}:{matched['port']} cannot be served: {error.strerror}. Name another port."
        ) from None
    server.serve_in_thread("metrics")
    say(
        f"Metrics: http://{HOST}:{server.port}/metrics, all of them with the token in "
        f"{home.root / _TOKEN_FILE}"
    )
    try:
        yield gauges
    finally:
        server.shutdown()
        server.server_close()


def _handler_of(gauges: Gauges, token: str) -> type[LoopbackHandler]:
    class MetricsHandler(LoopbackHandler):
        def answer_get(self, path: str) -> None:
            if path == "/health":
                well = gauges.well
                status = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
                self.send_json(b'{"well":true}' if well else b'{"well":false}', status)
            elif path == "/metrics":
                told = self.headers.get("authorization", "").encode()
                whole = hmac.compare_digest(told, f"Bearer {token}".encode())
                self.send_text(gauges.text(time.time(), whole=whole), _TYPE)
            else:
                self.send_json(b"{}", HTTPStatus.NOT_FOUND)

    return MetricsHandler


def _kept_token(path: Path) -> str:
    """For whoever may read this home; made once."""
    try:
        kept = path.read_text("utf-8").strip()
    except FileNotFoundError:
        kept = ""
    if kept:
        return kept
    token = secrets.token_urlsafe(24)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{token}\n")
    return token
