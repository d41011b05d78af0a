"""Positions by their token ids, each read whole at one block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.positions.gathering import Gathering
from chain.reading.one_block import OneBlock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chain.networks import Network
    from chain.positions.memory import PositionMemory
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.client import RpcClient
    from chain.rpc.types import BlockRef


async def read_positions(
    client: RpcClient,
    network: Network,
    memory: PositionMemory,
    token_ids: Iterable[int],
    *,
    at: BlockRef = "latest",
) -> dict[int, PositionSnapshot]:
    """Snapshots of those tokens that exist, all at one block.

    One request when the positions are remembered, two when they are met for the first time.
    """
    gathering = Gathering(OneBlock(client, network, at), network, memory)
    await gathering.complete(token_ids)
    return gathering.snapshots()
