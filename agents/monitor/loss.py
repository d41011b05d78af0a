"""How much of what went into positions is gone, against simply holding it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chain.positions.change_memory import ChangeMemory
from chain.positions.change_reader import ChangeReader
from chain.positions.since_entry import worth
from chain.quantity import Unknown
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chain.overview import Sources
    from chain.positions.memory import PositionMemory
    from chain.positions.snapshot import PositionSnapshot


class Losses(NamedTuple):
    shares: Mapping[int, float]
    """By position, of what went in at present prices; a gain is negative."""
    unknown: Mapping[int, str]
    """By position, why one that was asked for is not among them."""


async def read_losses(
    sources: Sources, memory: PositionMemory, positions: Sequence[PositionSnapshot]
) -> Losses:
    """What these positions lost; a stop-loss that cannot be judged is told, not passed over."""
    if not positions:
        return Losses({}, {})
    changes = ChangeMemory(sources.store, sources.network, sources.clock)
    reader = ChangeReader(sources.client, sources.network, memory, changes)
    try:
        accounts = await reader.since_entry(positions)
    except RpcError as error:
        why = f"No loss could be judged: {error.sentence}"
        return Losses({}, {one.token_id: why for one in positions})
    shares: dict[int, float] = {}
    unknown: dict[int, str] = {}
    for position in positions:
        number = position.token_id
        account = accounts[number]
        if isinstance(account.against_holding, Unknown):
            reason = account.against_holding.reason
            unknown[number] = f"The loss of #{number} is unknown: {reason}."
        elif isinstance(account.deposited, Unknown):
            unknown[number] = f"The loss of #{number} is unknown: {account.deposited.reason}."
        else:
            deposited = worth(account.deposited.value, position.pool.sqrt_price_x96)
            shares[number] = -float(account.against_holding.value / deposited)
    return Losses(shares, unknown)
