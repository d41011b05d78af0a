"""`alerts.json`: the book as a file that any other tool can read, written whole every time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.monitor.alert import alert_document
from agents.monitor.alert_reading import AlertDocumentError, read_alert

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from agents.monitor.alert import Alert

MOST_RESOLVED = 1_000
"""Alerts that are over stay in the file up to this many, the newest first; the book keeps all."""


class View:
    """Renders the file, keeping the lines of alerts that have not changed since the last time."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[Alert, str]] = {}

    def render(self, alerts: Collection[Alert]) -> bytes:
        """The whole file: what stands, then what is over, one alert a line for other tools."""
        standing = [one for one in alerts if one.active]
        over = sorted((one for one in alerts if not one.active), key=lambda one: -one.updated_at)
        shown = (*standing, *over[:MOST_RESOLVED])
        lines = {one.id: (one, self._line(one)) for one in shown}
        self._lines = lines
        return ("[" + ",".join(f"\n  {line}" for _, line in lines.values()) + "\n]\n").encode()

    def _line(self, alert: Alert) -> str:
        kept = self._lines.get(alert.id)
        if kept is not None and kept[0] is alert:
            return kept[1]
        return json.dumps(alert_document(alert), ensure_ascii=False)


def read_view(path: Path) -> list[Alert] | None:
    """The alerts of the file; None when there is none, `AlertDocumentError` when it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
    except ValueError as error:
        raise AlertDocumentError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(found, list):
        raise AlertDocumentError(f"{path.name} is not an array.")
    return [read_alert(one) for one in found]


def drop_leftovers(path: Path) -> None:
    """Remove what a killed writer left half written beside the file."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)
