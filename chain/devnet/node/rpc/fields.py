"""Reading parameters strictly, writing quantities and data the one way JSON-RPC allows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from chain.base.units import ADDRESS
from chain.devnet.node.records import from_hex
from chain.devnet.node.rpc.faults import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chain.contracts.networks import Address
    from chain.devnet.node.rpc.faults import Json

T = TypeVar("T")
D = TypeVar("D")

_QUANTITY = re.compile("0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})")
_DATA = re.compile("0x([0-9a-fA-F]{2})*")
_WORD = re.compile("0x[0-9a-fA-F]{64}")


class Params:
    """The positional parameters of one call, taken from left to right."""

    def __init__(self, values: Sequence[Json]) -> None:
        self._values: Iterator[Json] = iter(values)
        self._taken = 0

    def take(self, read: Callable[[Json], T]) -> T:
        value = next(self._values, None)
        if value is None:
            raise invalid(f"missing value for required argument {self._taken}")
        self._taken += 1
        return read(value)

    def maybe(self, read: Callable[[Json], T], default: D) -> T | D:
        value = next(self._values, None)
        self._taken += 1
        return default if value is None else read(value)


def quantity(value: Json) -> int:
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise invalid(f"{shown(value)} is not a hex quantity")
    return int(value, 16)


def nonce(value: Json) -> int:
    if (wanted := number(value)) >= 2**64 - 1:  # EIP-2681
        raise invalid(f"{shown(value)} is not a nonce")
    return wanted


def number(value: Json) -> int:
    """A quantity, or a plain number where development tools send one."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return quantity(value)


def data(value: Json) -> bytes:
    if not isinstance(value, str) or not _DATA.fullmatch(value):
        raise invalid(f"{shown(value)} is not hex data")
    return from_hex(value)


def address(value: Json) -> Address:
    if not isinstance(value, str) or not ADDRESS.fullmatch(value):
        raise invalid(f"{shown(value)} is not an address")
    return value.lower()


def word(value: Json) -> str:
    """A 32-byte hash or topic."""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise invalid(f"{shown(value)} is not a 32-byte hash")
    return value.lower()


def slot(value: Json) -> int:
    """A storage slot, written as a quantity or as up to 32 bytes."""
    if isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{1,64}", value):
        return int(value, 16)
    raise invalid(f"{shown(value)} is not a storage slot")


def flag(value: Json) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"{shown(value)} is not true or false")
    return value


def table(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise invalid(f"{shown(value)} is not an object")
    return value


def array(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise invalid(f"{shown(value)} is not an array")
    return value


def optional(fields: Mapping[str, Json], name: str, read: Callable[[Json], T]) -> T | None:
    value = fields.get(name)
    return None if value is None else read(value)


def shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
