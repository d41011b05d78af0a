"""How deep a pool is where its price was, so that a price that moved is no exodus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chain.pools.depth import Depth, read_depths
from chain.pools.state import PoolState
from chain.read.block_reader import OneBlock

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.positions.snapshot import PoolSnapshot, PositionSnapshot
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block


class DepthReference(NamedTuple):
    """Where a position's pool was last measured, and under what the others may seem to be gone."""

    tick: int
    suspicious_under: int


async def read_reference_depths(
    client: RpcClient,
    network: Network,
    head: Block,
    positions: Sequence[PositionSnapshot],
    references: Mapping[int, DepthReference],
) -> dict[int, int | None]:
    """By position: the others' liquidity at its reference, where the price moved to a thin place.

    None where the reference is too far away. It takes two requests for all of them, and none
    while no pool looks drained.
    """
    suspects = [position for position in positions if _is_suspect(position, references)]
    if not suspects:
        return {}
    pools = {suspect.pool.pool_id: suspect.pool for suspect in suspects}
    reach = {pool_id: pool.key.tick_spacing for pool_id, pool in pools.items()}
    for suspect in suspects:
        away = (
            abs(suspect.pool.tick - references[suspect.token_id].tick)
            + suspect.pool.key.tick_spacing
        )
        reach[suspect.pool.pool_id] = max(reach[suspect.pool.pool_id], away)
    here = OneBlock(client, network, head.hash)
    states = [_state(pool) for pool in pools.values()]
    depths = await read_depths(here, network, states, reach=max(reach.values()))
    found: dict[int, int | None] = {}
    for suspect in suspects:
        tick = references[suspect.token_id].tick
        liquidity = liquidity_at(depths[suspect.pool.pool_id], tick)
        own = own_liquidity_at(suspect, tick)
        found[suspect.token_id] = None if liquidity is None else liquidity - own
    return found


def liquidity_at(depth: Depth, tick: int) -> int | None:
    """All liquidity whose range holds a tick; None where that was not read."""
    return next((liquidity for start, end, liquidity in depth.steps() if start <= tick < end), None)


def own_liquidity_at(position: PositionSnapshot, tick: int) -> int:
    identity = position.identity
    return position.liquidity if identity.tick_lower <= tick < identity.tick_upper else 0


def _is_suspect(position: PositionSnapshot, references: Mapping[int, DepthReference]) -> bool:
    reference = references.get(position.token_id)
    if reference is None or reference.tick == position.pool.tick:
        return False
    others = position.pool.liquidity - own_liquidity_at(position, position.pool.tick)
    return others <= reference.suspicious_under


def _state(pool: PoolSnapshot) -> PoolState:
    return PoolState(
        key=pool.key,
        pool_id=pool.pool_id,
        sqrt_price_x96=pool.sqrt_price_x96,
        tick=pool.tick,
        lp_fee=pool.lp_fee,
        protocol_fee=pool.protocol_fee,
        liquidity=pool.liquidity,
    )
