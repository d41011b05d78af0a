"""Uniswap v3: a contract a pool, and one manager that lists whose its tokens are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolId
from chain.protocols.past import PoolLogs, PoolMark, PositionPast, SwapEvent
from chain.protocols.pool import PoolQuestion, PoolState, Told, usual_pools
from chain.protocols.reference import V3, PositionRef
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v3 import contract
from chain.protocols.v3.contract import (
    V3_FLASH,
    V3_INITIALIZE,
    V3_SET_PROTOCOL,
    V3_SWAP,
    v3_opening_price,
    v3_swap_event,
)
from chain.protocols.v3.memory import V3Memory
from chain.protocols.v3.pool_key import V3PoolKey, v3_pool_key
from chain.protocols.v3.reader import V3Reader
from chain.protocols.v4.memory import PositionMemory
from chain.rpc.client import RpcClient
from chain.rpc.records import Log

_ADDRESS_LETTERS = 42


class UniswapV3:
    name = V3
    lists_tokens = True
    in_pool_manager = False
    mints_liquidity = False

    def manager(self, network: Network) -> Address | None:
        return None if network.v3 is None else network.v3.position_manager

    def has_pool(self, pool_id: PoolId) -> bool:
        return len(pool_id) == _ADDRESS_LETTERS

    def key(
        self, made_of: tuple[Address, Address, int, int, Address], pool_id: PoolId
    ) -> V3PoolKey:
        return V3PoolKey(*made_of, pool_id)

    def candidates(self, network: Network, tokens: Iterable[Address]) -> tuple[V3PoolKey, ...]:
        if network.v3 is None:
            return ()
        factory = network.v3.factory
        # v3 knows no coin but a wrapped one.
        pairs = usual_pools(token for token in tokens if token != NATIVE)
        return tuple(v3_pool_key(factory, *made_of) for made_of in pairs)

    def state(self, key: V3PoolKey) -> PoolQuestion[PoolState | None]:
        calls = contract.state_calls(key.pool)
        return PoolQuestion(
            lambda told: contract.v3_state(key, [told.outcomes[call] for call in calls]),
            calls=calls,
        )

    def bitmap_word(self, pool_id: PoolId, word: int) -> PoolQuestion[int]:
        call = contract.pool_call(pool_id, "tickBitmap(int16)", word)
        return PoolQuestion(
            lambda told: contract.decode_number("uint256", told.outcomes[call]), calls=(call,)
        )

    def net_liquidity(self, pool_id: PoolId, tick: int) -> PoolQuestion[int]:
        call = contract.tick_call(pool_id, tick)
        return PoolQuestion(
            lambda told: contract.decode_tick_net(told.outcomes[call]), calls=(call,)
        )

    def mark(self, pool_id: PoolId) -> PoolQuestion[PoolMark]:
        calls = contract.mark_calls(pool_id)

        def read(told: Told) -> PoolMark:
            slot0, *growth = (told.outcomes[call] for call in calls)
            if not contract.is_there(slot0):
                return PoolMark(0, 0, 0)
            price = contract.decode_slot0(slot0).sqrt_price_x96
            return PoolMark(price, *(contract.decode_number("uint256", each) for each in growth))

        return PoolQuestion(read, calls=calls)

    def pool_logs(self, network: Network, pools: Sequence[PoolId]) -> PoolLogs:
        paid_otherwise = ((V3_FLASH, V3_SET_PROTOCOL),)
        return PoolLogs(tuple(pools), (V3_SWAP,), (V3_INITIALIZE,), paid_otherwise)

    def swap(self, log: Log, fee_of: Callable[[PoolId], int]) -> SwapEvent:
        return v3_swap_event(log, fee_of(log.address))

    def pool_opening(self, log: Log) -> tuple[PoolId, int]:
        return log.address, v3_opening_price(log)

    def reader(
        self,
        network: Network,
        memory: PositionMemory,
        words: Mapping[int, int],
        also: Callable[[], Iterable[int]],
    ) -> V3Reader | None:
        if network.v3 is None:
            return None
        own = V3Memory(memory.store, network, network.v3, memory.clock)
        return V3Reader(network, network.v3, own)

    async def past(
        self,
        client: RpcClient,
        network: Network,
        memory: PositionMemory,
        snapshots: Sequence[PositionSnapshot],
    ) -> dict[PositionRef, PositionPast]:
        # `zuno positions` starts without what reads the past.
        from chain.protocols.v3.changes import v3_past

        return await v3_past(client, network, snapshots)


PROTOCOL: Final = UniswapV3()
