"""`zuno tour`: five minutes through what there is, one command after the other."""

from typing import ClassVar

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone
from zuno_tui.intents.intent import Intent


class TakeTour(Intent, frozen=True):
    command: ClassVar = ("tour",)


COMMAND = Command(
    does="a guided tour of five minutes",
    group=Group.SETUP,
    intent=TakeTour,
    run=lambda arguments: app.tour.run(arguments),
    answer=lambda _session, _intent: app.tour.desk_tour(),
    verbs=(
        Verb(
            "tour",
            alone(TakeTour(), "guided", "of", "the", "desk"),
            spoken=("take tour", "show me around"),
        ),
    ),
)
