"""A position's past as facts keep it: from its logs, up to the block that is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.facts import PastChange, PositionPast
from agents.lp.observe.errors import NoSuchPositionError
from agents.lp.observe.pool_facts import figure
from chain.base.quantity import Unknown
from chain.positions.batch_reader import read_positions
from chain.positions.change_memory import ChangeMemory
from chain.positions.change_reader import ChangeReader
from chain.positions.profit import worth

if TYPE_CHECKING:
    from chain.base.quantity import Quantity
    from chain.math.liquidity import Amounts
    from chain.positions.overview import Sources
    from chain.positions.profit import SinceEntry

_MOST_CHANGES = 20


async def read_position_past(sources: Sources, token_id: int) -> PositionPast:
    client, network = sources.client, sources.network
    found = await read_positions(client, network, sources.memory, [token_id])
    snapshot = found.get(token_id)
    if snapshot is None:
        raise NoSuchPositionError(token_id, network)
    changes = ChangeMemory(sources.store, network, sources.clock)
    reader = ChangeReader(client, network, sources.memory, changes)
    account = (await reader.since_entry([snapshot]))[token_id]
    return past_facts(account, snapshot.block.timestamp, snapshot.pool.sqrt_price_x96)


def past_facts(account: SinceEntry, now: int, sqrt_price_x96: int) -> PositionPast:
    def valued(amounts: Quantity[Amounts]) -> float | None:
        return figure(amounts.map(lambda known: worth(known, sqrt_price_x96)))

    age = account.age_seconds
    return PositionPast(
        changes=tuple(
            PastChange(age_seconds=now - change.timestamp, liquidity_delta=change.liquidity_delta)
            for change in account.changes[-_MOST_CHANGES:]
        ),
        changes_in_all=len(account.changes),
        age_seconds=None if isinstance(age, Unknown) else age.value,
        deposited=valued(account.deposited),
        withdrawn=valued(account.withdrawn),
        fees_collected=valued(account.fees_collected),
        fees_earned=valued(account.fees_earned),
        against_holding=figure(account.against_holding),
        impermanent_loss=figure(account.impermanent_loss),
    )
