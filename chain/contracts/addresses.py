"""Keccak-256 and addresses: with EIP-55 capitals, from keys and from signatures."""

from functools import lru_cache

from sha3 import keccak_256

from chain.contracts.networks import Address


def keccak(data: bytes) -> bytes:
    digest: bytes = keccak_256(data).digest()
    return digest


@lru_cache(maxsize=1024)
def checksum(address: Address) -> str:
    """The address with EIP-55 capitals."""
    digits = address.removeprefix("0x").lower()
    nibbles = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble >= "8" else digit
        for digit, nibble in zip(digits, nibbles, strict=False)
    )


def shorten_address(address: Address) -> str:
    """`0xA0b8…eB48`, for beside a name; never enough to tell two addresses apart for sure."""
    full = checksum(address)
    return f"{full[:6]}…{full[-4:]}"


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
