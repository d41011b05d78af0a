"""Where the past of a pool is told: by the PoolManager for all pools of v4, by itself in v3."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId
from chain.contracts.v3_pool import is_v3_pool
from chain.history.events import (
    DONATE,
    INITIALIZE,
    SWAP,
    V3_FLASH,
    V3_INITIALIZE,
    V3_SET_PROTOCOL,
    V3_SWAP,
    FeeTerms,
    SwapEvent,
    initialize_event,
    swap_event,
    v3_opening_price,
    v3_swap_event,
)
from chain.read.logs import Topics
from chain.rpc.records import Log


class PoolLogs(Struct, frozen=True):
    """Whose logs to ask for, and what they must carry."""

    address: Address | tuple[Address, ...]
    swaps: Topics
    opened: Topics
    paid_otherwise: Topics
    """What changes the fees that liquidity was paid, and is no swap at the usual terms."""


def pool_logs(network: Network, pools: Sequence[PoolId]) -> PoolLogs:
    """Of pools of one protocol."""
    named = tuple(pools)
    if is_v3_pool(named[0]):
        return PoolLogs(named, (V3_SWAP,), (V3_INITIALIZE,), ((V3_FLASH, V3_SET_PROTOCOL),))
    manager = network.contracts.pool_manager
    return PoolLogs(manager, (SWAP, named), (INITIALIZE, named), (DONATE, named))


def by_protocol(pools: Iterable[PoolId]) -> list[list[PoolId]]:
    """Pools of v4, then those of v3; only what there is."""
    named = list(pools)
    told = (
        [pool_id for pool_id in named if is_v3_pool(pool_id) is of_v3] for of_v3 in (False, True)
    )
    return [several for several in told if several]


def swap_of(log: Log, terms: Mapping[PoolId, FeeTerms]) -> SwapEvent:
    if log.topics[0] == V3_SWAP:
        return v3_swap_event(log, terms[log.address].key_fee)
    return swap_event(log)


def opening_of(log: Log) -> tuple[PoolId, int]:
    """The pool that a log of its beginning is about, and its first price."""
    if log.topics[0] == V3_INITIALIZE:
        return log.address, v3_opening_price(log)
    event = initialize_event(log)
    return event.key.pool_id, event.sqrt_price_x96
