"""Which pools can hold what a person wants to open a position with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.networks import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents.facts import CreateGoal
    from chain.networks import Address
    from chain.pool_key import PoolKey
    from chain.pools.discovery import Pool


def fitting_pools(
    goal: CreateGoal, pools: Iterable[Pool], wrapped_native: Address | None
) -> list[Pool]:
    """Those that fit, in their order; pools that need the coin wrapped first come after the others.

    Who says ETH is offered the coin's pools and those of its wrapped form; who says WETH is not
    offered the coin's, since unwrapping is a wish nobody uttered.
    """
    fitting = [pool for pool in pools if _fits(goal, pool.key, wrapped_native)]
    return sorted(fitting, key=lambda pool: not _fits(goal, pool.key, None))


def goal_tokens(goal: CreateGoal) -> tuple[Address, ...]:
    """Every token the person named, each once."""
    capital = (one.token for one in goal.capital)
    return tuple(dict.fromkeys((*capital, *(goal.pair or ()))))


def _fits(goal: CreateGoal, key: PoolKey, wrapped: Address | None) -> bool:
    if goal.fee is not None and key.fee != goal.fee:
        return False
    capital = [one.token for one in goal.capital]
    return _holds(key, capital, wrapped) and (
        goal.pair is None or _holds(key, list(goal.pair), wrapped)
    )


def _holds(key: PoolKey, asked: list[Address], wrapped: Address | None) -> bool:
    """Whether each token asked for is a currency of the pool of its own."""
    currencies = (key.currency0, key.currency1)
    if len(asked) > len(currencies):
        return False
    return any(
        all(_stands_for(one, held, wrapped) for one, held in zip(asked, order, strict=False))
        for order in (currencies, currencies[::-1])
    )


def _stands_for(asked: Address, held: Address, wrapped: Address | None) -> bool:
    return held == asked or (asked == NATIVE and held == wrapped)
