"""A process that only reads: the book and its view, again and again, and what it saw of them."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import alert_document
from agents.monitor.alerts.store import AlertStore
from chain.base.home import Home

if TYPE_CHECKING:
    from agents.monitor.alerts.alert import Alert

MOST_LAG_SECONDS = 60.0
"""How long the file may tell something else than the book, on a machine that is busy."""

_REST = 20
"""So many times as long as it looked: who reads is not to slow down who writes."""


class Reader:
    def __init__(self, home: Home) -> None:
        self._view = home.alerts
        self._updated: dict[int, str] = {}
        self._differs_since: float | None = None
        self.seen: dict[int, str] = {}
        """What the book held, by its revision."""
        self.looks = 0
        self.faults: list[str] = []

    def look(self, book: AlertStore) -> None:
        self.looks += 1
        before = book.revision
        alerts = book.current()
        if book.revision == before:
            told = self.seen.setdefault(before, _digest(alerts))
            if told != _digest(alerts):
                self.faults.append(f"revision {before} was seen in two forms")
        if book.trouble is not None:
            self.faults.append(book.trouble)
        self._look_at_file(alerts)

    def _look_at_file(self, alerts: tuple[Alert, ...]) -> None:
        if not self._view.exists() and not alerts:
            return
        shown = {int(one["id"]): one for one in json.loads(self._view.read_bytes())}
        for number, updated in self._updated.items():
            if number not in shown or shown[number]["updatedAt"] < updated:
                self.faults.append(f"alert {number} was older in the file than before")
        self._updated = {number: str(one["updatedAt"]) for number, one in shown.items()}
        now = time.monotonic()
        if shown == {one.id: json.loads(json.dumps(alert_document(one))) for one in alerts}:
            self._differs_since = None
            return
        self._differs_since = now if self._differs_since is None else self._differs_since
        if now - self._differs_since > MOST_LAG_SECONDS:
            self.faults.append("the file does not follow the book")


def _digest(alerts: tuple[Alert, ...]) -> str:
    documents = json.dumps([alert_document(one) for one in alerts]).encode()
    return hashlib.sha256(documents).hexdigest()


def main() -> None:
    root = Path(sys.argv[1])
    home = Home(root, root)
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    reader = Reader(home)
    with closing(AlertStore.open(home, now=time.time())) as book:
        while not ended.is_set():
            began = time.monotonic()
            reader.look(book)
            ended.wait(_REST * (time.monotonic() - began))
    report = {"seen": reader.seen, "looks": reader.looks, "faults": reader.faults[:20]}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
