"""Addresses as people read them: EIP-55 capitals that catch a typing error, and the short form."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from chain.contracts.keccak import keccak

if TYPE_CHECKING:
    from chain.contracts.networks import Address


@lru_cache(maxsize=1024)
def checksummed(address: Address) -> str:
    """The address with EIP-55 capitals."""
    digits = address.removeprefix("0x").lower()
    nibbles = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble >= "8" else digit
        for digit, nibble in zip(digits, nibbles, strict=False)
    )


def shortened(address: Address) -> str:
    """`0xA0b8…eB48`, for beside a name; never enough to tell two addresses apart for sure."""
    full = checksummed(address)
    return f"{full[:6]}…{full[-4:]}"
