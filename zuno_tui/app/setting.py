"""`zuno setting`: rows of what is set, and one value written."""

import os
from collections.abc import Mapping

from msgspec.structs import replace

from zuno_tui.app.session import Session
from zuno_tui.app.settings_rows import change_words, setting_rows
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import table
from zuno_tui.present.terminal import columns
from zuno_tui.settings import SettingsError, load_settings
from zuno_tui.settings.edit import change_setting

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


_COLUMNS = columns("SETTING", "IS", "FROM")


async def settings_answer(session: Session, name: str | None, value: str | None) -> CommandAnswer:
    remarks: tuple[str, ...] = ()
    if name is not None and value is not None:
        session = session_after(session, os.environ, name, value)
        remarks = (change_words(session, os.environ, name).words,)
    rows = setting_rows(session, os.environ)
    shown = [row for row in rows if name in (None, row.name)]
    if name is not None and not shown and value is None:
        raise SettingsError(f"There is no setting {name!r} to show. See them all: zuno setting")
    return CommandAnswer(
        lines=tuple(table(_COLUMNS, [(row.name, row.value, row.origin) for row in shown])),
        document={
            row.name: {"value": row.value, "from": row.origin, "mayBe": row.expects or None}
            for row in shown
        },
        remarks=remarks,
    )
