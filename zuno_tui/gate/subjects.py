"""What a wish is about: a position, a pool to enter, or the wallet alone, each at one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.execution.building_facts import PoolFacts, position_facts
from chain.execution.reading import FactsUnknownError
from chain.pools.state import pool_state_slots, pool_states
from chain.positions.gathering import read_positions
from chain.reading.one_block import OneBlock
from chain.reading.words import read_slots
from chain.rpc import requests

if TYPE_CHECKING:
    from chain.execution.building_facts import PositionFacts
    from chain.overview import Sources
    from chain.pool_key import PoolKey
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.records import Block, BlockRef


@dataclass(frozen=True, slots=True)
class About:
    """What to read again: a position by its id, a pool by its key; neither is the wallet alone."""

    token_id: int | None = None
    pool: PoolKey | None = None

    def __str__(self) -> str:
        if self.token_id is not None:
            return f"position #{self.token_id}"
        return "wallet" if self.pool is None else f"pool {self.pool.pool_id}"


@dataclass(frozen=True, slots=True)
class Subject:
    block: Block
    pool: PoolFacts | None = None
    position: PositionSnapshot | None = None

    @property
    def positions(self) -> dict[int, PositionFacts]:
        """The position by its id, as building and judging know it; empty where there is none."""
        one = self.position
        return {} if one is None else {one.token_id: position_facts(one)}

    @property
    def about(self) -> About:
        if self.position is not None:
            return About(token_id=self.position.token_id)
        return About(pool=None if self.pool is None else self.pool.key)


def subject_of(position: PositionSnapshot) -> Subject:
    pool = position.pool
    facts = PoolFacts(pool.key, pool.sqrt_price_x96, pool.lp_fee)
    return Subject(position.block, facts, position)


async def read_subject(sources: Sources, about: About, at: BlockRef = "latest") -> Subject | None:
    """The same at the newest block or another; None when it is not there."""
    if about.token_id is not None:
        found = await read_positions(
            sources.client, sources.network, sources.memory, [about.token_id], at=at
        )
        position = found.get(about.token_id)
        return None if position is None else subject_of(position)
    if about.pool is not None:
        return await _read_pool(sources, about.pool, at)
    return await read_wallet(sources, at)


async def read_wallet(sources: Sources, at: BlockRef = "latest") -> Subject:
    """Nothing but a block, where the wallet itself is what a wish is about."""
    head = await sources.client.ask(requests.block(at))
    if head is None:
        raise FactsUnknownError("The block to build on is unknown.")
    return Subject(head)


async def _read_pool(sources: Sources, key: PoolKey, at: BlockRef) -> Subject | None:
    here = OneBlock(sources.client, sources.network, at)
    words = (await read_slots(here, sources.network, pool_state_slots([key]))).words
    return next(
        (
            Subject(here.block, PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee))
            for state in pool_states([key], words)
        ),
        None,
    )
