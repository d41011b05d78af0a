"""`zuno agent ROLE`: one role of the debate as a program of its own, on the mesh."""

from argparse import Namespace
from typing import ClassVar

from agents.lp import ROLES
from zuno_tui.catalog.arguments import DETERMINISTIC
from zuno_tui.catalog.command import Argument, Command, Group, Intent


class RunAgent(Intent, frozen=True):
    command: ClassVar = ("agent",)
    arguments: ClassVar = (Argument("role", "which part it plays", choices=ROLES), DETERMINISTIC)

    role: str
    deterministic: bool = False


def _run(arguments: Namespace) -> int:
    from zuno_tui.features.mesh.agent import run

    return run(arguments)


COMMAND = Command(
    does="play one role of the debate for desks on the mesh",
    group=Group.HOUSE,
    intent=RunAgent,
    reaches_network=False,
    run=_run,
)
