"""What the first run asks, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from chain.networks import Network


class Step(Enum):
    CHOICE = auto()
    NETWORK = auto()
    ENDPOINT = auto()
    ADDRESS = auto()
    KEY = auto()
    PASSPHRASE = auto()
    AGAIN = auto()


@dataclass(frozen=True, slots=True)
class Told:
    title: str
    words: str
    field: str
    """The id of what is typed or chosen with."""


STEPS = {
    Step.CHOICE: Told(
        "Welcome to zuno",
        "A desk for people who provide liquidity on Uniswap v4.\n"
        "Nothing is ever signed unless you type the word for it.",
        "first-choice",
    ),
    Step.NETWORK: Told("Which network?", "You can switch later: switch to base", "first-network"),
    Step.ENDPOINT: Told("Which endpoint?", "", "first-line"),
    Step.ADDRESS: Told(
        "Whose positions?",
        "An address, 0x and 40 digits. Watching needs no key and can sign nothing.",
        "first-line",
    ),
    Step.KEY: Told(
        "The private key",
        "64 hexadecimal digits, not shown. It goes into the system's keyring, or into a file\n"
        "encrypted under a passphrase. The same from a shell: zuno wallet import",
        "first-secret",
    ),
    Step.PASSPHRASE: Told("A passphrase for the key's file", "", "first-secret"),
    Step.AGAIN: Told(
        "The same passphrase again",
        "So that a slip does not lock the key away. Keep a copy of the file, and the passphrase.",
        "first-secret",
    ),
}
CHOICES = (
    ("demo", "Look around in the demo", "on this machine; no key, no network"),
    ("watch", "Watch an address", "see and ask for advice; no key"),
    ("key", "Import a key", "the same, and sign what you approve"),
)
BEFORE = {
    Step.NETWORK: Step.CHOICE,
    Step.ENDPOINT: Step.NETWORK,
    Step.ADDRESS: Step.ENDPOINT,
    Step.KEY: Step.ENDPOINT,
    Step.PASSPHRASE: Step.KEY,
    Step.AGAIN: Step.KEY,
}


def choice_row(title: str, means: str) -> Content:
    return Content.assemble((f"{title:<26}", "bold"), means)


def network_row(network: Network) -> Content:
    own = "its own endpoint" if network.endpoints else "needs an endpoint of yours"
    testing = " · for testing" if network.testnet else ""
    return Content.assemble((f"{network.title:<26}", "bold"), f"{own}{testing}")


def endpoint_words(network: Network) -> str:
    if network.endpoints:
        return (
            f"Enter alone takes {network.title}'s own endpoint. A URL of yours is faster; it is\n"
            "kept in settings.toml, which only you can read."
        )
    return (
        f"{network.title} has no endpoint of its own: give the URL of one. It is kept in\n"
        "settings.toml, which only you can read."
    )
