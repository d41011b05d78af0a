"""The protocols that positions are of: a row each, and the folder that reads them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from chain.contracts.networks import Address, Network
from chain.protocols.rows import _ROWS, PROTOCOLS

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolId
    from chain.protocols.protocol import LiquidityProtocol
    from chain.protocols.reference import PositionRef


def manager_of(ref: PositionRef, network: Network) -> Address:
    """The contract that knows whose it is."""
    manager = ref.manager or protocol_of(ref).manager(network)
    if manager is None:
        raise ValueError(f"{network.title} has no manager of position {ref}.")
    return manager


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
