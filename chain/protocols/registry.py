"""The protocols that positions are of: a row each, and the folder that reads them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolId
    from chain.protocols.protocol import LiquidityProtocol
    from chain.protocols.reference import PositionRef


class ProtocolRow(Struct, frozen=True):
    name: str
    prefix: str
    """What stands before the token id where a position is written: nothing, or `3:`."""
    first_id: int
    id_bits: int
    """How its manager counts tokens."""
    reading: str
    """The module whose `PROTOCOL` reads its positions and pools."""


# The order in which positions are listed.
PROTOCOLS: Final = (
    ProtocolRow("v4", "", 0, 256, "chain.protocols.v4.protocol"),
    ProtocolRow("v3", "3:", 1, 176, "chain.protocols.v3.protocol"),
)

_ROWS = {row.name: row for row in PROTOCOLS}


def row_named(name: str) -> ProtocolRow:
    return _ROWS[name]


# Loaded when it is first asked for, so that a name can be read without what reads the chain.
@cache
def protocol_named(name: str) -> LiquidityProtocol:
    return cast("LiquidityProtocol", import_module(_ROWS[name].reading).PROTOCOL)


@cache
def all_protocols() -> tuple[LiquidityProtocol, ...]:
    return tuple(protocol_named(row.name) for row in PROTOCOLS)


def protocol_of(ref: PositionRef) -> LiquidityProtocol:
    return protocol_named(ref.protocol)


def protocol_of_pool(pool_id: PoolId) -> LiquidityProtocol:
    for protocol in all_protocols():
        if protocol.has_pool(pool_id):
            return protocol
    raise ValueError(f"No protocol names a pool {pool_id}.")
