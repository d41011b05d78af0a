"""`zuno agent ROLE`: one role of the debate as a program of its own, on the mesh."""

from typing import ClassVar

from agents.lp import ROLES
from zuno_tui.catalog.command import Command, Group
from zuno_tui.features import mesh
from zuno_tui.intents.arguments import DETERMINISTIC
from zuno_tui.intents.intent import Argument, Intent


class RunAgent(Intent, frozen=True):
    command: ClassVar = ("agent",)
    arguments: ClassVar = (Argument("role", "which part it plays", choices=ROLES), DETERMINISTIC)

    role: str
    deterministic: bool = False


COMMAND = Command(
    does="run one agent of the debate for desks on the mesh",
    group=Group.AGENTS,
    intent=RunAgent,
    reaches_network=False,
    run=lambda arguments: mesh.agent.run(arguments),
)
