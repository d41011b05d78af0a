"""JSON read strictly, and written as the one text for one value that is hashed and replayed."""

import json
import math
import re
from hashlib import sha256

MOST_NESTING = 32
_MOST_DIGITS = 78  # 2^256 in decimal
# Possessive, and at home with a string that never ends: no input makes it look twice at a byte.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = b"[]{}"
_ALL_BUT_BRACKETS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
# An honest answer spends far more bytes on each value than this; a list of `[],[],[]` would take
# twenty times its own size in memory.
_BYTES_PER_PART = 12
_FREE_PARTS = 10_000


class InvalidJsonError(ValueError):
    """Bytes that are not the JSON an honest server sends."""


def loads(body: bytes) -> object:
    if not body.strip():
        raise InvalidJsonError("it is empty")
    parts = body.count(b",") + body.count(b"[") + body.count(b"{")
    if parts > _FREE_PARTS + len(body) // _BYTES_PER_PART:
        raise InvalidJsonError("it has too many parts")
    _check_nesting(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise InvalidJsonError("it is not UTF-8")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        reason = "it is not JSON, or was cut off"
    raise InvalidJsonError(reason)


def _check_nesting(body: bytes) -> None:
    """Peel the brackets level by level: honest answers are empty after a few rounds."""
    if _peels(body.translate(None, _ALL_BUT_BRACKETS)):
        return
    # Brackets inside strings may be unbalanced; only then are strings worth looking for.
    if not _peels(_STRING.sub(b"", body).translate(None, _ALL_BUT_BRACKETS)):
        raise InvalidJsonError("it is nested too deeply, or was cut off")


def _peels(brackets: bytes) -> bool:
    for _ in range(MOST_NESTING):
        if not brackets:
            return True
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return not brackets


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidJsonError("a key appears twice in one object")
    return found


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InvalidJsonError("a number has too many digits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits) if len(digits) <= _MOST_DIGITS else math.inf
    if not math.isfinite(value):
        raise InvalidJsonError("a number is out of bounds")
    return value


def _refuse_constant(name: str) -> object:
    raise InvalidJsonError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_fraction,
    parse_constant=_refuse_constant,
)


def canonical(value: object) -> bytes:
    """Sorted keys, no spaces, ASCII only: safe to print, and the same on every machine.

    A number that is not finite raises ValueError, a value that is not JSON a TypeError.
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode("ascii")


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()
