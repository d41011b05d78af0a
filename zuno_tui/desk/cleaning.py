"""The last gate of everything the desk tells: no control byte passes, whatever wrote it."""

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chain.base.clean_text import DROP

Record = TypeVar("Record", bound=Struct)

_SPACES = dict.fromkeys((0x09, 0x0A, 0x0D), " ")
_UNFIT: dict[int, str | None] = {**DROP, **_SPACES}
_FIGURES = frozenset((float, int))
_BLANKED = dict.fromkeys(DROP, " ")


def clean_record(record: Record) -> Record:
    """The same record with every text in it fit for a terminal; itself when nothing was unfit."""
    changes = {}
    for name in record.__struct_fields__:
        before = getattr(record, name)
        after = _clean(before)
        if after is not before:
            changes[name] = after
    return replace(record, **changes) if changes else record


def clean_line(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    fit = text.translate(_UNFIT)
    return text if fit == text else fit


def clean_in_place(text: str) -> str:
    """The same with every character in its place, for texts that are pointed into."""
    return text.translate(_BLANKED)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean_line(value)
    if isinstance(value, tuple):
        # Charts are thousands of figures, and no text.
        if _FIGURES.issuperset(map(type, value)):
            return value
        parts = tuple(_clean(part) for part in value)
        same = all(part is other for part, other in zip(parts, value, strict=True))
        return value if same else parts
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    if isinstance(value, Struct):
        return clean_record(value)
    return value
