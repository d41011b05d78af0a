"""`switch to base`: the desk on another network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Intent, Verb
from zuno_tui.catalog.intents import SwitchNetwork, UseWallet

if TYPE_CHECKING:
    from zuno_tui.prompt.remaining import Remaining


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


COMMAND = Command(
    name="network",
    does="look at another network",
    group=Group.DESK,
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
)
