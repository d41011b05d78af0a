"""What pools paid over their risk in seven days, for lists and pages of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agents.numbers.advice import week_edge
from chain.base.quantity import Quantity, Unknown
from chain.base.units import DAY
from chain.history.events import FeeTerms
from chain.history.hour_reader import HourMemory, read_hours
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolId
    from chain.pools.state import PoolState
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PoolSnapshot

READ_SECONDS = 8 * DAY
"""A week, and the day before it for the price it began at."""
UNREAD = Unknown("its swaps of the week were not read yet")


async def read_edges(
    sources: Sources, states: Iterable[PoolState | PoolSnapshot], *, unread: bool
) -> dict[PoolId, Quantity[float]]:
    """By pool; those whose swaps nobody has read so far only where `unread` asks for them.

    A busy pool's first week is long to read, so a list of pools does not begin it unasked.
    """
    memory = HourMemory(sources.store, sources.network, sources.clock)
    terms = {one.pool_id: FeeTerms(one.key.fee, one.protocol_fee) for one in states}
    wanted = {
        pool: one for pool, one in terms.items() if unread or memory.load(pool, one) is not None
    }
    try:
        read = await read_hours(
            sources.client, sources.network, wanted, READ_SECONDS, memory=memory
        )
    except RpcError as error:
        return dict.fromkeys(terms, Unknown(error.sentence))
    return {pool: week_edge(read[pool]) if pool in read else UNREAD for pool in terms}
