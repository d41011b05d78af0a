"""Addresses from keys and from signatures, by a compiled module that costs little to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.contracts.keccak import keccak

if TYPE_CHECKING:
    from chain.contracts.networks import Address


def address_of(private_key: bytes) -> Address:
    try:
        from coincurve import PublicKey
    except ImportError:  # it has no wheel for every Python, and then eth-keys computes the same
        from eth_keys.datatypes import PrivateKey

        return _address(PrivateKey(private_key).public_key.to_bytes())
    return _address(PublicKey.from_valid_secret(private_key).format(compressed=False)[1:])


def recovered_address(digest: bytes, *, parity: int, r: int, s: int) -> Address:
    """Whose signature of this digest it is."""
    try:
        from coincurve import PublicKey
    except ImportError:
        from eth_keys.datatypes import Signature

        signature = Signature(vrs=(parity, r, s))
        return _address(signature.recover_public_key_from_msg_hash(digest).to_bytes())
    signed = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([parity])
    public = PublicKey.from_signature_and_message(signed, digest, hasher=None)
    return _address(public.format(compressed=False)[1:])


def _address(point: bytes) -> Address:
    return "0x" + keccak(point)[-20:].hex()
