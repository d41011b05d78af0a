"""What the desk brings to the front: its panes and its lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import Show
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.present.views import ViewName
    from zuno_tui.prompt.remaining import Remaining


def _reading(view: ViewName, *fillers: str) -> Callable[[Remaining], Show]:
    def read(said: Remaining) -> Show:
        said.end(*fillers)
        return Show(view)

    return read


COMMAND = Command(
    name="show",
    does="bring a pane or a list to the front",
    group=Group.PLAN,
    intent=Show,
    on_command_line=False,
    verbs=(
        Verb(
            "debate",
            _reading("debate", "transcript"),
            does="what the agents say",
            spoken=("show debate", "show the debate", "transcript", "show transcript"),
        ),
        Verb(
            "records",
            _reading("records", "debates", "all"),
            does="every debate that was held",
            spoken=("show records", "list records", "past debates"),
        ),
        Verb(
            "settings",
            _reading("settings"),
            does="what is chosen, and where it is written",
            spoken=("show settings", "preferences"),
        ),
        Verb(
            "trade desk",
            _reading("trade"),
            does="the trade desk's newest run",
            spoken=("show trade", "show the trade", "show trade desk", "show the trade desk"),
        ),
    ),
    suggest=always(Show("records"), Show("settings"), Show("trade")),
)
