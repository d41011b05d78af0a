"""How the screen should look, kept for next time."""

from __future__ import annotations

from typing import Literal

from zuno_tui.commands.command import Command, Group, Intent


class Prefer(Intent, frozen=True):
    name: Literal["theme"]
    value: str

    @property
    def twin(self) -> str:
        return f'[screen] {self.name} = "{self.value}" in settings.toml'


COMMAND = Command(
    name="theme",
    does="keep how the screen should look",
    group=Group.DESK,
    intent=Prefer,
    on_command_line=False,
)
