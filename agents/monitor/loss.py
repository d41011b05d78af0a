"""How much of what went into positions is gone, against simply holding it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.positions.change_memory import ChangeMemory
from chain.positions.change_reader import ChangeReader
from chain.positions.since_entry import worth
from chain.quantity import Unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.overview import Sources
    from chain.positions.memory import PositionMemory
    from chain.positions.snapshot import PositionSnapshot


async def read_losses(
    sources: Sources, memory: PositionMemory, positions: Sequence[PositionSnapshot]
) -> dict[int, float]:
    """By position, as a share of what went in at present prices; a gain is negative.

    Positions whose past the node cannot tell are left out.
    """
    if not positions:
        return {}
    changes = ChangeMemory(sources.store, sources.network, sources.clock)
    reader = ChangeReader(sources.client, sources.network, memory, changes)
    accounts = await reader.since_entry(positions)
    losses: dict[int, float] = {}
    for position in positions:
        account = accounts[position.token_id]
        if isinstance(account.against_holding, Unknown) or isinstance(account.deposited, Unknown):
            continue
        deposited = worth(account.deposited.value, position.pool.sqrt_price_x96)
        losses[position.token_id] = -float(account.against_holding.value / deposited)
    return losses
