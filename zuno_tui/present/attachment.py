"""What hangs on positions besides the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from zuno_tui.present.output import Json


class Attachment(Struct, frozen=True):
    """What hangs on positions besides the chain, like their hedges."""

    name: str
    """Its field in a document."""
    lines: tuple[str, ...] = ()
    """Under a list of positions."""
    document: Json = None
    """None where it is not known."""
