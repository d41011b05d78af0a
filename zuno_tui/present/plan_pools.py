"""The pools a plan speaks of: what its ticks and units mean in prices and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.networks import UnknownNetworkError, network_named
from chain.tokens import ask_tokens, unlisted_token
from chain.tokens.pair import pair_of

if TYPE_CHECKING:
    from agents.lp.plan import Plan, PlanPoolFacts
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
    edge_7d: float | None
    """What it paid over what arbitrage took, in seven days."""

    def edges(self, tick_lower: int, tick_upper: int) -> tuple[int, int]:
        """Ticks from the price to the range's edges, the lower price first."""
        below, above = tick_lower - self.tick, tick_upper - self.tick
        return (-above, -below) if self.pair.inverted else (below, above)

    def sold_and_bought(self, *, zero_for_one: bool) -> tuple[Token, Token]:
        tokens = (self.pair.token0, self.pair.token1)
        return tokens if zero_for_one else tokens[::-1]


def plan_pools(plan: Plan, store: Store | None = None) -> dict[str, PlanPool]:
    """By pool id; nothing where the plan's network is none this zuno knows."""
    try:
        network = network_named(str(plan.chain_id))
    except UnknownNetworkError:
        return {}
    return {one.pool_id: _plan_pool(one, network, store) for one in plan.pools}


def _plan_pool(facts: PlanPoolFacts, network: Network, store: Store | None) -> PlanPool:
    token0 = _token(facts.currency0, facts.decimals0, network, store)
    token1 = _token(facts.currency1, facts.decimals1, network, store)
    pair = pair_of(network, token0, token1, facts.sqrt_price_x96)
    return PlanPool(pair, facts.tick, facts.lp_fee, facts.edge_7d)


def _token(address: str, decimals: int | None, network: Network, store: Store | None) -> Token:
    """By the list or the memory; a token neither knows is told by its address."""
    known = ask_tokens(network, [address], store).known
    return known.get(address) or unlisted_token(network, address, b"", decimals)
