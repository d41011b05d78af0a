"""What positions and their fees are worth, fast enough for ten thousand of them a poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agents.monitor.rules.situation import Situation
from chain.base.quantity import Unknown
from chain.tokens.pair import pair_of

if TYPE_CHECKING:
    from agents.monitor.reader import Reading
    from agents.monitor.rules.baseline import Baseline
    from agents.monitor.rules.excursions import RangeState
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolId
    from chain.positions.snapshot import PoolSnapshot, PositionSnapshot
    from chain.tokens.pair import Pair


class _Units(NamedTuple):
    """Dollars for the smallest unit of each of a pool's tokens, None where unknown."""

    usd0: float | None
    usd1: float | None
    difference: float | None


class Valuing:
    """The figures that all positions of a pool share are worked out once."""

    def __init__(self, network: Network, reading: Reading) -> None:
        self._network = network
        self._reading = reading
        self._pools: dict[PoolId, tuple[Pair, _Units]] = {}

    def situation(
        self,
        position: PositionSnapshot,
        standing: RangeState,
        out_since: float | None,
        baseline: Baseline,
        others_there: int | None,
    ) -> Situation:
        reading, pool = self._reading, position.pool
        if pool.pool_id not in self._pools:
            self._pools[pool.pool_id] = self._pool(pool)
        pair, units = self._pools[pool.pool_id]
        return Situation(
            network=self._network,
            position=position,
            pair=pair,
            standing=standing,
            out_since=out_since,
            baseline=baseline,
            others_there=others_there,
            hook_code=reading.hook_code(position),
            volatility=reading.volatilities.get(pool.pool_id),
            principal_usd=_worth(units, position.amount0, position.amount1),
            fees_usd=_worth(units, position.fees0, position.fees1),
            collect_usd=reading.collect_usd,
            price_difference=units.difference,
            loss=reading.losses.shares.get(position.token_id),
        )

    def _pool(self, pool: PoolSnapshot) -> tuple[Pair, _Units]:
        tokens, key = self._reading.tokens, pool.key
        pair = pair_of(
            self._network, tokens[key.currency0], tokens[key.currency1], pool.sqrt_price_x96
        )
        sources = [self._reading.prices.prices.get(one) for one in (key.currency0, key.currency1)]
        apart = [None if one is None else one.difference for one in sources]
        difference = max((float(one) for one in apart if one is not None), default=None)
        return pair, _Units(self._usd(key.currency0), self._usd(key.currency1), difference)

    def _usd(self, address: Address) -> float | None:
        token = self._reading.tokens[address]
        price = self._reading.prices.price(address)
        if token.decimals is None or isinstance(price, Unknown):
            return None
        return float(price.value / 10**token.decimals)


def _worth(units: _Units, amount0: int, amount1: int) -> float | None:
    if (amount0 and units.usd0 is None) or (amount1 and units.usd1 is None):
        return None
    return amount0 * (units.usd0 or 0.0) + amount1 * (units.usd1 or 0.0)
