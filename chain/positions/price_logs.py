"""A pool's price by its logs, which every node has: what the last swap left, or the first price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.history.events import (
    INITIALIZE,
    SWAP,
    InitializeEvent,
    SwapEvent,
    initialize_event,
    swap_event,
)
from chain.reading.log_scan import scan_logs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.networks import Network
    from chain.pool_key import PoolId
    from chain.rpc.client import RpcClient
    from chain.rpc.types import Log

_FIRST_WINDOW = 1_000


def last_price(logs: Sequence[Log]) -> SwapEvent | InitializeEvent | None:
    """The last of these logs that tells a price."""
    for log in reversed(logs):
        if log.topics[0] == SWAP:
            return swap_event(log)
        if log.topics[0] == INITIALIZE:
            return initialize_event(log)
    return None


async def find_last_price(
    client: RpcClient, network: Network, pool_id: PoolId, last: int
) -> SwapEvent | InitializeEvent | None:
    """The last price up to a block, looked for further and further back."""
    window = _FIRST_WINDOW
    topics = ((SWAP, INITIALIZE), pool_id)
    while last >= network.first_block:
        first = max(network.first_block, last - window + 1)
        ranges = scan_logs(client, network.contracts.pool_manager, [topics], first, last)
        found = last_price([log async for scanned in ranges for log in scanned.logs])
        if found is not None:
            return found
        last, window = first - 1, window * 4
    return None
