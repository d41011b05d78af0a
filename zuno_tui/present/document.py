"""A record as the document that programs read: the record itself, in the wire's style."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Annotated, get_type_hints

from msgspec import Meta, Struct
from msgspec.structs import fields

from chain.base.units import Known, Unknown
from chain.protocols.reference import PositionRef, position_name
from zuno_tui.present.output import Json

_AS_TEXT = Meta(extra={"wire": "text"})
Units = Annotated[int, _AS_TEXT]
"""Smallest units, liquidity or an id: text in a document, for it may pass 2^53."""
_PLACES = 8


def document(record: Struct) -> dict[str, Json]:
    """Names in camel case; what is unknown is null, and its reason stands under `unknown`."""
    found: dict[str, Json] = {}
    reasons: dict[str, Json] = {}
    texts = _text_fields(type(record))
    for each in fields(record):
        value, name = getattr(record, each.name), _wire_name(each.encode_name)
        if isinstance(value, Unknown):
            reasons[name] = value.reason
        found[name] = _json(value, as_text=each.name in texts)
    return {**found, "unknown": reasons} if reasons else found


def _json(value: object, *, as_text: bool = False) -> Json:
    match value:
        case Struct() if not isinstance(value, Known | Unknown | PositionRef):
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
        case Unknown():
            plain = None
        case _:
            plain = position_name(value) if isinstance(value, PositionRef) else value
    if plain is None or isinstance(plain, str | int | float | bool):
        return plain
    raise TypeError(f"{type(value).__name__} has no form in a document.")


@cache
def _text_fields(kind: type[Struct]) -> frozenset[str]:
    hints = get_type_hints(kind, include_extras=True)
    return frozenset(name for name, hint in hints.items() if _is_text(hint))


def _is_text(hint: object) -> bool:
    """Of a field, or of the parts of one: `tuple[Units, ...]`, `Units | None`."""
    if _AS_TEXT in getattr(hint, "__metadata__", ()):
        return True
    return any(map(_is_text, getattr(hint, "__args__", ())))


def _wire_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
