"""The bundled list of tokens (`chain/data/tokens.toml`): all that a name's trust rests on."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.tokens.token import Token

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network


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
    return listed_tokens(network).find(address)


@cache
def all_listed_symbols() -> frozenset[str]:
    """The symbols of every network: a fake is a fake wherever it stands."""
    return frozenset(item.token.symbol for known in _lists().values() for item in known.tokens)


@cache
def _lists() -> dict[str, TokenList]:
    data = tomllib.loads(files("chain.data").joinpath("tokens.toml").read_text("utf-8"))
    return {name: _token_list(entry) for name, entry in data["network"].items()}


def _token_list(entry: dict[str, object]) -> TokenList:
    rows = entry["tokens"]
    if not isinstance(rows, list):
        raise TypeError("tokens must be a list in tokens.toml")
    platform = entry.get("platform")
    return TokenList(
        tokens=tuple(_listed(row) for row in rows),
        platform=None if platform is None else str(platform),
    )


def _listed(row: dict[str, object]) -> ListedToken:
    decimals = row["decimals"]
    if not isinstance(decimals, int):
        raise TypeError(f"{row['symbol']} needs whole decimals in tokens.toml")
    coin = row.get("coin")
    return ListedToken(
        token=Token(
            address=str(row["address"]).lower(),
            symbol=str(row["symbol"]),
            decimals=decimals,
            verified=True,
            suspicious=False,
        ),
        kind=TokenClass(str(row["kind"])),
        coin=None if coin is None else str(coin),
    )
