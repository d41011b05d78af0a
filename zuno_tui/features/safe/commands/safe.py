"""`zuno safe`: what a Safe's owners sign, and `export`, `import`, `execute`, `reject` of it."""

from __future__ import annotations

from zuno_tui.catalog.command import Command, Group, Verb, alone
from zuno_tui.features import safe
from zuno_tui.features.safe.intents import (
    ExecuteSafe,
    ExportSafe,
    ImportSafe,
    ListSafe,
    RejectSafe,
)

COMMAND = Command(
    does="list what your Safe's owners have signed",
    group=Group.ACTING,
    intent=ListSafe,
    examples=(
        "zuno safe",
        "zuno safe export 1 safe-1.json",
        "zuno safe execute 1",
    ),
    answer=lambda session, _: safe.answers.list_plans(session),
    verbs=(Verb("safe", alone(ListSafe(), "my", "the", "transactions"), "safe"),),
    subcommands=(
        Command(
            does="write one into a file, for the next owner",
            group=Group.ACTING,
            intent=ExportSafe,
            answer=lambda session, intent: safe.answers.export_plan(
                session, intent.number, intent.file
            ),
        ),
        Command(
            does="read one from a file, with its signatures",
            group=Group.ACTING,
            intent=ImportSafe,
            answer=lambda session, intent: safe.answers.import_plan(session, intent.file),
        ),
        Command(
            does="send one that enough owners have signed, from any wallet with gas",
            group=Group.ACTING,
            intent=ExecuteSafe,
            run=lambda arguments: safe.answers.execute_run(arguments),
        ),
        Command(
            does="sign the empty transaction of its nonce instead",
            group=Group.ACTING,
            intent=RejectSafe,
            answer=lambda session, intent: safe.answers.reject_plan(session, intent.number),
        ),
    ),
)
