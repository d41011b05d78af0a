"""A record as the document that programs read: the record itself, in the wire's style."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import get_type_hints

from msgspec import Struct

from chain.base.units import AS_TEXT, Known, Units, Unknown
from chain.protocols.reference import PositionRef, position_name
from zuno_tui.present.output import Json

__all__ = ["Units", "document", "parts"]
_PLACES = 8


def document(
    record: Struct | tuple[object, ...], *properties: str, without: tuple[str, ...] = ()
) -> dict[str, Json]:
    """Names in camel case; what is unknown is null, and its reason stands under `unknown`.

    Beside its fields a record has the properties that are named, and lacks what it is `without`.
    """
    named = (*_names(type(record)), *((name, _wire_name(name)) for name in properties))
    return _named_parts(record, [pair for pair in named if pair[0] not in without])


def parts(record: Struct | tuple[object, ...], *names: str) -> dict[str, Json]:
    """Those fields and properties alone."""
    return _named_parts(record, [(name, _wire_name(name)) for name in names])


def _named_parts(
    record: Struct | tuple[object, ...], names: Iterable[tuple[str, str]]
) -> dict[str, Json]:
    found: dict[str, Json] = {}
    reasons: dict[str, Json] = {}
    for name, wire in names:
        value = getattr(record, name)
        if isinstance(value, Unknown):
            reasons[wire] = value.reason
        found[wire] = _json(value, as_text=_is_text(_hint(type(record), name)))
    return {**found, "unknown": reasons} if reasons else found


def _json(value: object, *, as_text: bool = False) -> Json:
    match value:
        case Known() if not isinstance(value.value, int | Fraction):
            return _json(value.value)
        case Struct() if not isinstance(value, Known | Unknown | PositionRef):
            return document(value)
        case tuple() if hasattr(value, "_fields") and not isinstance(value, PositionRef):
            return document(value)
        case Mapping():
            return {str(_json(key)): _json(part, as_text=as_text) for key, part in value.items()}
        case tuple() | list() | frozenset():
            return [_json(part, as_text=as_text) for part in value]
        case _:
            return _plain(value, as_text=as_text)


def _plain(value: object, *, as_text: bool) -> str | int | float | bool | None:
    if isinstance(value, Known):
        # A quantity in whole numbers counts smallest units.
        return _plain(value.value, as_text=isinstance(value.value, int))
    match value:
        case Enum():
            plain: object = value.value
        case int() if as_text and not isinstance(value, bool):
            plain = str(value)
        case Fraction():
            plain = round(float(value), _PLACES)
        case bytes():
            plain = "0x" + value.hex()
        case Unknown():
            plain = None
        case _:
            plain = position_name(value) if isinstance(value, PositionRef) else value
    if plain is None or isinstance(plain, str | int | float | bool):
        return plain
    raise TypeError(f"{type(value).__name__} has no form in a document.")


@cache
def _names(kind: type) -> tuple[tuple[str, str], ...]:
    if issubclass(kind, Struct):
        named = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        return tuple((name, _wire_name(encoded)) for name, encoded in named)
    return tuple((name, _wire_name(name)) for name in getattr(kind, "_fields", ()))


@cache
def _hint(kind: type, name: str) -> object:
    named = getattr(kind, name, None)
    told, part = (named.fget, "return") if isinstance(named, property) else (kind, name)
    try:
        return get_type_hints(told, include_extras=True)[part]
    except NameError:
        # Some type beside it is imported for the type checker alone: of this one `Units` counts.
        written = (vars(each).get("__annotations__", {}) for each in getattr(told, "__mro__", ()))
        own = told.__annotations__ if isinstance(named, property) else ChainMap(*written)
        return Units if "Units" in str(own.get(part)) else None


def _is_text(hint: object) -> bool:
    """Of a field, or of the parts of one: `tuple[Units, ...]`, `Units | None`."""
    if AS_TEXT in getattr(hint, "__metadata__", ()):
        return True
    return any(map(_is_text, getattr(hint, "__args__", ())))


def _wire_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
