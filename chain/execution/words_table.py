"""Every field of a decoded transaction, exact and in order: what the approval's hash stands for."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.decoding_records import DecodedStep


class Field(NamedTuple):
    name: str
    value: str


def field_table(step: DecodedStep) -> tuple[Field, ...]:
    """No two transactions have the same table."""
    envelope = (
        Field(field.name, _text(getattr(step.transaction, field.name)))
        for field in fields(step.transaction)
        if field.name != "data"
    )
    return (*envelope, *_rows("call", step.call))


def _rows(name: str, value: object) -> Iterator[Field]:
    if is_dataclass(value):
        yield Field(name, type(value).__name__)
        for field in fields(value):
            yield from _rows(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for part, inner in zip(value._fields, value, strict=True):
            yield from _rows(f"{name}.{part}", inner)
    elif isinstance(value, tuple):
        for place, inner in enumerate(value):
            yield from _rows(f"{name}[{place}]", inner)
    else:
        yield Field(name, _text(value))


def _text(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
