"""`zuno venue`: where the trade desk's orders go, and keeping the keys of an account there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Argument, Command, Group, Intent

if TYPE_CHECKING:
    from argparse import Namespace


class KeepVenueKeys(Intent, frozen=True):
    command: ClassVar = ("venue",)
    arguments: ClassVar = (
        Argument(
            "mode",
            "keep the keys for demo, live or Upbit trading in the keyring",
            choices=("demo", "live", "upbit"),
            optional=True,
        ),
    )

    mode: str | None = None


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.trade.venue import run

    return run(arguments)


COMMAND = Command(
    name="venue",
    does="where the trade desk's orders go, and keeping the keys of an account there",
    group=Group.HOUSE,
    intent=KeepVenueKeys,
    reaches_network=False,
    run=_run,
)
