"""The steps of the first minute: what each asks, with which field, and what was before it."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from textual.content import Content

from chain.contracts.checksum import checksummed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.contracts.networks import Address, Network

Beginning = Literal["demo", "watch", "hardware", "new", "key", "seed", "keystore"]
"""How somebody begins."""


class SetupStep(Enum):
    CHOICE = auto()
    NETWORK = auto()
    ENDPOINT = auto()
    ADDRESS = auto()
    KEY = auto()
    SEED = auto()
    ACCOUNT = auto()
    FILE = auto()
    OPENING = auto()
    PASSPHRASE = auto()
    AGAIN = auto()
    KEPT = auto()


class SetupWords(Struct, frozen=True):
    title: str
    words: str
    field: str
    """The id of what is typed or chosen with."""


_LIST, _LINE, _SECRET = "first-list", "first-line", "first-secret"
_KEPT_WHERE = "It goes into the system's keyring, or into a file encrypted under a passphrase."
STEPS = {
    SetupStep.CHOICE: SetupWords(
        "Welcome to zuno",
        "A desk for people who provide liquidity on Uniswap v4.\n"
        "Nothing is ever signed unless you type the word for it.",
        _LIST,
    ),
    SetupStep.NETWORK: SetupWords("Which network?", "You can switch later: switch to base", _LIST),
    SetupStep.ENDPOINT: SetupWords("Which endpoint?", "", _LINE),
    SetupStep.ADDRESS: SetupWords(
        "Whose positions?",
        "An address, 0x and 40 digits, or an ENS name. Watching needs no key and can sign nothing.",
        _LINE,
    ),
    SetupStep.KEY: SetupWords(
        "The private key",
        f"64 hexadecimal digits, not shown. {_KEPT_WHERE}\n"
        "The same from a shell: zuno wallet import",
        _SECRET,
    ),
    SetupStep.SEED: SetupWords(
        "The seed phrase",
        "12 to 24 words, not shown. One account's key is made of it, and the phrase is forgotten.\n"
        "The same from a shell: zuno wallet import --seed-phrase",
        _SECRET,
    ),
    SetupStep.ACCOUNT: SetupWords("Which account?", f"Its key is kept. {_KEPT_WHERE}", _LIST),
    SetupStep.FILE: SetupWords(
        "The keystore file",
        "Where the JSON file is, like ~/UTC--2026-… . It stays where it is.\n"
        "The same from a shell: zuno wallet import --keystore FILE",
        _LINE,
    ),
    SetupStep.OPENING: SetupWords("The keystore's passphrase", "What opens the file.", _SECRET),
    SetupStep.PASSPHRASE: SetupWords("A passphrase for the key's file", "", _SECRET),
    SetupStep.AGAIN: SetupWords(
        "The same passphrase again",
        "So that a slip does not lock the key away. Keep a copy of the file, and the passphrase.",
        _SECRET,
    ),
    SetupStep.KEPT: SetupWords("Your new wallet", "", _LIST),
}
HARDWARE_WORDS = (
    "The address that your device or Safe shows. zuno watches it and holds no key: zuno export"
    " writes a plan out to be signed there."
)
BEFORE_FUNDS = (
    "Keep a copy of it before you send anything there; what has no copy can be lost.\n"
    "Whatever it signs costs gas: it needs some {coin} first."
)
CHOICES: tuple[tuple[Beginning, str, str], ...] = (
    ("demo", "Look around in the demo", "on this machine; no key, no network"),
    ("watch", "Watch an address", "see and ask for advice; no key"),
    ("hardware", "Use a hardware wallet", "watch its address; sign over there"),
    ("new", "Make a new key", "kept here, and signs what you approve"),
    ("key", "Import a private key", "64 digits, typed unseen"),
    ("seed", "Import a seed phrase", "12 to 24 words, typed unseen"),
    ("keystore", "Import a keystore file", "the JSON file of another wallet"),
)
AFTER_ENDPOINT: dict[Beginning, SetupStep] = {
    "watch": SetupStep.ADDRESS,
    "hardware": SetupStep.ADDRESS,
    "key": SetupStep.KEY,
    "seed": SetupStep.SEED,
    "keystore": SetupStep.FILE,
}
BEFORE = {
    SetupStep.NETWORK: SetupStep.CHOICE,
    SetupStep.ENDPOINT: SetupStep.NETWORK,
    SetupStep.ADDRESS: SetupStep.ENDPOINT,
    SetupStep.KEY: SetupStep.ENDPOINT,
    SetupStep.SEED: SetupStep.ENDPOINT,
    SetupStep.ACCOUNT: SetupStep.SEED,
    SetupStep.FILE: SetupStep.ENDPOINT,
    SetupStep.OPENING: SetupStep.FILE,
    SetupStep.PASSPHRASE: SetupStep.ENDPOINT,
    SetupStep.AGAIN: SetupStep.ENDPOINT,
}


def choice_rows() -> list[Content]:
    return [_row(title, means) for _, title, means in CHOICES]


def network_rows(networks: Sequence[Network]) -> list[Content]:
    return [_row(one.title, _endpoint_of(one)) for one in networks]


def account_rows(addresses: Sequence[Address]) -> list[Content]:
    return [Content(f"{place}  {checksummed(one)}") for place, one in enumerate(addresses)]


def _row(title: str, means: str) -> Content:
    return Content.assemble((f"{title:<26}", "bold"), means)


def _endpoint_of(network: Network) -> str:
    own = "public endpoint" if network.endpoints else "needs a URL of yours"
    return f"{own}{' · for testing' if network.testnet else ''}"


def endpoint_words(network: Network) -> str:
    kept = "It is tried as you type, and kept in settings.toml, which only you can read."
    if network.endpoints:
        return (
            f"Enter alone takes {network.title}'s public endpoint. A URL of yours is faster. {kept}"
        )
    return f"{network.title} has no public endpoint here: give the URL of one. {kept}"
