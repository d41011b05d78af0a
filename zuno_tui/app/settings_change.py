"""A setting written to the file, and the session that lives by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.settings import load_settings
from zuno_tui.settings.edit import change_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zuno_tui.app.session import Session

_CHOSEN_AT_THE_DESK = ("network", "address", "unit")


def session_after(
    session: Session, environment: Mapping[str, str], place: str, typed: str
) -> Session:
    """The session with the setting written; what was chosen in this run stays chosen."""
    path = session.home.settings
    before = load_settings(path, environment, session.flags)
    change_setting(path, place, typed)
    after = load_settings(path, environment, session.flags)
    now = session.settings
    chosen = {
        each: getattr(now, each)
        for each in _CHOSEN_AT_THE_DESK
        if each != place and getattr(now, each) != getattr(before, each)
    }
    settings = replace(after, **chosen)
    return replace(session, settings=settings, network=settings.chosen_network())
