"""`zuno revoke`: what the wallet still allows; with a token and a spender, approve its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui import app
from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining


class Revoke(Intent, frozen=True):
    """Alone it only lists; with a token and who may spend it, it prepares taking that back."""

    command: ClassVar = ("revoke",)
    arguments: ClassVar = (
        Argument("token", "a symbol or an address", metavar="TOKEN"),
        Argument("spender", "Permit2, PositionManager, UniversalRouter", metavar="SPENDER"),
        Argument("--all", "approve taking everything back", switch=True, field="everything"),
    )

    token: str | None = None
    spender: str | None = None
    everything: bool = False


def _action(session: Session, intent: Revoke) -> ActionMaker | None:
    if intent == Revoke():
        return None
    from zuno_tui.app.revoke import action_to_take_back

    return action_to_take_back(session, intent.token, intent.spender, everything=intent.everything)


def _read(said: Remaining) -> Revoke:
    if said.one_of({"all": True, "everything": True}):
        said.end()
        return Revoke(everything=True)
    token, spender = said.token_name(), said.token_name()
    said.end()
    return Revoke(token, spender)


COMMAND = Command(
    does="list permissions that are left over, or take them back",
    group=Group.ACTING,
    intent=Revoke,
    answer=lambda session, _: app.revoke.allowances(session),
    tells_old_block=True,
    action=_action,
    verbs=(
        Verb(
            "revoke",
            _read,
            "revoke [all | TOKEN [SPENDER]]",
            spoken=("allowances", "show allowances", "permissions", "show permissions"),
            money=True,
        ),
    ),
)
