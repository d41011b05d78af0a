"""`zuno gas`: what a unit of gas costs now, and a transfer with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class ShowGas(Intent, frozen=True):
    command: ClassVar = ("gas",)


async def _answer(session: Session, _asked: ShowGas) -> CommandAnswer:
    from zuno_tui.app.price import gas_now

    return await gas_now(session)


def _read(said: Remaining) -> ShowGas:
    said.end("price", "now")
    return ShowGas()


COMMAND = Command(
    name="gas",
    does="what gas costs now",
    group=Group.WATCH,
    intent=ShowGas,
    answer=_answer,
    tells_old_block=True,
    verbs=(Verb("gas", _read, spoken=("gas price",)),),
    suggest=always(ShowGas()),
)
