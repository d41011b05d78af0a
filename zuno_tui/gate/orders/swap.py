"""What a person sells for another token, through the pool of the pair that pays most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chain.execution.build.facts import PoolFacts
from chain.execution.build.requests import QuotedSwap, SwapRequest
from chain.pools.depth import Depth, quote_at_most, quotes_across
from chain.pools.state import plain_pools
from chain.positions.overview import Sources, tokens_at
from chain.tokens import Token, listed_tokens, named_tokens
from chain.tokens.token import amount_text
from zuno_tui.gate.orders.order import Order, spendable_tokens
from zuno_tui.gate.orders.swap_pool import SwapQuotes, read_pools
from zuno_tui.gate.orders.target import OrderTarget, read_wallet
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolKey

_MOST = 2**127 - 1
_ADDRESS_LENGTH = 42


async def order_to_swap(sources: Sources, amount: Numeral, sold: str, bought: str) -> Order:
    """Sell exactly this much; what comes out goes to the wallet."""
    network = sources.network
    given, wanted = token_named(network, sold), token_named(network, bought)
    if given == wanted:
        raise GateRefusedError(f"{sold} and {bought} are the same token. Name another to buy.")
    block = (await read_wallet(sources)).block
    tokens = await tokens_at(sources.without_memory(), [given, wanted], block.hash)
    units = _units(amount, tokens[given])
    keys = plain_pools(given, wanted)
    zero_for_one = keys[0].currency0 == given
    depths = await read_pools(sources, keys, block.hash)
    if not depths:
        raise GateRefusedError(
            f"No pool of {tokens[given].label} and {tokens[wanted].label} holds anything on "
            f"{network.title}. See which there are: zuno pools"
        )
    by_quoter = await quotes_across(
        sources.client,
        network,
        [depth.state.key for depth in depths],
        units,
        zero_for_one=zero_for_one,
        at=block.hash,
    )
    quotes = _best(depths, units, zero_for_one, by_quoter)
    if quotes is None:
        raise GateRefusedError(
            f"No pool takes {amount_text(units, tokens[given])} at once. Name a smaller amount."
        )
    spent = spendable_tokens(network, quotes.swap.pool)
    worth = await read_worth(sources, spent, block)
    least = amount_text(quotes.swap.amount_out, tokens[wanted])
    return Order(
        f"swap_{block.number}",
        f"Sell {amount_text(units, tokens[given])} for about {least}",
        SwapRequest(quotes.pool, quotes.swap),
        OrderTarget(block, quotes.pool),
        spent,
        worth.usd_per_unit,
        worth.usd_per_wei,
        quotes,
        scaled_by=tokens,
        disputes=worth.disputes,
    )


def token_named(network: Network, named: str) -> Address:
    """By its address, or by a symbol that is vouched for, the network's own coin among them."""
    if named.lower().startswith("0x") and len(named) == _ADDRESS_LENGTH:
        return named.lower()
    for token in (item.token for item in named_tokens(network)):
        if token.symbol.lower() == named.lower():
            return token.address
    listed = [item.token for item in listed_tokens(network).tokens]
    known = ", ".join(sorted({token.symbol for token in listed} | {network.native_symbol}))
    raise GateRefusedError(
        f"{named!r} is no token that is vouched for on {network.title}. Known are {known}"
        " and what Uniswap lists; name any other by its address."
    )


def _units(amount: Numeral, token: Token) -> int:
    units = None if token.decimals is None else amount.scaled(token.decimals)
    if units is None or not 0 < units <= _MOST:
        raise GateRefusedError(f"{amount.text} is no amount of {token.label} that can be sold.")
    return units


def _best(
    depths: Sequence[Depth], units: int, zero_for_one: bool, by_quoter: Mapping[PoolKey, int]
) -> SwapQuotes | None:
    """The pool that surely pays most: no more is counted on than both replay and quoter say."""
    found = []
    for depth in depths:
        quote = quote_at_most(depth, units, zero_for_one=zero_for_one)
        if quote.amount_in < units or not quote.amount_out:
            continue
        key, state = depth.state.key, depth.state
        surely = min(quote.amount_out, by_quoter.get(key, quote.amount_out))
        swap = QuotedSwap(key, zero_for_one, units, surely, quote.sqrt_price_after)
        pool = PoolFacts(key, state.sqrt_price_x96, state.lp_fee)
        found.append(SwapQuotes(swap, pool, None, quote.amount_out, by_quoter))
    return max(found, key=lambda one: one.swap.amount_out, default=None)
