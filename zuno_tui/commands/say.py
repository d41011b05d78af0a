"""`zuno say "PHRASE"`: what the prompt understands by a phrase, shown or done."""

from argparse import Namespace

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intents import SayPhrase


def _run(arguments: Namespace) -> int:
    from zuno_tui.commands.catalog.saying import run

    return run(arguments)


COMMAND = Command(
    does="what a phrase means, in plain words",
    examples=('zuno say "take half out of 26" --dry-run',),
    group=Group.AGENTS,
    intent=SayPhrase,
    run=_run,
)
