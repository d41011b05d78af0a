"""From a model's raw text to a checked value: strict JSON, clean words, the schema's bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from agents.model.interface import Reply
from agents.model.lenient import mended, object_in
from agents.model.schema import json_schema
from chain.base import strict_json
from chain.base.canonical import canonical
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from chain.base.redaction import Redactor

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


class Read(Struct, Generic[Reply], frozen=True):
    value: Reply
    text: str
    """The reply as canonical JSON, clean and without secrets: reading it again gives the value."""


def parse_reply(raw: str, schema: type[Reply], redactor: Redactor) -> Read[Reply]:
    """The value in a reply, its texts made harmless, or UnusableReplyError."""
    try:
        value = strict_json.loads(object_in(raw, schema).encode())
    except strict_json.InvalidJsonError as error:
        raise UnusableReplyError(f"It is not one JSON object: {error}.") from None
    harmless = canonical(mended(_harmless(value, redactor), schema))
    try:
        checked = schema.model_validate_json(harmless, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        complaint = _complaint(error)
    else:
        return Read(checked, harmless.decode())
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
