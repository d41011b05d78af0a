"""What a person sells for another token, through the pool of the pair that pays most."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from chain.base.units import Numeral
from chain.contracts.hooks import touches_swaps
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.facts import PoolFacts
from chain.execution.plan.requests import QuotedSwap, SwapRequest
from chain.math.price import format_amount
from chain.pools.depth import Depth, quote_at_most, quotes_across, read_pool_depths
from chain.positions.overview import Sources, tokens_at
from chain.protocols.registry import protocol_named
from chain.protocols.v4.storage import plain_pools
from chain.read.block_reader import OneBlock
from chain.tokens import Token, listed_tokens, named_tokens
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import (
    Action,
    ActionTarget,
    SwapQuotes,
    read_wallet,
    spendable_tokens,
)
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth


async def read_other_pools(sources: Sources, own: PoolKey, at: str) -> tuple[Depth, ...]:
    """The pair's other plain pools with their depth, read at one block."""
    usual = protocol_named(own.protocol).candidates
    keys = usual(sources.network, (own.currency0, own.currency1))
    return await read_pools(sources, [key for key in keys if key != own], at)


async def read_pools(sources: Sources, keys: Sequence[PoolKey], at: str) -> tuple[Depth, ...]:
    """Those of them that hold anything, with their depth."""
    from agents.lp.observe.pool_facts import REACH

    here = OneBlock(sources.client, sources.network, at)
    return await read_pool_depths(here, sources.network, keys, reach=REACH)


async def ask_quoter(
    sources: Sources, swap: QuotedSwap, own: PoolFacts, others: Sequence[Depth], at: str
) -> SwapQuotes:
    """Hold the replay against V4Quoter, and count on no more than both of them pay."""
    by_quoter = await quotes_across(
        sources.client,
        sources.network,
        [own.key, *(depth.state.key for depth in others)],
        swap.amount_in,
        zero_for_one=swap.zero_for_one,
        at=at,
    )
    states = {depth.state.key: depth.state for depth in others}
    state = states.get(swap.pool)
    if state is None and not touches_swaps(swap.pool.hooks):
        # The quoter counts the position's own liquidity, which has left when the swap runs.
        return SwapQuotes(swap, own, own.key, swap.amount_out, by_quoter)
    surely = min(swap.amount_out, by_quoter.get(swap.pool, swap.amount_out))
    return SwapQuotes(
        replace(swap, amount_out=surely),
        own if state is None else PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee),
        own.key,
        swap.amount_out,
        by_quoter,
    )


_MOST = 2**127 - 1
_ADDRESS_LENGTH = 42


async def action_to_swap(sources: Sources, amount: Numeral, sold: str, bought: str) -> Action:
    """Sell exactly this much; what comes out goes to the wallet."""
    network = sources.network
    given, wanted = token_named(network, sold), token_named(network, bought)
    if given == wanted:
        raise GateRefusedError(f"{sold} and {bought} are the same token. Name another to buy.")
    block = (await read_wallet(sources)).block
    tokens = await tokens_at(sources.without_memory(), [given, wanted], block.hash)
    units = _units(amount, tokens[given])
    keys = plain_pools(given, wanted)
    zero_for_one = given in {key.currency0 for key in keys}
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
    about = _about(quotes.swap.amount_out, tokens[wanted])
    return Action(
        f"swap_{block.number}",
        f"Sell {amount_text(units, tokens[given])} for about {about}",
        SwapRequest(quotes.pool, quotes.swap),
        ActionTarget(block, quotes.pool),
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
        f"{named!r} is not a listed token on {network.title}. Known are {known}"
        " and what Uniswap lists; name any other by its address."
    )


def _units(amount: Numeral, token: Token) -> int:
    units = None if token.decimals is None else amount.scale(token.decimals)
    if units is None or not 0 < units <= _MOST:
        raise GateRefusedError(f"{amount.text} is not an amount of {token.label} that can be sold.")
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


def _about(units: int, token: Token) -> str:
    """In a title: the figures to the last unit stand on the page."""
    if token.decimals is None:
        return amount_text(units, token)
    return f"{format_amount(units, token.decimals)} {token.label}"
