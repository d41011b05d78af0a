"""`zuno balances`: what the wallet holds, and what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class ShowBalances(Intent, frozen=True):
    command: ClassVar = ("balances",)


async def _answer(session: Session, _asked: ShowBalances) -> CommandAnswer:
    from zuno_tui.app.balances import wallet_balances

    return await wallet_balances(session)


def _read(said: Remaining) -> ShowBalances:
    said.end("all", "token")
    return ShowBalances()


COMMAND = Command(
    name="balances",
    does="what the wallet holds",
    group=Group.WALLET,
    intent=ShowBalances,
    answer=_answer,
    tells_old_block=True,
    verbs=(
        Verb(
            "balances",
            _read,
            spoken=("balance", "show balances", "what do i hold", "what do i have"),
        ),
    ),
    suggest=always(ShowBalances()),
)
