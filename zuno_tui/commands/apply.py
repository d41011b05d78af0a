"""`zuno apply PLAN`: sign and send what was approved, once, and read back what it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.commands.arguments import CONFIRM, PASSPHRASE_FILE, PLAN
from zuno_tui.commands.command import Argument, Command, Group, Intent, Verb

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.prompt.remaining import Remaining


class Apply(Intent, frozen=True):
    """At the desk it opens the confirmation; only the word typed there signs."""

    command: ClassVar = ("apply",)
    arguments: ClassVar = (
        Argument(
            "--anyway",
            "with --confirm: even if gas exceeds what it moves",
            switch=True,
            default=False,
        ),
        CONFIRM,
        PASSPHRASE_FILE,
        PLAN,
    )

    plan_id: str | None = None
    confirm: str | None = None
    anyway: bool = False
    passphrase_file: Path | None = None


def _run(arguments: Namespace) -> int:
    from zuno_tui.app.apply import run

    return run(arguments)


def _read(said: Remaining) -> Apply:
    plan_id = said.plan()
    said.end("plan", "now")
    return Apply(plan_id)


COMMAND = Command(
    name="apply",
    does="confirm what is approved; the word typed there signs and sends",
    group=Group.PLAN,
    intent=Apply,
    run=_run,
    verbs=(Verb("apply", _read, money=True, possible=lambda context: context.approved),),
)
