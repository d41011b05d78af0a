"""A pool's price by its logs, which every node has: what the last swap left, or the first price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from chain.base.quantity import Known, Quantity, Unknown
from chain.history.events import (
    INITIALIZE,
    SWAP,
    InitializeEvent,
    SwapEvent,
    initialize_event,
    swap_event,
)
from chain.read.block_reader import expected
from chain.read.in_parts import settle_in_parts
from chain.read.logs import scan_parts
from chain.read.storage_words import decode_words, read_words
from chain.rpc import requests
from chain.rpc.errors import StatePruned
from chain.rpc.multicall import CallOutcome

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Log

PastWords: TypeAlias = "dict[int, Quantity[Mapping[int, int]]]"
"""By block number; unknown where the node has thrown the block's state away."""


async def read_past_words(
    client: RpcClient, network: Network, wanted: Mapping[int, Sequence[int]]
) -> PastWords:
    """The values of these slots at these blocks, one call a block."""
    pool_manager = network.contracts.pool_manager
    calls = [
        requests.call(pool_manager, read_words(pool_manager, slots).data, number)
        for number, slots in wanted.items()
    ]
    words: PastWords = {}
    answers = await settle_in_parts(client, calls)
    for (number, slots), answer in zip(wanted.items(), answers, strict=True):
        if isinstance(answer, StatePruned):
            words[number] = Unknown(f"the state of block {number} needs an archive node")
            continue
        data = expected(answer, bytes)
        # Before the PoolManager existed there was nothing in its storage.
        outcome = CallOutcome(success=True, data=data)
        read = decode_words(slots, outcome) if data else dict.fromkeys(slots, 0)
        words[number] = Known(read, "PoolManager storage", number)
    return words


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
        parts = scan_parts(client, network.contracts.pool_manager, [topics], first, last)
        found = last_price([log async for part in parts for log in part.logs])
        if found is not None:
            return found
        last, window = first - 1, window * 4
    return None
