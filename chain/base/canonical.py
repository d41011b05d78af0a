"""One JSON text for one value: what is hashed, compared and replayed byte for byte."""

from __future__ import annotations

import json
from hashlib import sha256


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
