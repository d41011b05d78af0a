"""Checks of the values inside JSON-RPC answers: a wrong one raises, none is repaired."""

import math
import re
from collections.abc import Mapping
from typing import TypeAlias

from chain.base.units import ADDRESS
from chain.contracts.networks import Address

Hash: TypeAlias = str
"""32 bytes as lower-case `0x` hex."""

_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]*)", re.ASCII)
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


class InvalidValueError(ValueError):
    """A value of an answer that is not what its field must hold."""


def quantity(value: object, *, bits: int = 256) -> int:
    """A non-negative integer as minimal `0x` hex."""
    # Length first: a hundred thousand digits would take long to turn into a number.
    if not isinstance(value, str) or len(value) > 2 + bits // 4 or not _QUANTITY.fullmatch(value):
        raise InvalidValueError(f"a quantity of at most {bits} bits was expected")
    return int(value, 16)


def small_quantity(value: object) -> int:
    """Block numbers, times, gas and indexes: they fit 64 bits."""
    return quantity(value, bits=64)


def data(value: object) -> bytes:
    if not isinstance(value, str) or not value.startswith("0x"):
        raise InvalidValueError("bytes in hex were expected")
    try:
        decoded = bytes.fromhex(value[2:])
    except ValueError:
        decoded = None
    # `fromhex` forgives spaces between bytes; the length tells.
    if decoded is None or len(decoded) * 2 + 2 != len(value):
        raise InvalidValueError("bytes in hex were expected")
    return decoded


def hash32(value: object) -> Hash:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise InvalidValueError("a hash of 32 bytes was expected")
    return value.lower()


def address(value: object) -> Address:
    if not isinstance(value, str) or not ADDRESS.fullmatch(value):
        raise InvalidValueError("an address of 20 bytes was expected")
    return value.lower()


def word(value: object) -> Hash:
    """A storage word; a few nodes leave out its leading zeros."""
    if not isinstance(value, str) or not _DATA.fullmatch(value) or len(value) > 66:
        raise InvalidValueError("a word of 32 bytes was expected")
    return "0x" + value[2:].lower().rjust(64, "0")


def boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidValueError("true or false was expected")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError("text was expected")
    return value


def ratio(value: object) -> float:
    """A share such as `gasUsedRatio`, the one place where Ethereum's JSON-RPC uses fractions."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError("a share was expected")
    if not math.isfinite(value) or value < 0:
        raise InvalidValueError("a share was expected")
    return float(value)


def fields(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InvalidValueError("an object was expected")
    return value


def items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidValueError("a list was expected")
    return value
