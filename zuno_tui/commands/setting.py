"""`zuno setting [NAME [VALUE]]`: what is set and by whom, and a value changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intents import ChangeSetting

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_SHOWN = ("unit", "screen.theme", "screen.bell", "screen.reading_pace")
"""What the prompt changes: how things are shown. The rest is changed on the settings' page."""


def _read(said: Remaining) -> ChangeSetting:
    name, _, value = said.text.partition(" ")
    if name not in _SHOWN or not value:
        said.refuse(f"which setting. The prompt changes {', '.join(_SHOWN)}.", "settings")
    return ChangeSetting(name, value)


COMMAND = Command(
    does="show or change settings",
    examples=("zuno setting", "zuno setting limits.daily_usd 5000"),
    notes="The file is checked before it is written, and its comments stay; secrets are never"
    " printed.",
    group=Group.SETUP,
    intent=ChangeSetting,
    reaches_network=False,
    answer=lambda session, intent: app.setting.settings_answer(session, intent.name, intent.value),
    verbs=(Verb("setting", _read, "setting unit eth"),),
)
