"""Uniswap v4: one PoolManager that keeps all pools in its storage, and positions as tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from chain.base.units import Unknown
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.contracts.storage import (
    bitmap_slot,
    decode_slot0,
    decode_tick_liquidity,
    pool_slots,
    tick_slots,
)
from chain.protocols.past import PoolLogs, PoolMark, PositionPast, SwapEvent
from chain.protocols.pool import PoolQuestion, PoolState, Told
from chain.protocols.reference import V4, PositionRef
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4.events import DONATE, INITIALIZE, SWAP, initialize_event, swap_event
from chain.protocols.v4.memory import PositionMemory
from chain.protocols.v4.reader import V4Reader
from chain.protocols.v4.storage import (
    candidate_pools,
    pool_state_slots,
    pool_states,
)
from chain.read.logs import LOGS_NOT_GIVEN, why_not_given
from chain.rpc.client import RpcClient
from chain.rpc.records import Log

_HASH_LETTERS = 66


class UniswapV4:
    name = V4
    lists_tokens = False
    in_pool_manager = True
    mints_liquidity = True

    def manager(self, network: Network) -> Address:
        return network.contracts.position_manager

    def has_pool(self, pool_id: PoolId) -> bool:
        return len(pool_id) == _HASH_LETTERS

    def key(self, made_of: tuple[Address, Address, int, int, Address], pool_id: PoolId) -> PoolKey:
        return PoolKey(*made_of)

    def candidates(self, network: Network, tokens: Iterable[Address]) -> tuple[PoolKey, ...]:
        return candidate_pools(tokens)

    def state(self, key: PoolKey) -> PoolQuestion[PoolState | None]:
        return PoolQuestion(partial(_state, key), slots=pool_state_slots([key]))

    def bitmap_word(self, pool_id: PoolId, word: int) -> PoolQuestion[int]:
        slot = bitmap_slot(pool_id, word)
        return PoolQuestion(lambda told: told.words[slot], slots=(slot,))

    def net_liquidity(self, pool_id: PoolId, tick: int) -> PoolQuestion[int]:
        slot = tick_slots(pool_id, tick).liquidity
        return PoolQuestion(lambda told: decode_tick_liquidity(told.words[slot]).net, slots=(slot,))

    def mark(self, pool_id: PoolId) -> PoolQuestion[PoolMark]:
        slots = pool_slots(pool_id)
        wanted = slots.slot0, slots.fee_growth_global0, slots.fee_growth_global1

        def read(told: Told) -> PoolMark:
            slot0, growth0, growth1 = (told.words[slot] for slot in wanted)
            return PoolMark(decode_slot0(slot0).sqrt_price_x96, growth0, growth1)

        return PoolQuestion(read, slots=wanted)

    def pool_logs(self, network: Network, pools: Sequence[PoolId]) -> PoolLogs:
        named = tuple(pools)
        manager = network.contracts.pool_manager
        return PoolLogs(manager, (SWAP, named), (INITIALIZE, named), (DONATE, named))

    def swap(self, log: Log, fee_of: Callable[[PoolId], int]) -> SwapEvent:
        return swap_event(log)

    def pool_opening(self, log: Log) -> tuple[PoolId, int]:
        event = initialize_event(log)
        return event.key.pool_id, event.sqrt_price_x96

    def reader(
        self,
        network: Network,
        memory: PositionMemory,
        words: Mapping[int, int],
        also: Callable[[], Iterable[int]],
    ) -> V4Reader:
        return V4Reader(network, memory, words, also)

    async def past(
        self,
        client: RpcClient,
        network: Network,
        memory: PositionMemory,
        snapshots: Sequence[PositionSnapshot],
    ) -> dict[PositionRef, PositionPast]:
        # `zuno positions` starts without what reads the past.
        from chain.protocols.v4.changes import ChangeMemory, ChangeReader

        changes = ChangeMemory(memory.store, network, memory.clock)
        reader = ChangeReader(client, network, memory, changes)
        held = {snapshot.identity: snapshot.liquidity for snapshot in snapshots}
        try:
            told = await reader.changes(held, snapshots[0].block.number)
        except LOGS_NOT_GIVEN as error:
            why = Unknown(why_not_given(error))
            return {snapshot.ref: PositionPast(why) for snapshot in snapshots}
        return {ref: PositionPast(changes, changes) for ref, changes in told.items()}


def _state(key: PoolKey, told: Told) -> PoolState | None:
    return next(iter(pool_states([key], told.words)), None)


PROTOCOL: Final = UniswapV4()
