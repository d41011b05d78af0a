"""What tests hold a pool's depth against."""

from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.depth import Depth, SwapQuote, quote_at_most
from chain.pools.state import nearby_ticks
from chain.protocols.pool import PoolState


def quote_exact_input(depth: Depth, amount_in: int, *, zero_for_one: bool) -> SwapQuote:
    """What a swap of exactly this input pays out."""
    quote = quote_at_most(depth, amount_in, zero_for_one=zero_for_one)
    assert quote.amount_in == amount_in, "the swap is larger than the liquidity that was read"
    return quote


def virtual_depth(state: PoolState) -> Amounts:
    """What the active liquidity would trade near the price, if it reached that far.

    Currency0 is what buyers could take before the price rose out of reach, currency1 what
    sellers could.
    """
    nearby = nearby_ticks(state.tick)
    return amounts_for_liquidity(
        state.sqrt_price_x96,
        min(sqrt_price_at_tick(nearby.lowest), state.sqrt_price_x96),
        max(sqrt_price_at_tick(nearby.highest), state.sqrt_price_x96),
        state.liquidity,
        round_up=False,
    )
