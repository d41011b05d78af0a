"""What the desk brings to the front: its panes and its lists."""

from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.catalog.intents import Show

COMMAND = Command(
    name="show",
    does="bring a pane or a list to the front",
    group=Group.PLAN,
    intent=Show,
    on_command_line=False,
    verbs=(
        Verb(
            "debate",
            alone(Show("debate"), "transcript"),
            does="what the agents say",
            spoken=("show debate", "show the debate", "transcript", "show transcript"),
        ),
        Verb(
            "records",
            alone(Show("records"), "debates", "all"),
            does="every debate that was held",
            spoken=("show records", "list records", "past debates"),
        ),
        Verb(
            "settings",
            alone(Show("settings")),
            does="what is chosen, and where it is written",
            spoken=("show settings", "preferences"),
        ),
        Verb(
            "trade desk",
            alone(Show("trade")),
            does="the trade desk's newest run",
            spoken=("show trade", "show the trade", "show trade desk", "show the trade desk"),
        ),
    ),
    suggest=always(Show("records"), Show("settings"), Show("trade")),
)
