"""A pool and a range as an action's headline names them: pair, fee tier and prices."""

from chain.execution.build.facts import PoolFacts, Span
from chain.positions.overview import Sources
from chain.tokens import ask_tokens
from chain.tokens.pair import pair_of


def pool_name(sources: Sources, pool: PoolFacts) -> str:
    """`WETH/USDC 0.3%`; by its id where a token is not known yet."""
    key = pool.key
    known = ask_tokens(sources.network, (key.currency0, key.currency1), sources.store).known
    if not {key.currency0, key.currency1} <= known.keys():
        return f"a position in pool {key.pool_id[:10]}…"
    tokens = known[key.currency0], known[key.currency1]
    pair = pair_of(sources.network, *tokens, pool.sqrt_price_x96)
    return f"{pair.name} {pool.lp_fee / 10_000:g}%{' dynamic' if key.has_dynamic_fee else ''}"


def range_prices(sources: Sources, pool: PoolFacts, span: Span) -> str:
    """`2,893 – 3,301`; in ticks where a token is not known yet."""
    currencies = (pool.key.currency0, pool.key.currency1)
    known = ask_tokens(sources.network, currencies, sources.store).known
    if not all(currency in known for currency in currencies):
        return f"ticks {span.tick_lower} to {span.tick_upper}"
    token0, token1 = (known[currency] for currency in currencies)
    pair = pair_of(sources.network, token0, token1, pool.sqrt_price_x96)
    return " – ".join(pair.bounds(span.tick_lower, span.tick_upper))
