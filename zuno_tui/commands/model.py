"""`zuno model`: which model each role asks, whether it answers, and where its key is kept."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intent import Argument, Intent

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


COMMAND = Command(
    does="which AI model each agent uses, and its budget",
    group=Group.AGENTS,
    reaches_network=False,
    intent=ListModels,
    answer=lambda session, _: app.model.list_models(session),
    verbs=(Verb("model", alone(ListModels(), "which", "models"), spoken=("models",)),),
    suggest=always(ListModels()),
    subcommands=(
        Command(
            does="ask each agent's model once, and say what its server can do",
            group=Group.AGENTS,
            intent=AskModels,
            answer=lambda session, intent: app.model.test_models(session, intent.role),
            verbs=(Verb("test model", alone(AskModels(), "all"), spoken=("model test",)),),
        ),
        Command(
            does="keep a provider's key in the system's keyring",
            group=Group.AGENTS,
            intent=KeepModelKey,
            run=lambda arguments: app.model.keep_key(arguments),
        ),
    ),
)
