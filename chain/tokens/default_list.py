"""Uniswap's default token list, pinned by version and digest (`chain/data/default_tokens`).

A network's file is read when a token is met there that zuno's own list does not have.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct, json

from chain.tokens.token import Token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address


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
        data = files("chain.data").joinpath("default_tokens", f"{name}.json").read_bytes()
    except FileNotFoundError:
        return None
    return json.decode(data, type=DefaultTokens)
