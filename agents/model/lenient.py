"""Mends in a reply what nothing rests on; what a choice rests on is left as it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agents.model.schema import json_schema
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from pydantic import BaseModel

_MOST_TRIES = 64
_ELLIPSIS = "…"


def object_in(text: str, model: type[BaseModel]) -> str:
    """The JSON object in a text that may hold words or a code fence around it.

    The last one that has a field of the reply, if need be inside another that has none; the whole
    text where there is none.
    """
    names = json_schema(model).get("properties", {})
    found = text.strip()
    for start, end, value in objects_in(text):
        if names.keys() & value.keys():
            found = text[start:end]
        elif any(isinstance(inner, dict) and names.keys() & inner for inner in value.values()):
            inside = text[start + 1 : end]
            wrapped = (
                inside[first:last]
                for first, last, inner in objects_in(inside)
                if names.keys() & inner.keys()
            )
            found = next(wrapped, found)
    return found


def objects_in(text: str) -> Iterator[tuple[int, int, Mapping[str, object]]]:
    """Where each JSON object in a text begins and ends, and what it is; the outermost alone."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_TRIES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield at, end, value
        at = text.find("{", end)


def mended(value: object, model: type[BaseModel]) -> object:
    """Whole numbers written as 1.0, texts over their length, nulls for what may be left out."""
    whole = json_schema(model)
    return _mended(value, whole, whole.get("$defs", {}))


def _mended(
    value: object, node: Mapping[str, object], definitions: Mapping[str, Mapping[str, object]]
) -> object:
    if isinstance(reference := node.get("$ref"), str):
        node = definitions[reference.rpartition("/")[2]]
    match value:
        case dict():
            return _mended_fields(value, node, definitions)
        case list():
            items = node.get("items")
            if not isinstance(items, dict):
                return value
            return [_mended(item, items, definitions) for item in value]
        case float() if node.get("type") == "integer" and value.is_integer():
            return int(value)
        case str() if isinstance(most := node.get("maxLength"), int) and len(value) > most:
            return _shortened(value, most)
        case _:
            return value


def _mended_fields(
    value: Mapping[str, object],
    node: Mapping[str, object],
    definitions: Mapping[str, Mapping[str, object]],
) -> dict[str, object]:
    properties = node.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {
        name: _mended(item, known.get(name, {}), definitions)
        for name, item in value.items()
        if not (item is None and "default" in known.get(name, {}))
    }


def _shortened(text: str, most: int) -> str:
    kept = clean_text(text, limit=2 * most)
    if len(kept) <= most:
        return kept
    room = most - len(_ELLIPSIS)
    words = kept[:room].rpartition(" ")[0]
    return (words or kept[:room]).rstrip() + _ELLIPSIS
