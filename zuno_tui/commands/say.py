"""`zuno say "PHRASE"`: what the prompt understands by a phrase, shown or done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.commands.command import Argument, Command, Group, Intent

if TYPE_CHECKING:
    from argparse import Namespace


class SayPhrase(Intent, frozen=True):
    command: ClassVar = ("say",)
    arguments: ClassVar = (
        Argument("phrase", 'like "take half out of 26"', metavar="PHRASE"),
        Argument("--dry-run", "show the commands, run none", switch=True, default=False),
    )

    phrase: str
    dry_run: bool = False


def _run(arguments: Namespace) -> int:
    from zuno_tui.commands.catalog.saying import run

    return run(arguments)


COMMAND = Command(
    name="say",
    does="what a phrase means, in plain words",
    examples=('zuno say "take half out of 26" --dry-run',),
    group=Group.HOUSE,
    intent=SayPhrase,
    run=_run,
)
