"""Keccak-256 as Ethereum uses it, by a compiled module that costs nothing to import."""

from __future__ import annotations

from sha3 import keccak_256


def keccak(data: bytes) -> bytes:
    digest: bytes = keccak_256(data).digest()
    return digest
