"""The lab, as the rest of the app finds it: by its commands, and what it keeps beside a watch."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from zuno_tui.app.feature import Feature

if TYPE_CHECKING:
    from agents.monitor.heartbeat import Note
    from zuno_tui.app.session import SettingsSource


def _keeping(
    chosen: SettingsSource, _tell: Callable[[Note], None]
) -> Coroutine[None, None, None] | None:
    """Once a day, and only where somebody has looked at what pools pay."""
    if not chosen.home.database.exists():
        return None
    from zuno_tui.features.lab.pool_watch import keep_pool_days

    return keep_pool_days(chosen)


FEATURE = Feature(name="lab", beside_watch=_keeping)
