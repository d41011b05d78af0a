"""A pool and a range as an action's headline names them: pair, fee tier and prices."""

from chain.execution.plan.facts import PoolFacts
from chain.math.drift import Span
from chain.positions.overview import Sources
from chain.tokens import ask_tokens
from chain.tokens.pair import Pair, pair_of


def pool_name(sources: Sources, pool: PoolFacts) -> str:
    """`WETH/USDC 0.3%`; by its id where a token is not known yet."""
    key, pair = pool.key, _pair(sources, pool)
    if pair is None:
        return f"a position in pool {key.pool_id[:10]}…"
    return f"{pair.name} {pool.lp_fee / 10_000:g}%{' dynamic' if key.has_dynamic_fee else ''}"


def range_prices(sources: Sources, pool: PoolFacts, span: Span) -> str:
    """`2,893 – 3,301`; in ticks where a token is not known yet."""
    pair = _pair(sources, pool)
    if pair is None:
        return f"ticks {span.tick_lower} to {span.tick_upper}"
    return " – ".join(pair.bounds(span.tick_lower, span.tick_upper))


def _pair(sources: Sources, pool: PoolFacts) -> Pair | None:
    """None where a token is not known yet."""
    currencies = pool.key.currency0, pool.key.currency1
    question = ask_tokens(sources.network, currencies, sources.store)
    if question.asked:
        return None
    token0, token1 = (question.known[currency] for currency in currencies)
    return pair_of(sources.network, token0, token1, pool.sqrt_price_x96)
