"""`zuno completion bash|zsh|fish`: what a shell needs to complete commands, flags and positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer

_SHELLS = ("bash", "zsh", "fish", "ids")


class CompleteShell(Intent, frozen=True):
    command: ClassVar = ("completion",)
    arguments: ClassVar = (
        Argument("shell", "whose script to print; ids: the positions it offers", choices=_SHELLS),
    )

    shell: Literal["bash", "zsh", "fish", "ids"]


async def _answer(session: Session, intent: CompleteShell) -> CommandAnswer:
    from zuno_tui.commands.catalog.shell_completion import completion_script, known_positions

    if intent.shell == "ids":
        return known_positions(session)
    return completion_script(intent.shell)


COMMAND = Command(
    does="a script that completes commands in a shell",
    group=Group.SETUP,
    intent=CompleteShell,
    answer=_answer,
    examples=(
        "source <(zuno completion bash)",
        "zuno completion fish > ~/.config/fish/completions/zuno.fish",
    ),
)
