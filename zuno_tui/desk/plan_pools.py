"""The pools a plan speaks of, out of its record: what its ticks mean in prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.replay import RecordBrokenError, read_record
from agents.lp.facts import MarketContext
from agents.lp.services import recorded_context
from chain.tokens import ask_tokens, unlisted_token
from chain.tokens.pair import pair_of

if TYPE_CHECKING:
    from pathlib import Path

    from agents.lp.facts import ObservedPool, TokenFacts
    from chain.base.store import Store
    from chain.contracts.networks import Network
    from chain.tokens import Token
    from chain.tokens.pair import Pair


class PlanPool(Struct, frozen=True):
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
