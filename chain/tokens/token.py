"""A token as zuno speaks of it, and the bundled lists that trust in a name rests on."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from msgspec import Struct, convert, json

from chain.base.clean_text import without_own_marks
from chain.contracts.addresses import shorten_address
from chain.contracts.networks import Address, Network
from chain.data import data_file

MOST_DECIMALS = 77
"""Ten to the 78th is beyond any uint256: with more decimals no amount could reach one token."""

_PLAIN_MARKS = "._-+₮"


class Token(Struct, frozen=True):
    address: Address
    symbol: str
    """What its contract calls it, cleaned; empty when it says nothing that can be shown."""
    decimals: int | None
    """None when its contract gives none that can be used; amounts then stay in raw units."""
    verified: bool
    """Its address is in the bundled list, and symbol and decimals are the list's."""
    suspicious: bool
    """Its symbol passes for a listed one, or held characters meant not to be seen."""

    @property
    def label(self) -> str:
        """The name to print: a bare symbol only for a token known by its address."""
        if self.verified:
            return self.symbol
        told = f"?{_one_word(self.symbol)} {shorten_address(self.address)}"
        return f"{told} look-alike" if self.suspicious else told


def _one_word(symbol: str) -> str:
    """A symbol that could be read as words of ours, between quotes it cannot close."""
    shown = without_own_marks(symbol)
    if all(letter.isalnum() or letter in _PLAIN_MARKS for letter in shown):
        return shown
    return f"“{shown}”"


def amount_text(amount: int, token: Token) -> str:
    """An amount to the last unit, with the token's name; raw units where decimals are unknown."""
    if token.decimals is None:
        return f"{amount} raw units of {token.label} (decimals unknown)"
    return f"{decimal_text(amount, token.decimals)} {token.label}"


def decimal_text(amount: int, decimals: int) -> str:
    """Whole tokens to the last unit, as `-1.25`."""
    sign = "-" if amount < 0 else ""
    whole, rest = divmod(abs(amount), 10**decimals)
    fraction = f"{rest:0{decimals}d}".rstrip("0") if rest else ""
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


# Our own (`chain/data/tokens.toml`) knows what each token follows and what markets call it.
# Behind it stands Uniswap's default list, which vouches for addresses, symbols and decimals.
# A network's file is read when a token is met there that zuno's own list does not have.
class DefaultTokens(Struct, frozen=True):
    package: str
    version: str
    integrity: str
    """The digest of the package it was made from, as npm writes it."""
    tokens: tuple[tuple[str, str, int], ...]
    """Address, symbol and decimals of each."""


@cache
def default_tokens(name: str) -> Mapping[Address, Token]:
    """Those of the network with this name, by address; none where there is no such list."""
    pinned = read_default_tokens(name)
    if pinned is None:
        return {}
    return {
        address.lower(): Token(address.lower(), symbol, decimals, verified=True, suspicious=False)
        for address, symbol, decimals in pinned.tokens
    }


def read_default_tokens(name: str) -> DefaultTokens | None:
    try:
        data = data_file("default_tokens", f"{name}.json").read_bytes()
    except FileNotFoundError:
        return None
    return json.decode(data, type=DefaultTokens)


class TokenClass(StrEnum):
    """What a token's price follows: two of a kind move together."""

    DOLLAR = "dollar"
    EURO = "euro"
    ETHER = "ether"
    BITCOIN = "bitcoin"
    OTHER = "other"


class ListedToken(Struct, frozen=True):
    token: Token
    kind: TokenClass
    coin: str | None
    """Its id at CoinGecko."""


class TokenList(Struct, frozen=True):
    """The tokens known on one network, in the order of the data: the coin first, then by weight."""

    tokens: tuple[ListedToken, ...]
    platform: str | None
    """What CoinGecko calls the network, where it can price tokens by address."""

    def find(self, address: Address) -> ListedToken | None:
        return next((item for item in self.tokens if item.token.address == address), None)


def listed_tokens(network: Network) -> TokenList:
    return _lists().get(network.token_list, TokenList((), None))


def listed_token(network: Network, address: Address) -> ListedToken | None:
    """By our own list, or else by Uniswap's."""
    own = listed_tokens(network).find(address)
    if own is not None:
        return own
    token = default_tokens(network.token_list).get(address)
    return None if token is None else _by_default(token)


@cache
def every_listed_token(network: Network) -> tuple[ListedToken, ...]:
    """Our own list first, then whatever Uniswap's adds to it."""
    own = listed_tokens(network).tokens
    known = {item.token.address for item in own}
    default = default_tokens(network.token_list).values()
    return (*own, *(_by_default(token) for token in default if token.address not in known))


@cache
def named_tokens(network: Network) -> tuple[ListedToken, ...]:
    """Every listed token that its symbol alone names: our own first, then Uniswap's by symbol."""
    own = listed_tokens(network).tokens
    default = default_tokens(network.token_list).values()
    counts = Counter(token.symbol.lower() for token in default)
    taken = {item.token.symbol.lower() for item in own} | {item.token.address for item in own}
    others = sorted(
        (
            token
            for token in default
            if token.address not in taken
            and token.symbol.lower() not in taken
            and counts[token.symbol.lower()] == 1
        ),
        key=lambda token: token.symbol.lower(),
    )
    return (*own, *map(_by_default, others))


@cache
def listed_symbols(network: Network) -> frozenset[str]:
    """All that a token of this network may pass for."""
    own = (item.token.symbol for item in listed_tokens(network).tokens)
    return frozenset(
        (*own, *(token.symbol for token in default_tokens(network.token_list).values()))
    )


@cache
def all_listed_symbols() -> frozenset[str]:
    """The symbols of our own list, of every network."""
    return frozenset(item.token.symbol for known in _lists().values() for item in known.tokens)


def _by_default(token: Token) -> ListedToken:
    return ListedToken(token, _kinds().get(token.symbol, TokenClass.OTHER), None)


@cache
def _kinds() -> dict[str, TokenClass]:
    """What a listed symbol follows, by our own list of any network."""
    return {item.token.symbol: item.kind for known in _lists().values() for item in known.tokens}


class _ListedRow(Struct, frozen=True):
    address: str
    symbol: str
    decimals: int
    kind: TokenClass
    coin: str | None = None


class _NetworkRows(Struct, frozen=True):
    tokens: tuple[_ListedRow, ...]
    platform: str | None = None


@cache
def _lists() -> dict[str, TokenList]:
    data = tomllib.loads(data_file("tokens.toml").read_text("utf-8"))
    networks = convert(data["network"], dict[str, _NetworkRows])
    return {
        name: TokenList(tuple(map(_listed, rows.tokens)), rows.platform)
        for name, rows in networks.items()
    }


def _listed(row: _ListedRow) -> ListedToken:
    address = row.address.lower()
    token = Token(address, row.symbol, row.decimals, verified=True, suspicious=False)
    return ListedToken(token, row.kind, row.coin)
