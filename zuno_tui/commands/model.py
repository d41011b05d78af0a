"""`zuno model`: which model each role asks, whether it answers, and where its key is kept."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining

_ROLE = Argument("--role", "that of one role alone", metavar="ROLE")


class ListModels(Intent, frozen=True):
    command: ClassVar = ("model",)


class AskModels(Intent, frozen=True):
    command: ClassVar = ("model", "test")
    arguments: ClassVar = (_ROLE,)

    role: str | None = None


class KeepModelKey(Intent, frozen=True):
    command: ClassVar = ("model", "key")
    arguments: ClassVar = (_ROLE,)

    role: str | None = None


async def _list(session: Session, _asked: ListModels) -> CommandAnswer:
    from zuno_tui.app.model import listed

    return listed(session)


async def _test(session: Session, intent: AskModels) -> CommandAnswer:
    from zuno_tui.app.model import tested

    return await tested(session, intent.role)


def _keep(arguments: Namespace) -> int:
    from zuno_tui.app.model import keep_key

    return keep_key(arguments)


def _read(said: Remaining) -> ListModels:
    said.end("which", "models")
    return ListModels()


def _read_test(said: Remaining) -> AskModels:
    said.end("all")
    return AskModels()


COMMAND = Command(
    name="model",
    does="which model each agent asks, and what it may cost",
    group=Group.HOUSE,
    reaches_network=False,
    intent=ListModels,
    answer=_list,
    verbs=(Verb("model", _read, spoken=("models",)),),
    suggest=always(ListModels()),
    subcommands=(
        Command(
            name="test",
            does="ask each agent's model once, and say what its server can do",
            group=Group.HOUSE,
            intent=AskModels,
            answer=_test,
            verbs=(Verb("test model", _read_test, spoken=("model test",)),),
        ),
        Command(
            name="key",
            does="keep a provider's key in the system's keyring",
            group=Group.HOUSE,
            intent=KeepModelKey,
            run=_keep,
        ),
    ),
)
