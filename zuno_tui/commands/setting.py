"""`zuno setting [NAME [VALUE]]`: what is set and by whom, and a value changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.commands.arguments import read_without_key
from zuno_tui.commands.command import Argument, Command, Group, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer

_HIDDEN = (
    "telegram.token",
    "webhook.",
    "rpc.",
    "send.",
    "coingecko.",
    "model.base_url",
    "model.key",
)
"""What may hold a key: the line that does the same leaves it out."""


class ChangeSetting(Intent, frozen=True):
    command: ClassVar = ("setting",)
    arguments: ClassVar = (
        Argument("name", "like limits.daily_usd", metavar="NAME", optional=True),
        Argument(
            "value",
            'what it is from now on; "" takes it out of the file',
            metavar="VALUE",
            read=read_without_key,
            optional=True,
        ),
    )

    name: str | None = None
    value: str | None = None

    @property
    def twin(self) -> str:
        if self.name is not None and self.name.startswith(_HIDDEN):
            return f"zuno setting {self.name} …"
        return super().twin


async def _answer(session: Session, intent: ChangeSetting) -> CommandAnswer:
    from zuno_tui.app.setting import settings_answer

    return settings_answer(session, intent.name, intent.value)


COMMAND = Command(
    name="setting",
    does="what is set, where it comes from, and a value changed",
    examples=("zuno setting", "zuno setting limits.daily_usd 5000"),
    notes="The file is checked before it is written, and its comments stay; secrets are never"
    " printed.",
    group=Group.HOUSE,
    intent=ChangeSetting,
    reaches_network=False,
    answer=_answer,
)
