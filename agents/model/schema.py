"""The JSON schema of a reply or of a tool, as servers take it and as a prompt can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

_KEPT = frozenset(("type", "enum", "const", "description", "$ref"))
_REFUSED = frozenset(("oneOf", "allOf", "not", "prefixItems", "patternProperties", "if"))
# Endpoints differ in which bounds they enforce and some refuse a schema that has any: they are
# told in words, and checked when the reply is read.
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


class UnsupportedSchemaError(TypeError):
    """A reply model that structured outputs cannot express."""


@lru_cache(maxsize=64)
def json_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """What pydantic says of a model, made once: every reply is read by it several times."""
    return model.model_json_schema(by_alias=True)


def strict_schema(model: type[BaseModel]) -> dict[str, object]:
    """The schema of a reply; its first field must be the prose that is shown while written."""
    whole = json_schema(model)
    kinds = [node.get("type") for node in whole.get("properties", {}).values()]
    if kinds[:1] != ["string"]:
        raise UnsupportedSchemaError(f"The first field of {model.__name__} must be its prose.")
    strict = _strict(whole, model.__name__)
    if definitions := whole.get("$defs"):
        strict["$defs"] = {
            name: _strict(node, model.__name__) for name, node in definitions.items()
        }
    return strict


def tool_schema(model: type[BaseModel]) -> dict[str, object]:
    """The schema of a tool's arguments; those with a default may be left out."""
    whole = json_schema(model)
    strict = _strict(whole, model.__name__)
    return {"properties": {}, **strict, "required": whole.get("required", [])}


def _strict(node: Mapping[str, object], name: str) -> dict[str, object]:
    if refused := _REFUSED & node.keys():
        raise UnsupportedSchemaError(
            f"{name} needs {', '.join(sorted(refused))}; use another form."
        )
    strict = {key: value for key, value in node.items() if key in _KEPT}
    if bounds := [words.format(node[key]) for key, words in _BOUNDS.items() if key in node]:
        described = strict.get("description")
        said = ", ".join(bounds)
        strict["description"] = f"{described} ({said})" if described else said
    if isinstance(properties := node.get("properties"), dict):
        strict["properties"] = {key: _strict(item, name) for key, item in properties.items()}
        strict["required"] = list(properties)
        strict["additionalProperties"] = False
    if isinstance(items := node.get("items"), dict):
        strict["items"] = _strict(items, name)
    if isinstance(choices := node.get("anyOf"), list):
        strict["anyOf"] = [_strict(choice, name) for choice in choices]
    return {"$ref": strict["$ref"]} if "$ref" in strict else strict
