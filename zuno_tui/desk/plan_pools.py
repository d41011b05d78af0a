"""The pools a plan speaks of, out of its record: what its ticks mean in prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.debate import recorded_context
from agents.facts import MarketContext
from agents.replay import RecordBrokenError, read_record
from chain.pair import pair_of
from chain.tokens import ask_tokens, unlisted_token

if TYPE_CHECKING:
    from pathlib import Path

    from agents.facts import ObservedPool, TokenFacts
    from chain.networks import Network
    from chain.pair import Pair
    from chain.store import Store
    from chain.tokens import Token


@dataclass(frozen=True, slots=True)
class PlanPool:
    pair: Pair
    tick: int
    """Where the price was when the plan was made."""
    fee: int
    """Pips, as the providers took them then."""

    def edges(self, tick_lower: int, tick_upper: int) -> tuple[int, int]:
        """Ticks from the price to the range's edges, the lower price first."""
        below, above = tick_lower - self.tick, tick_upper - self.tick
        return (-above, -below) if self.pair.inverted else (below, above)


def pools_on_record(record: Path, network: Network, store: Store) -> dict[str, PlanPool]:
    """By pool id; nothing where the record is gone or broken, since the plan stands without it."""
    try:
        context = recorded_context(read_record(record))
    except (FileNotFoundError, RecordBrokenError):
        return {}
    if context is None:
        return {}
    observed = (context.observed,) if isinstance(context, MarketContext) else context.surveyed_pools
    return {one.pool.pool_id: _plan_pool(one, network, store) for one in observed}


def _plan_pool(observed: ObservedPool, network: Network, store: Store) -> PlanPool:
    pool = observed.pool
    token0, token1 = (_token(one, network, store) for one in (observed.token0, observed.token1))
    pair = pair_of(network, token0, token1, pool.sqrt_price_x96)
    return PlanPool(pair, pool.tick, pool.lp_fee)


def _token(facts: TokenFacts, network: Network, store: Store) -> Token:
    """By the list or the memory; a token neither knows is told by its address."""
    known = ask_tokens(network, [facts.address], store).known
    return known.get(facts.address) or unlisted_token(facts.address, b"", facts.decimals)
