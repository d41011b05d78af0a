"""Networks named in a phrase, as in `on base`: read first, since tokens are read on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.networks import Network, all_networks, network_named
from chain.protocols.rows import PROTOCOLS
from zuno_tui.intents.pieces import SEPARATOR, PhrasePiece, Words, list_unknown, longest, past

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining

_INTRODUCED_BY = "on"
_BESIDE_NETWORK = frozenset(("to", "the", "network", "chain", "on", "please"))
_PROTOCOLS = frozenset(row.name for row in PROTOCOLS)
"""`on v3` names no network."""
_ALIASES = {
    "mainnet": "ethereum",
    "eth": "ethereum",
    "op": "optimism",
    "arb": "arbitrum",
    "bsc": "bnb",
}


class NamedNetworks(Struct, frozen=True):
    networks: tuple[Network, ...]
    wrong: tuple[str, ...]
    """A sentence for each name that is no network's."""
    rest: tuple[PhrasePiece, ...]
    """The phrase without them."""


def take_networks(pieces: Sequence[PhrasePiece]) -> NamedNetworks:
    found: dict[str, Network] = {}
    wrong: list[str] = []
    rest: list[PhrasePiece] = []
    at = 0
    while at < len(pieces):
        if pieces[at].word != _INTRODUCED_BY:
            rest.append(pieces[at])
            at += 1
            continue
        if at + 1 < len(pieces) and pieces[at + 1].word in _PROTOCOLS:
            rest.append(SEPARATOR)
            at += 1
            continue
        at = past(pieces, at + 1, ("the",))
        named = longest(pieces, at, _known_networks())
        if named is None:
            wrong.append(_no_network(pieces[at : at + 1]))
            at += 1
        else:
            network, at = named
            found[network.name] = network
        rest.append(SEPARATOR)
    return NamedNetworks(tuple(found.values()), tuple(wrong), tuple(rest))


def network_called(words: Sequence[str]) -> Network | None:
    """The network of this name, title or nickname, and no other."""
    return _known_networks().get(_words(" ".join(words)))


def spoken_network(remaining: Remaining) -> Network:
    """The network that the words after a verb name."""
    words = [word for word in remaining.text.lower().split() if word not in _BESIDE_NETWORK]
    names = network_names()
    if not words:
        remaining.refuse(f"which network. Known: {', '.join(names)}.", "switch to base")
    network = network_called(words)
    if network is None:
        wanted = " ".join(words)
        remaining.refuse(f"the network {list_unknown([wanted], names)}. Known: {', '.join(names)}.")
    return network


def network_names() -> tuple[str, ...]:
    return tuple(network.name for network in all_networks())


@cache
def _known_networks() -> dict[Words, Network]:
    """Every name of every network, cut into words as a phrase is."""
    names = {_words(alias): network_named(name) for alias, name in _ALIASES.items()}
    for network in all_networks():
        names[_words(network.name)] = network
        names[_words(network.title)] = network
    return names


def _words(name: str) -> Words:
    return tuple(name.lower().replace("-", " ").split())


def _no_network(following: Sequence[PhrasePiece]) -> str:
    names = network_names()
    known = f"Known: {', '.join(names)}."
    if not following:
        return f"'on' needs a network after it. {known}"
    return f"There is no network called {list_unknown([following[0].text], names)}. {known}"
