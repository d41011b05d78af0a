"""A pool as facts keep it: enough of its liquidity to replay any swap a candidate may need."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.lp.facts import ObservedPoolFacts, TokenFacts
from agents.numbers.rounding import significant
from agents.numbers.shapes import MAX_CENTER_OFFSET_TICKS, MAX_WIDTH_MULTIPLIER, MOST_BASE_SIGMAS
from chain.base.quantity import Known, Quantity, Unknown
from chain.pools.depth import Depth
from chain.prices.ladder import MARKETS
from chain.tokens import Token, TokenClass, listed_token

if TYPE_CHECKING:
    from chain.contracts.hooks import HookPassport
    from chain.contracts.networks import Address, Network
    from chain.math.fees import ProtocolFee
    from chain.prices.price import PriceBook

COIN_DECIMALS = 18
"""Of every network's own coin: a wei is defined so."""


class ValuedToken(Struct, frozen=True):
    facts: TokenFacts
    usd_per_unit: Quantity[Fraction]


def valued_token(network: Network, token: Token, prices: PriceBook) -> ValuedToken:
    listed = listed_token(network, token.address)
    unit = usd_per_unit(network, token.address, token.decimals, prices)
    return ValuedToken(
        TokenFacts(
            address=token.address,
            decimals=token.decimals,
            kind=(TokenClass.OTHER if listed is None else listed.kind).value,
            usd_per_unit=figure(unit),
        ),
        unit,
    )


def usd_per_unit(
    network: Network, address: Address, decimals: int | None, prices: PriceBook
) -> Quantity[Fraction]:
    """Dollars for the smallest unit, with a source that repeats no name a token gave itself."""
    price = prices.price(address)
    if decimals is None:
        return Unknown("its contract gives no usable decimals")
    if isinstance(price, Unknown):
        if listed_token(network, address) is None:
            return Unknown("the market does not price it, and pools price only listed tokens")
        return Unknown("neither the market nor a pool that is deep enough prices it")
    if price.source in MARKETS:
        source = price.source
    elif address == network.stable:
        source = "counted as one dollar"
    else:
        source = "plain pools of the network"
    if address in prices.disputed:
        source = f"{source}, disputed"
    return Known(price.value / 10**decimals, source, price.block, price.time)


def figure(quantity: Quantity[float] | Quantity[Fraction]) -> float | None:
    """The number as every machine writes it, so that whoever computes on starts from the same."""
    return None if isinstance(quantity, Unknown) else significant(float(quantity.value))


def said(quantity: Quantity[object]) -> str:
    """Who says so, and when."""
    if isinstance(quantity, Unknown):
        return f"unknown: {quantity.reason}"
    if quantity.block is not None:
        return f"{quantity.source}, block {quantity.block}"
    if quantity.time is not None:
        return f"{quantity.source}, Unix time {quantity.time:.0f}"
    return quantity.source


WIDEST_SIGMA_TICKS = 875
"""A day's deviation up to which the widest range lies within reach: nine per cent."""
REACH = int(MOST_BASE_SIGMAS * MAX_WIDTH_MULTIPLIER * WIDEST_SIGMA_TICKS) + MAX_CENTER_OFFSET_TICKS
MOST_CHANGES_A_SIDE = 250
"""Bounds the envelope: twelve pools with more ticks than this would not fit into one."""


def pool_facts(depth: Depth, hook: HookPassport) -> ObservedPoolFacts:
    state = depth.state
    key = state.key
    near = nearest_changes(depth)
    return ObservedPoolFacts(
        pool_id=state.pool_id,
        currency0=key.currency0,
        currency1=key.currency1,
        fee=key.fee,
        tick_spacing=key.tick_spacing,
        hooks=key.hooks,
        sqrt_price_x96=state.sqrt_price_x96,
        tick=state.tick,
        liquidity=state.liquidity,
        lp_fee=state.lp_fee,
        protocol_fee=_packed(state.protocol_fee),
        changes=near.changes,
        lowest=near.lowest,
        highest=near.highest,
        hook_danger=hook.danger.value,
        hook_powers=hook.sentences if hook.present else (),
    )


def nearest_changes(depth: Depth) -> Depth:
    """As much of the liquidity around the price as fits; nothing is missing between its ends."""
    ticks = [tick for tick, _ in depth.changes]
    middle = bisect_right(ticks, depth.state.tick)
    first = max(0, middle - MOST_CHANGES_A_SIDE)
    last = min(len(ticks), middle + MOST_CHANGES_A_SIDE)
    return Depth(
        state=depth.state,
        changes=depth.changes[first:last],
        lowest=ticks[first] if first > 0 else depth.lowest,
        highest=ticks[last - 1] if last < len(ticks) else depth.highest,
    )


def _packed(fee: ProtocolFee) -> int:
    """The inverse of `unpack_protocol_fee`."""
    return fee.zero_for_one | fee.one_for_zero << 12
