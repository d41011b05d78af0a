"""`zuno outbox`: everything that was approved or sent, where it stands, and what can be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, always, with_sent
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import OUTBOX_ACTIONS, OpenOutbox, OutboxAction, Show

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> Intent:
    action = said.one_of({name: name for name in OUTBOX_ACTIONS})
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
    does="what was sent, and what you can still do about it",
    group=Group.ACTING,
    intent=OpenOutbox,
    run=lambda arguments: app.outbox.run(arguments),
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
