"""The block a position was opened in, found by the ids that were minted before and after it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from chain.positions.holdings import TRANSFER, minted_in
from chain.read.logs import FIRST_BLOCKS, NARROWABLE, scan_parts
from chain.rpc.errors import RpcRefused, StatePruned

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.rpc.client import RpcClient

FEW_CALLS = 40
"""Where all logs take no more, reading them is as quick."""

_NOBODY = "0x" + "00" * 32
_MOST_EMPTY = 4
"""Stretches in a row in which nobody opened a position, before it is given up."""


def is_worth_searching(client: RpcClient, blocks: int) -> bool:
    """Whether an endpoint gives so few blocks at once that many can be left out by it."""
    known = client.log_range
    return known is not None and known.most and math.ceil(blocks / known.blocks) > FEW_CALLS


async def find_mint_block(
    client: RpcClient, network: Network, token_id: int, last: int
) -> int | None:
    """None where the logs do not tell.

    Ids are given one after the other, so those minted in a few blocks say on which side of them
    another one was.
    """
    known = client.log_range
    width = FIRST_BLOCKS if known is None else known.blocks
    low, high = network.first_block, last
    while low <= high:
        start = low + max(0, high - low + 1 - width) // 2
        try:
            minted, end = await _minted_after(client, network, start, width, high)
        except (*NARROWABLE, RpcRefused, StatePruned):
            return None
        if token_id in minted:
            return minted[token_id]
        if not minted and end < high:
            return None
        if not minted or min(minted) > token_id:
            high = start - 1
        elif max(minted) < token_id:
            low = end + 1
        else:
            return None
    return None


async def _minted_after(
    client: RpcClient, network: Network, start: int, width: int, last: int
) -> tuple[dict[int, int], int]:
    """The first ids minted from a block on, by their blocks, and the last block of them."""
    minted: dict[int, int] = {}
    end = start - 1
    for _ in range(_MOST_EMPTY):
        first, end = end + 1, min(last, end + width)
        manager = network.contracts.position_manager
        async for part in scan_parts(client, manager, [(TRANSFER, _NOBODY)], first, end):
            minted |= minted_in(part.logs)
        if minted or end >= last:
            break
    return minted, end
