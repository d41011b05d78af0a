"""From a schema and a model's raw text to a checked value: strict JSON, the schema's bounds."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Generic

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from agents.model.interface import Reply
from chain.base import strict_json
from chain.base.clean_text import Redactor, clean_text
from chain.base.strict_json import canonical


class StructuredReply(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


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


def mend_reply(value: object, model: type[BaseModel]) -> object:
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


PROSE_LIMIT = 4_000
_MOST_COMPLAINTS = 5


class UnusableReplyError(ValueError):
    """Why a reply cannot be used, in words that help its author to mend it."""


def whole_text(pieces: list[str]) -> str:
    """The pieces as one text; a character that was cut between two of them is made whole."""
    joined = "".join(pieces)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def has_fields_of(raw: str, schema: type[BaseModel]) -> bool:
    """Whether a reply has just the fields that were asked for, whatever is in them."""
    try:
        value = strict_json.loads(raw.strip().encode())
    except strict_json.InvalidJsonError:
        return False
    names = json_schema(schema).get("properties", {})
    return isinstance(value, dict) and value.keys() == names.keys()


class CheckedReply(Struct, Generic[Reply], frozen=True):
    value: Reply
    text: str
    """The reply as canonical JSON, clean and without secrets: reading it again gives the value."""


def parse_reply(raw: str, schema: type[Reply], redactor: Redactor) -> CheckedReply[Reply]:
    """The value in a reply, its texts made harmless, or UnusableReplyError."""
    try:
        value = strict_json.loads(object_in(raw, schema).encode())
    except strict_json.InvalidJsonError as error:
        raise UnusableReplyError(f"It is not one JSON object: {error}.") from None
    harmless = canonical(mend_reply(_harmless(value, redactor), schema))
    try:
        checked = schema.model_validate_json(harmless, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        complaint = _complaint(error)
    else:
        return CheckedReply(checked, harmless.decode())
    raise UnusableReplyError(complaint)


def _harmless(value: object, redactor: Redactor) -> object:
    if isinstance(value, str):
        # Cleaned first, or invisible characters could hide a secret; and last, for its length.
        seen = redactor.text(clean_text(value, limit=PROSE_LIMIT))
        return clean_text(seen, limit=PROSE_LIMIT)
    if isinstance(value, dict):
        return {key: _harmless(item, redactor) for key, item in value.items()}
    if isinstance(value, list):
        return [_harmless(item, redactor) for item in value]
    return value


def _complaint(error: ValidationError) -> str:
    # Only where and what, never the input: it is long, and written by whoever we complain to.
    found = error.errors(include_input=False, include_url=False, include_context=False)
    said = [
        f"{clean_text('.'.join(str(part) for part in item['loc']), limit=80)}: {item['msg']}"
        for item in found[:_MOST_COMPLAINTS]
    ]
    return "; ".join(said) + "."
