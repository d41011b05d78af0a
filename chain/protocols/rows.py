"""The protocols that positions are of, a row each: what can be said without loading one."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class ProtocolRow(Struct, frozen=True):
    name: str
    prefix: str
    """What stands before the token id where a position is written: nothing, or `3:`."""
    first_id: int
    id_bits: int
    """How its manager counts tokens."""
    reading: str
    """The module whose `PROTOCOL` reads its positions and pools."""
    contracts: tuple[str, str]
    """Who tells what a position holds, and who whose it is."""


# The order in which positions are listed.
PROTOCOLS: Final = (
    ProtocolRow(
        "v4", "", 0, 256, "chain.protocols.v4.protocol", ("PoolManager storage", "PositionManager")
    ),
    ProtocolRow(
        "v3",
        "3:",
        1,
        176,
        "chain.protocols.v3.protocol",
        ("the pool's contract", "NonfungiblePositionManager"),
    ),
)


_ROWS = {row.name: row for row in PROTOCOLS}


def row_named(name: str) -> ProtocolRow:
    return _ROWS[name]
