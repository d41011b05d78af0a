"""A pool as facts keep it: liquidity to replay any swap on, and the way its price went."""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from agents.lp.facts import RATE_PARTS, ROOT_PARTS, ObservedPoolFacts, PricePathFacts, TokenFacts
from agents.numbers.rounding import significant
from agents.numbers.shapes import MAX_CENTER_OFFSET_TICKS, MAX_WIDTH_MULTIPLIER, MOST_BASE_SIGMAS
from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.contracts.hooks import HookPassport
from chain.contracts.networks import Address, Network
from chain.history.events import FeeTerms
from chain.history.hours import NOTHING_BEFORE, HourRow, PoolHours, PoolMoment, hour_of, paid_fees
from chain.history.volatility import WEEK
from chain.math.fees import ProtocolFee
from chain.pools.depth import Depth
from chain.prices.ladder import MARKETS
from chain.prices.price import PriceBook
from chain.tokens import Token, TokenClass, listed_token

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
    if address in prices.disputed_tokens:
        source = f"{source}, disputed"
    return Known(price.value / 10**decimals, source, price.block, price.time)


def figure(quantity: Quantity[float] | Quantity[Fraction]) -> float | None:
    """The number as every machine writes it, so that whoever computes on starts from the same."""
    return None if isinstance(quantity, Unknown) else significant(float(quantity.value))


def source_words(quantity: Quantity[object]) -> str:
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
    # Where the protocol's part is within the fee, what a swap costs is the fee alone.
    within = key.protocol_within
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
        lp_fee=state.fee_tier,
        protocol_fee=0 if within else _packed(state.protocol_fee),
        changes=near.changes,
        lowest=near.lowest,
        highest=near.highest,
        hook_danger=hook.danger.value,
        hook_powers=hook.sentences if hook.present else (),
    )


def nearest_changes(depth: Depth, most_a_side: int = MOST_CHANGES_A_SIDE) -> Depth:
    """As much of the liquidity around the price as fits; nothing is missing between its ends."""
    ticks = [tick for tick, _ in depth.changes]
    middle = bisect_right(ticks, depth.state.tick)
    first = max(0, middle - most_a_side)
    last = min(len(ticks), middle + most_a_side)
    return Depth(
        state=depth.state,
        changes=depth.changes[first:last],
        lowest=ticks[first] if first > 0 else depth.lowest,
        highest=ticks[last - 1] if last < len(ticks) else depth.highest,
    )


def _packed(fee: ProtocolFee) -> int:
    """The inverse of `unpack_protocol_fee`."""
    return fee.zero_for_one | fee.one_for_zero << 12


MOST_STEPS = 1_000
"""Of the day's swaps in all pools of a context: twelve pools must fit into one envelope."""

_LIQUIDITY_PARTS = 10**6
_ROOT_ONE = 1 << 96


def day_path(
    hours: PoolHours, terms: FeeTerms, sqrt_price_x96: int, most: int
) -> PricePathFacts | None:
    """Swap by swap; where there are more than so many, several in a row are one step."""
    end, day = hours.last.timestamp, hours.last_day()
    if not day:
        return None
    older = [row.close for row in hours.rows if row.hour < hours.recent_since][-1:]
    before = PoolMoment(older[0]) if older else NOTHING_BEFORE
    for swap in hours.recent[: len(hours.recent) - len(day)]:
        before = before.after(swap)
    opening = before.sqrt_price_x96 or day[0].sqrt_price_x96
    at_once = -(-len(day) // most)
    steps = []
    for place in range(0, len(day), at_once):
        together = day[place : place + at_once]
        roots = [before.sqrt_price_x96 or together[0].sqrt_price_x96]
        growth = met = 0.0
        for swap in together:
            paid = paid_fees(swap, terms, before)
            rate = _rate(paid.growth0, paid.growth1, swap.sqrt_price_x96)
            growth, met = growth + rate, met + rate * (swap.liquidity or before.liquidity)
            roots.append(swap.sqrt_price_x96)
            before = before.after(swap)
        liquidity = met / growth if growth else before.liquidity
        steps.append(
            (end - together[-1].time, roots[-1], min(roots), max(roots), growth, liquidity)
        )
    return _path(opening, sqrt_price_x96, len(day), steps)


def week_path(hours: PoolHours, sqrt_price_x96: int) -> PricePathFacts | None:
    """The last 168 hours of the calendar in which anybody swapped, a step each."""
    end = hours.last.timestamp
    begin = hour_of(end) - (WEEK - 1) * HOUR
    rows = [row for row in hours.rows if row.hour >= begin]
    if not rows:
        return None
    older = [row.close for row in hours.rows if row.hour < begin][-1:]
    opening = older[0] if older else rows[0].close
    steps, before = [], opening
    for row in rows:
        ended = max(0, end - (row.hour + HOUR - 1))
        growth = _rate(row.growth0, row.growth1, row.close)
        low, high = min(before, row.low), max(before, row.high)
        steps.append((ended, row.close, low, high, growth, _met(row, growth)))
        before = row.close
    return _path(opening, sqrt_price_x96, sum(row.swaps for row in rows), steps)


def _path(
    opening: int,
    sqrt_price_x96: int,
    swaps: int,
    steps: Sequence[tuple[int, int, int, int, float, float]],
) -> PricePathFacts:
    def parts(root: int) -> int:
        return (root - sqrt_price_x96) * ROOT_PARTS // sqrt_price_x96

    unit = max(1, int(max(step[5] for step in steps)) // _LIQUIDITY_PARTS)
    return PricePathFacts(
        opening=parts(opening),
        liquidity_unit=unit,
        swaps=swaps,
        steps=tuple(
            (
                age,
                parts(close),
                parts(low),
                parts(high),
                round(rate * RATE_PARTS),
                int(liquidity) // unit,
            )
            for age, close, low, high, rate, liquidity in steps
        ),
    )


def _rate(growth0: float, growth1: float, sqrt_price_x96: int) -> float:
    """What liquidity was paid as a part of its full-range worth, by the way of the price."""
    root = sqrt_price_x96 / _ROOT_ONE
    return (growth0 * root + growth1 / root) / 2


def _met(row: HourRow, growth: float) -> float:
    """The liquidity that swaps of an hour met: what was paid over what a unit of it was paid."""
    root = row.close / _ROOT_ONE
    paid = row.fees0 * root + row.fees1 / root
    return paid / (2 * growth) if growth else 0.0
