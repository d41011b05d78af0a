"""The pools that may exist: plain ones, without a hook, at the fees everyone uses."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

from chain.contracts.hooks import NO_HOOK
from chain.contracts.pool_key import PoolKey

if TYPE_CHECKING:
    from chain.contracts.networks import Address

USUAL_TIERS = ((100, 1), (500, 10), (3000, 60), (10000, 200))
"""Fee in pips and tick spacing, as Uniswap's own interface pairs them."""


def candidate_pools(tokens: Iterable[Address]) -> tuple[PoolKey, ...]:
    """Every plain pool between two of these tokens."""
    return tuple(
        key
        for one, other in combinations(dict.fromkeys(tokens), 2)
        for key in plain_pools(one, other)
    )


def plain_pools(one: Address, other: Address) -> tuple[PoolKey, ...]:
    """The pools of a pair at the usual fees, without a hook."""
    currency0, currency1 = sorted((one, other))
    return tuple(
        PoolKey(currency0, currency1, fee, spacing, NO_HOOK) for fee, spacing in USUAL_TIERS
    )
