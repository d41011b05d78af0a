"""What is done at the desk alone: cancel, help, refresh, quit, another network, another pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Cancel, Help, Quit, Refresh, Show, SwitchNetwork, UseWallet

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read_cancel(said: Remaining) -> Cancel:
    job = said.one_of({"debate": "debate", "replay": "replay"})
    said.points()
    said.end("work", "job")
    return Cancel(job)


def _read_help(said: Remaining) -> Help:
    topic = said.text.lower()
    if any(character.isdigit() for character in topic):
        said.refuse("with which verb help is wanted.", "help")
    return Help(None if topic in ("", "me", "us") else topic)


def _switch(said: Remaining) -> Intent:
    from zuno_tui.prompt.named_networks import spoken_network

    if (name := said.ens_name()) is not None:
        said.end("wallet", "address", "account")
        return UseWallet(name)
    return SwitchNetwork(spoken_network(said).name)


def _use(said: Remaining) -> Intent:
    if (address := said.address()) is not None:
        said.end("wallet", "address", "account")
        return UseWallet(address)
    return _switch(said)


COMMANDS = (
    Command(
        name="cancel",
        does="cancel what is running",
        group=Group.SETUP,
        intent=Cancel,
        on_command_line=False,
        verbs=(Verb("cancel", _read_cancel, spoken=("stop", "abort")),),
        suggest=lambda context: (Cancel(),) if context.cancellable else (),
        key="desk.cancel",
    ),
    Command(
        name="help",
        does="what can be typed, and which keys there are",
        group=Group.SETUP,
        reaches_network=False,
        intent=Help,
        on_command_line=False,
        verbs=(
            Verb(
                "help",
                _read_help,
                "help [VERB]",
                spoken=(
                    *("?", "hi", "hello", "hey", "gm", "what can i do", "what can you do"),
                    *("good morning", "good evening"),
                ),
            ),
        ),
        key="desk.help",
    ),
    Command(
        name="network",
        does="look at another network",
        group=Group.SETUP,
        intent=SwitchNetwork,
        on_command_line=False,
        verbs=(
            Verb(
                "switch to",
                _switch,
                "switch to NETWORK",
                spoken=("switch", "switch network", "change network", "network"),
                names="networks",
            ),
            Verb(
                "use",
                _use,
                "use ADDRESS|NETWORK",
                does="look at another wallet or network",
                names="networks",
            ),
        ),
    ),
    Command(
        name="quit",
        does="close the desk",
        group=Group.SETUP,
        intent=Quit,
        on_command_line=False,
        verbs=(Verb("quit", alone(Quit(), "zuno", "desk"), spoken=("bye", "goodbye", ":q", "q")),),
        key="desk.quit",
    ),
    Command(
        name="refresh",
        does="read everything again",
        group=Group.SETUP,
        intent=Refresh,
        on_command_line=False,
        verbs=(
            Verb(
                "refresh",
                alone(Refresh(), "everything", "all", "positions", "screen"),
                spoken=("reload", "update"),
            ),
        ),
        suggest=always(Refresh()),
        key="desk.refresh",
    ),
    Command(
        name="show",
        does="bring a pane or a list to the front",
        group=Group.ADVICE,
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
                does="what is set, and where",
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
    ),
)
