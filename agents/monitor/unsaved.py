"""Alerts that cannot be written down are told all the same: a full disk must not silence them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.announcing import unclickable

if TYPE_CHECKING:
    from agents.monitor.alert import Alert
    from agents.monitor.book import AlertBook

MOST_NAMED = 8


class Unsaved:
    """What stands in the book's memory alone, each told once while the trouble lasts.

    Such alerts are no events yet; when the book can be written again they become some, and are
    told a second time with their numbers.
    """

    def __init__(self) -> None:
        self._told: frozenset[tuple[int, int]] = frozenset()
        self._troubled = False

    def news(self, book: AlertBook) -> str | None:
        """What to tell after a round, if anything."""
        standing = [one for one in book.current() if one.active]
        fresh = [one for one in standing if _episode(one) not in self._told]
        self._told = frozenset(map(_episode, standing))
        if book.trouble is None:
            self._troubled = False
            return None
        if self._troubled and not fresh:
            return None
        self._troubled = True
        lines = [book.trouble, *(f"{one.severity.upper()}: {one.message}" for one in fresh)]
        more = len(lines) - 1 - MOST_NAMED
        if more > 0:
            lines[MOST_NAMED + 1 :] = [f"and {more} more: zuno alerts"]
        return "\n".join(map(unclickable, lines))


def _episode(alert: Alert) -> tuple[int, int]:
    return alert.id, alert.episode
