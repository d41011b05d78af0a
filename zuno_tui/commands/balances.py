"""`zuno balances`: what the wallet holds, and what it is worth."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intent import Intent


class ShowBalances(Intent, frozen=True):
    command: ClassVar = ("balances",)


COMMAND = Command(
    does="what the wallet holds",
    group=Group.POSITIONS,
    intent=ShowBalances,
    answer=lambda session, _: app.balances.wallet_balances(session),
    tells_old_block=True,
    verbs=(
        Verb(
            "balances",
            alone(ShowBalances(), "all", "token"),
            spoken=("balance", "show balances", "what do i hold", "what do i have"),
        ),
    ),
    suggest=always(ShowBalances()),
)
