"""The steps of the first minute: what each asks, with which field, and what was before it."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Literal

from msgspec import Struct
from textual.content import Content

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network
from zuno_tui.screen.panes.marked_list import OfferedRows

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
        "A desk for liquidity providers on Uniswap v4.\n"
        "Four agents argue about every move; you decide.\n"
        "Nothing is signed unless you type the word for it.",
        _LIST,
    ),
    SetupStep.NETWORK: SetupWords(
        "Which network?",
        'Later you can look at another one: type "switch to base" at the desk.',
        _LIST,
    ),
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
CHOICES: tuple[tuple[Beginning, str, str, str], ...] = (
    ("demo", "LOOK", "Look around in the demo", "no key and no network needed"),
    ("watch", "WATCH", "Watch an address", "see and ask for advice; no key"),
    ("hardware", "WATCH", "Use a hardware wallet", "watch its address; sign over there"),
    ("new", "SIGN", "Make a new key", "kept here; signs what you approve"),
    ("key", "SIGN", "Import a private key", "64 digits, typed unseen"),
    ("seed", "SIGN", "Import a seed phrase", "12 to 24 words, typed unseen"),
    ("keystore", "SIGN", "Import a keystore file", "the JSON file of another wallet"),
)
"""With the group each is of."""
_WORD_MARK = (
    "━━┓ ┃ ┃ ┏━┓ ┏━┓",
    "┏━┛ ┃ ┃ ┃ ┃ ┃ ┃",
    "┗━━ ┗━┛ ┃ ┃ ┗━┛",
)
_GROUP_CELLS, _TITLE_CELLS = 9, 25
_BESIDE = "$quiet not bold"
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


def welcome() -> Content:
    """The word mark, and beside it what this is."""
    words = STEPS[SetupStep.CHOICE].words.split("\n")
    return Content("\n").join(
        Content.assemble((mark, "bold $primary"), "   ", line)
        for mark, line in zip(_WORD_MARK, words, strict=True)
    )


def choice_rows() -> OfferedRows:
    return _grouped((group, title, means) for _, group, title, means in CHOICES)


def network_rows(networks: Sequence[Network]) -> OfferedRows:
    """Those that can be read at once first, then those that need something of one's own."""
    return _grouped(
        (_group_of(network), network.title, _endpoint_of(network)) for network in networks
    )


def account_rows(addresses: Sequence[Address]) -> OfferedRows:
    return [Content(f"{place}  {checksum(address)}") for place, address in enumerate(addresses)]


def _grouped(rows: Iterable[tuple[str, str, str]]) -> OfferedRows:
    """Each with what it means, its group's name beside the first and a line between two groups."""
    shown: list[Content | None] = []
    before = ""
    for group, title, means in rows:
        begins = group != before
        if begins and shown:
            shown.append(None)
        shown.append(
            Content.assemble(
                (f"{group if begins else '':<{_GROUP_CELLS}}", _BESIDE),
                f"{title:<{_TITLE_CELLS}}",
                (means, _BESIDE),
            )
        )
        before = group
    return shown


def _group_of(network: Network) -> str:
    if network.testnet:
        return "TESTING"
    return "READY" if network.endpoints else "OWN URL"


def _endpoint_of(network: Network) -> str:
    return "public endpoint" if network.endpoints else "needs an endpoint of your own"


def endpoint_words(network: Network) -> str:
    kept = "It is tried as you type, and kept in settings.toml, which only you can read."
    if network.endpoints:
        return (
            f"Enter alone takes {network.title}'s public endpoint. A URL of yours is faster. {kept}"
        )
    return f"{network.title} has no public endpoint here: give the URL of one. {kept}"
