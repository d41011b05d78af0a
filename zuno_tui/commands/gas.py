"""`zuno gas`: what a unit of gas costs now, and a transfer with it."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intent import Intent


class ShowGas(Intent, frozen=True):
    command: ClassVar = ("gas",)


COMMAND = Command(
    does="what gas costs now",
    group=Group.POSITIONS,
    intent=ShowGas,
    answer=lambda session, _: app.price.gas_now(session),
    tells_old_block=True,
    verbs=(Verb("gas", alone(ShowGas(), "price", "now"), spoken=("gas price",)),),
    suggest=always(ShowGas()),
)
