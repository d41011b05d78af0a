"""`zuno venue`: where the trade desk's orders go; keeping or forgetting the keys of an account."""

from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.features import trade
from zuno_tui.intents.intent import Argument, Intent


class KeepVenueKeys(Intent, frozen=True):
    command: ClassVar = ("venue",)
    arguments: ClassVar = (
        Argument(
            "mode",
            "keep the keys of that venue in the keyring, by the name that `zuno venue` lists",
        ),
        Argument("--remove", "forget the keys of that account", switch=True),
        Argument("--anyway", "even where something is still held there", switch=True),
    )

    mode: str | None = None
    remove: bool = False
    anyway: bool = False


COMMAND = Command(
    does="choose the exchange that trades go to, and keep its keys",
    group=Group.TRADING,
    intent=KeepVenueKeys,
    reaches_network=False,
    run=lambda arguments: trade.venue.run(arguments),
)
