"""`zuno outbox`: everything that was approved or sent, where it stands, and what can be done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from zuno_tui.commands.arguments import CONFIRM, PASSPHRASE_FILE, PLAN
from zuno_tui.commands.command import Argument, Command, Group, Intent, Verb
from zuno_tui.commands.possible import always, with_sent
from zuno_tui.commands.show import Show

if TYPE_CHECKING:
    from argparse import Namespace

    from zuno_tui.prompt.remaining import Remaining

OutboxAction: TypeAlias = Literal["resume", "cancel", "speed-up", "resolve"]
_ACTIONS: tuple[OutboxAction, ...] = ("resume", "cancel", "speed-up", "resolve")


class OpenOutbox(Intent, frozen=True):
    command: ClassVar = ("outbox",)
    arguments: ClassVar = (
        Argument(
            "action",
            "without one it only looks, and sends nothing",
            choices=_ACTIONS,
            optional=True,
        ),
        CONFIRM,
        PASSPHRASE_FILE,
        PLAN,
    )

    action: OutboxAction | None = None
    """None only looks; all others ask for a word first, or only write down."""
    plan_id: str | None = None
    confirm: str | None = None
    passphrase_file: Path | None = None


def _run(arguments: Namespace) -> int:
    from zuno_tui.app.outbox import run

    return run(arguments)


def _read(said: Remaining) -> Intent:
    action = said.one_of({name: name for name in _ACTIONS})
    plan_id = said.plan()
    said.end("all")
    if action is None and plan_id is None:
        return Show("outbox")
    return OpenOutbox(action, plan_id)


def _reading(action: OutboxAction) -> Callable[[Remaining], OpenOutbox]:
    def read(said: Remaining) -> OpenOutbox:
        plan_id = said.plan()
        said.end("transaction", "sending", "plan")
        return OpenOutbox(action, plan_id)

    return read


COMMAND = Command(
    name="outbox",
    does="what was sent, where it stands, what can be done",
    group=Group.PLAN,
    intent=OpenOutbox,
    run=_run,
    verbs=(
        Verb(
            "outbox",
            _read,
            "outbox [resume|cancel|speed-up|resolve] [PLAN]",
            spoken=("show outbox", "sent", "what was sent", "transactions", "show transactions"),
            names="sent",
            money=True,
        ),
        Verb(
            "cancel transaction",
            _reading("cancel"),
            "cancel transaction [PLAN]",
            does="prepare taking back what waits unsent",
            spoken=("cancel the transaction", "cancel sending"),
            names="sent",
            money=True,
            possible=with_sent,
        ),
        Verb(
            "speed up",
            _reading("speed-up"),
            "speed up [PLAN]",
            does="prepare sending what waits again, at a higher fee",
            spoken=("speed-up", "speed up transaction"),
            names="sent",
            money=True,
            possible=with_sent,
        ),
    ),
    suggest=always(Show("outbox")),
    key="desk.outbox",
)
