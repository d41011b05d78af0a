"""A range as an action's headline names it: in prices, as its pool's pair is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.tokens import ask_tokens
from chain.tokens.pair import pair_of

if TYPE_CHECKING:
    from chain.execution.build.facts import PoolFacts, Span
    from chain.positions.overview import Sources


def range_prices(sources: Sources, pool: PoolFacts, span: Span) -> str:
    """`2,893 – 3,301`; in ticks where a token is not known yet."""
    currencies = (pool.key.currency0, pool.key.currency1)
    known = ask_tokens(sources.network, currencies, sources.store).known
    if not all(currency in known for currency in currencies):
        return f"ticks {span.tick_lower} to {span.tick_upper}"
    token0, token1 = (known[currency] for currency in currencies)
    pair = pair_of(sources.network, token0, token1, pool.sqrt_price_x96)
    return " – ".join(pair.bounds(span.tick_lower, span.tick_upper))
