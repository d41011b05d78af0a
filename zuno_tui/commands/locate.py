"""`zuno locate`: where zuno keeps its files."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb, alone
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from chain.base.home import Home
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer


class Locate(Intent, frozen=True):
    command: ClassVar = ("locate",)


def _run(arguments: Namespace) -> int:
    """Without the settings: who looks for them may have broken them."""
    import os

    from chain.base.home import Home
    from zuno_tui.present.answer import print_answer

    places = _places(Home.locate(os.environ, arguments.home))
    return print_answer(places, as_json=bool(arguments.json))


async def _answer(session: Session, _asked: Locate) -> CommandAnswer:
    return _places(session.home)


_PLACES = (
    *("settings", "database", "outbox", "trades", "paper", "memory", "alerts", "plans", "records"),
    *("reports", "checks", "keystore", "history", "view", "log", "cache"),
)


def _places(home: Home) -> CommandAnswer:
    from zuno_tui.present.answer import CommandAnswer

    places = {"home": home.root, **{name: getattr(home, name) for name in _PLACES}}
    width = max(map(len, places))
    return CommandAnswer(
        lines=tuple(
            f"{name:<{width}}  {path}{'' if path.exists() else '  (not there yet)'}"
            for name, path in places.items()
        ),
        document={name: str(path) for name, path in places.items()},
    )


COMMAND = Command(
    does="where zuno keeps its files",
    group=Group.SETUP,
    reaches_network=False,
    intent=Locate,
    run=_run,
    answer=_answer,
    verbs=(
        Verb(
            "locate", alone(Locate(), "all", "files", "are"), spoken=("where are my files", "files")
        ),
    ),
)
