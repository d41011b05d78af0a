"""A limit order: a range on one side of the price, which trades as the price crosses it."""

import re
from fractions import Fraction

from msgspec import Struct

from chain.base.units import Numeral, NumeralError, read_numeral
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution.plan.facts import PoolFacts
from chain.execution.plan.requests import CreateRequest
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick, tick_at_sqrt_price
from chain.positions.overview import Sources, tokens_at
from chain.protocols.pool import PoolState
from chain.protocols.v4.storage import plain_pools
from chain.standing_orders.order import price_condition
from chain.tokens.pair import pair_of
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import Action, ActionTarget, read_wallet, spendable_tokens
from zuno_tui.gate.actions.range_prices import pool_name
from zuno_tui.gate.actions.swap import read_pools, token_named
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth

_LIMIT = re.compile(
    r"(?P<amount>\S+)\s+(?P<sold>\S+)\s+(?:sell|sold|buy\s+(?P<bought>\S+))\s+at\s+"
    r"\$?(?P<price>\S+)(?:\s+(?:for|with|in)\s+(?P<other>\S+))?",
    re.IGNORECASE,
)
_MOST = 2**127


class LimitWords(Struct, frozen=True):
    """`1 ETH sell at 3500`, `2,800 USDC buy ETH at 2800`."""

    amount: Numeral
    sold: str
    bought: str | None
    """None is the network's dollar."""
    price: Fraction


def limit_words(phrase: str) -> LimitWords | None:
    """None where the phrase is about a range to earn in."""
    found = _LIMIT.fullmatch(phrase.strip().rstrip("."))
    if found is None:
        return None
    try:
        amount, price = read_numeral(found["amount"]), read_numeral(found["price"])
    except NumeralError:
        return None
    return LimitWords(amount, found["sold"], found["bought"] or found["other"], price.value)


async def action_to_limit(sources: Sources, asked: LimitWords) -> Action:
    """Entered with one coin alone; it is the other once the price has crossed it."""
    network = sources.network
    given = token_named(network, asked.sold)
    wanted = _bought(network, asked)
    block = (await read_wallet(sources)).block
    tokens = await tokens_at(sources.without_memory(), [given, wanted], block.hash)
    decimals = tokens[given].decimals
    units = None if decimals is None else asked.amount.scale(decimals)
    if given == wanted or units is None or not 0 < units < _MOST or asked.price <= 0:
        raise GateRefusedError("Name an amount, a token and a price: create 1 ETH sell at 3500")
    state = await _deepest(sources, given, wanted, block.hash)
    key = state.key
    # Of ether the pool may hold its wrapped form.
    wanted = key.currency1 if key.currency0 == given else key.currency0
    tokens = await tokens_at(sources.without_memory(), [given, wanted], block.hash)
    pool = PoolFacts(key, state.sqrt_price_x96, state.lp_fee)
    pair = pair_of(network, tokens[key.currency0], tokens[key.currency1], state.sqrt_price_x96)
    rises = key.currency0 == given
    """Of what is sold the pool's price rises to the level where it is currency0."""
    level = int(
        price_condition(
            pair, asked.price, below=pair.inverted if rises else not pair.inverted
        ).sqrt_price
    )
    span = _beside(state, level, rises=rises)
    low, high = pair.bounds(span.tick_lower, span.tick_upper)
    far = span.tick_upper if rises else span.tick_lower
    filled = pair.price_text(sqrt_price_at_tick(far))
    side = "above" if rises is not pair.inverted else "below"
    spent = spendable_tokens(network, key)
    worth = await read_worth(sources, spent, block)
    sold = amount_text(units, tokens[given])
    return Action(
        f"limit_{block.number}",
        f"Sell {sold} between {low} and {high} in {pool_name(sources, pool)}",
        CreateRequest(pool, span, Amounts(units, 0) if rises else Amounts(0, units), None),
        ActionTarget(block, pool),
        spent,
        worth.usd_per_unit,
        worth.usd_per_wei,
        scaled_by=tokens,
        disputes=worth.disputes,
        left_behind=(
            f"It is all {tokens[wanted].label} once the price is {side} {filled}, at "
            f"{low} to {high} on average, and earns {state.lp_fee / 10_000:g}% of what trades "
            "through it meanwhile.",
            f"If the price comes back before you close it, it turns into {tokens[given].label} "
            "again. "
            f"To close it when filled, sign this afterwards: order close ID {side} {filled}",
        ),
    )


def _bought(network: Network, asked: LimitWords) -> Address:
    if asked.bought is not None:
        return token_named(network, asked.bought)
    if network.stable is None:
        raise GateRefusedError("For which token? Like: create 1 ETH sell at 3500 for USDC")
    return network.stable


async def _deepest(sources: Sources, given: Address, wanted: Address, at: str) -> PoolState:
    """Of the pools that take what is given; bought coin may come wrapped."""
    wrapped, keys = sources.network.wrapped_native, plain_pools(given, wanted)
    if wanted == NATIVE and wrapped is not None:
        keys += plain_pools(given, wrapped)
    depths = await read_pools(sources, keys, at)
    if not depths:
        raise GateRefusedError("No pool of this pair holds anything. See them: zuno pools")
    return max((depth.state for depth in depths), key=lambda state: state.liquidity)


def _beside(state: PoolState, level: int, *, rises: bool) -> Span:
    """One step of the pool's ticks at the level, wholly on the far side of the price."""
    spacing = state.key.tick_spacing
    at = nearest_usable_tick(tick_at_sqrt_price(level), spacing)
    span = Span(at, at + spacing) if rises else Span(at - spacing, at)
    now = tick_at_sqrt_price(state.sqrt_price_x96)
    if (rises and span.tick_lower <= now) or (not rises and span.tick_upper > now):
        raise GateRefusedError(
            "The price is there already, or past it: sell at once with zuno swap, or name a "
            "price on its other side."
        )
    return span
