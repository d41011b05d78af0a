"""Addresses from keys and from signatures, by a compiled module that costs little to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.contracts.keccak import keccak

if TYPE_CHECKING:
    from coincurve import PublicKey

    from chain.contracts.networks import Address


def address_of(private_key: bytes) -> Address:
    from coincurve import PublicKey

    return _address(PublicKey.from_valid_secret(private_key))


def recovered_address(digest: bytes, *, parity: int, r: int, s: int) -> Address:
    """Whose signature of this digest it is."""
    from coincurve import PublicKey

    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([parity])
    return _address(PublicKey.from_signature_and_message(signature, digest, hasher=None))


def _address(public: PublicKey) -> Address:
    return "0x" + keccak(public.format(compressed=False)[1:])[-20:].hex()
