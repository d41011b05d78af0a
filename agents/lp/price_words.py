"""Ranges and prices as people read them, without a name that a contract gave itself."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from agents.lp.facts import MarketContext
from agents.numbers.edges import TICK_LOG, price_tick
from chain.contracts.networks import UnknownNetworkError, network_named
from chain.tokens import Token
from chain.tokens.pair import Pair, pair_of

if TYPE_CHECKING:
    from agents.lp.facts import CreateContext, ObservedPool
    from agents.lp.plan import Candidate

    Context = MarketContext | CreateContext


def range_prices(context: Context, candidate: Candidate) -> str:
    """`2,893.1 – 3,301.4`; by how far its edges are from the price where decimals are unknown."""
    if candidate.tick_lower is None or candidate.tick_upper is None:
        return "in the wallet"
    observed = observed_pool(context, candidate.pool_id)
    return ticks_as_prices(context, observed, candidate.tick_lower, candidate.tick_upper)


def ticks_as_prices(context: Context, observed: ObservedPool, lower: int, upper: int) -> str:
    if observed.token0.decimals is None or observed.token1.decimals is None:
        price = price_tick(observed.pool.sqrt_price_x96)
        ends = (100 * (exp((tick - price) * TICK_LOG) - 1) for tick in (lower, upper))
        return " … ".join(f"{end:+.3g} %" for end in ends)
    return " – ".join(_pair(context, observed).bounds(lower, upper))


def price_now(context: Context, observed: ObservedPool) -> str | None:
    """None where a token's decimals are unknown, and with them what a price is."""
    if observed.token0.decimals is None or observed.token1.decimals is None:
        return None
    return _pair(context, observed).price_text(observed.pool.sqrt_price_x96)


def observed_pool(context: Context, pool_id: str) -> ObservedPool:
    if isinstance(context, MarketContext):
        return context.observed
    return next(one for one in context.surveyed_pools if one.pool.pool_id == pool_id)


def _pair(context: Context, observed: ObservedPool) -> Pair:
    """The way round the plan's card tells it."""
    pool = observed.pool
    token0 = _token(pool.currency0, observed.token0.decimals)
    token1 = _token(pool.currency1, observed.token1.decimals)
    try:
        network = network_named(str(context.chain_id))
    except UnknownNetworkError:
        return Pair(token0, token1, inverted=False)
    return pair_of(network, token0, token1, pool.sqrt_price_x96)


def _token(address: str, decimals: int | None) -> Token:
    return Token(address=address, symbol="", decimals=decimals, verified=False, suspicious=False)
