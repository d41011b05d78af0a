"""Calldata read field by field, by another library than the one that wrote it."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from msgspec import Struct

from chain.base.errors import ZunoError
from chain.contracts.addresses import keccak
from chain.execution.plan.records import PlainCall


class DecodingError(ZunoError, ValueError):
    """Bytes that are not exactly one of the calls known here; nothing of them may be signed."""


class Function(NamedTuple):
    """A call by its name and its types, with the record it is read into."""

    name: str
    types: tuple[str, ...]
    record: type[PlainCall]
    parse: Callable[[tuple[Any, ...]], PlainCall] | None = None
    """None where the values are the record's fields."""
    values: Callable[[Any], tuple[object, ...]] | None = None

    @property
    def selector(self) -> bytes:
        return selector_of(self.name, self.types)

    def read(self, data: bytes) -> PlainCall:
        values = read(self.types, data)
        return self.record(*values) if self.parse is None else self.parse(values)

    def encode(self, record: Struct) -> bytes:
        values = fields_of(record) if self.values is None else self.values(record)
        return self.selector + write(self.types, values)


@cache
def selector_of(name: str, types: tuple[str, ...]) -> bytes:
    return keccak(f"{name}({','.join(types)})".encode())[:4]


def fields_of(record: Struct) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record.__struct_fields__)


def read(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """The values these bytes hold; eth_abi leaves what follows them to the caller."""
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError as AbiDecodingError

    try:
        return decode(types, data)
    except (AbiDecodingError, OverflowError, ValueError) as error:
        raise DecodingError(f"The calldata is not {', '.join(types) or 'empty'}.") from error


def write(types: Sequence[str], values: Sequence[object]) -> bytes:
    from eth_abi.abi import encode

    return encode(types, values)
