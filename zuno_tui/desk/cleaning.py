"""The last gate of everything the desk tells: no control byte passes, whatever wrote it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from chain.clean_text import DROP

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)


def cleaned(record: Record) -> Record:
    """The same record with every text in it fit for a terminal; itself when nothing was unfit."""
    changes = {}
    for field in fields(record):
        before = getattr(record, field.name)
        after = _clean(before)
        if after is not before:
            changes[field.name] = after
    return replace(record, **changes) if changes else record


def clean_line(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    # Line ends become spaces, so that words on two lines do not grow together.
    plain = " ".join(text.split()) if any(end in text for end in "\n\r\t") else text
    fit = plain.translate(DROP)
    return text if fit == text else fit


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean_line(value)
    if isinstance(value, tuple):
        parts = tuple(_clean(part) for part in value)
        same = all(one is other for one, other in zip(parts, value, strict=True))
        return value if same else parts
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return cleaned(value)
    return value
