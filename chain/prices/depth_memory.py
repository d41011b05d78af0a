"""How deep pools were found to be, remembered for some minutes: a poll need not look each time.

What is remembered counts only while the price is about where it was and the active liquidity still
there, so that no price can be told that was not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.math.liquidity import Amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chain.networks import Network
    from chain.pool_key import PoolId
    from chain.pools.state import PoolState
    from chain.store import Store

GOOD_SECONDS = 600.0
MOST_MOVE_TICKS = 100
"""About one per cent."""

_NAMESPACE = "pool depth"


class DepthMemory:
    def __init__(self, store: Store, network: Network, now: float) -> None:
        self._store = store
        self._chain = f"{network.chain_id}/{network.contracts.pool_manager}"
        self._now = now

    def known(self, states: Iterable[PoolState]) -> dict[PoolId, Amounts]:
        """What each pool trades near its price, of those looked at lately that have not changed."""
        by_key = {self._key(state): state for state in states}
        kept = self._store.get_many(_NAMESPACE, by_key)
        return {
            by_key[key].pool_id: Amounts(int(one["amount0"]), int(one["amount1"]))
            for key, one in kept.items()
            if isinstance(one, dict) and self._holds(one, by_key[key])
        }

    def remember(self, states: Iterable[PoolState], nearby: Mapping[PoolId, Amounts]) -> None:
        documents = {
            self._key(state): {
                "tick": str(state.tick),
                "liquidity": str(state.liquidity),
                "amount0": str(nearby[state.pool_id].amount0),
                "amount1": str(nearby[state.pool_id].amount1),
                "time": str(self._now),
            }
            for state in states
        }
        if documents:
            self._store.put_many(_NAMESPACE, documents, now=self._now)

    def _key(self, state: PoolState) -> str:
        return f"{self._chain}/{state.pool_id}"

    def _holds(self, kept: Mapping[str, str], state: PoolState) -> bool:
        age = self._now - float(kept["time"])
        moved = abs(int(kept["tick"]) - state.tick)
        shrunk = 2 * state.liquidity < int(kept["liquidity"])
        return 0 <= age < GOOD_SECONDS and moved <= MOST_MOVE_TICKS and not shrunk
