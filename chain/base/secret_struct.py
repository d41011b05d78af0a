"""Values that hold something secret, and tell nothing of it where they are printed."""

from __future__ import annotations

from msgspec import Struct


class SecretStruct(Struct, frozen=True):
    """Its fields are compared and copied as any value's are, and never shown."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"
