"""What is said of a setting that was changed: whether it counts, and from when on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from zuno_tui.present.settings_rows import setting_rows
from zuno_tui.settings import SettingsError
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.debates import debate_settings

if TYPE_CHECKING:
    from zuno_tui.app.session import Session


class ChangeWords(NamedTuple):
    words: str
    counts: bool
    """Whether it will be lived by, now or from the next start on."""


def change_words(
    session: Session,
    environment: Mapping[str, str],
    place: str,
    *,
    by_flags: Mapping[str, str] | None = None,
    demo: bool = False,
) -> ChangeWords:
    """Of a setting that was written a moment ago."""
    kept = "Kept in the demo's own settings" if demo else "Kept"
    if missing := _missing(session, environment):
        return ChangeWords(f"{kept}, but {missing}", counts=False)
    rows = setting_rows(session, environment, by_flags or {})
    row = next((one for one in rows if one.name == place), None)
    if row is not None and row.overruled:
        words = f"{kept}, but it does not count yet: {row.origin} goes before the file."
        return ChangeWords(words, counts=False)
    if row is not None and row.later:
        return ChangeWords(f"{kept}. It counts when zuno is opened again.", counts=True)
    return ChangeWords(f"{kept}, and in use now.", counts=True)


def _missing(session: Session, environment: Mapping[str, str]) -> str | None:
    """What is missing beside what is set, in words: each may fit by itself, and not together."""
    settings = session.settings
    try:
        debate_settings(settings, environment, profile=None, deterministic=False)
        channel_settings(settings, environment)
    except SettingsError as error:
        return str(error)
    return None
