"""The code that contracts are known to have, shipped with zuno: `data/code_hashes.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network


def shipped_code_hashes(network: Network) -> dict[Address, str]:
    """By address the keccak256 of its code, for those contracts where it is known."""
    return {
        getattr(network.contracts, contract): hashes[network.name]
        for contract, hashes in _shipped().items()
        if network.name in hashes
    }


@cache
def _shipped() -> dict[str, dict[str, str]]:
    text = files("chain.data").joinpath("code_hashes.toml").read_text("utf-8")
    return {
        contract: {str(network): str(known) for network, known in hashes.items()}
        for contract, hashes in tomllib.loads(text).items()
    }
