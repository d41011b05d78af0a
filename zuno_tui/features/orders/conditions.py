"""Whether what an order waits for is so now: by each endpoint's own price, past and prices."""

from __future__ import annotations

from msgspec.structs import replace

from agents.monitor.rules.worth_risks import LossReader
from chain.base.units import Unknown, minute_text, usd
from chain.math.price import format_amount
from chain.positions.overview import Sources, tokens_at
from chain.prices.ladder import market_prices, read_prices
from chain.protocols.snapshot import PositionSnapshot
from chain.standing_orders.call import OrderCall, OrderRefusedError
from chain.standing_orders.entries import is_covered, span_of
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OutOfRange,
    PricePast,
    StandingOrder,
    StandingProgress,
)
from chain.standing_orders.seal import bound_level, fault_of, is_sealed, unsealed_words
from zuno_tui.features.orders.sight import OrderSight, Seen
from zuno_tui.features.orders.terms import LEAST_HOLD
from zuno_tui.features.orders.witnesses import WitnessAnswer, Witnesses
from zuno_tui.gate.agreement import Witness

_MARKET_BIPS = 100
"""How far the market elsewhere may still be from a level that the pool has passed."""


def as_signed(
    order: StandingOrder, call: OrderCall, seen: Seen, witnesses: Witnesses
) -> StandingOrder:
    """What was signed: as its file says it where that is sealed, else as far as the signed minimum
    binds the price. Refused where neither says when."""
    if fault := fault_of(order, call):
        raise OrderRefusedError(fault)
    if is_sealed(order, call):
        return order

    def level_of(sight: OrderSight) -> PricePast | None:
        position = sight.position
        fits = position is not None and str(position.liquidity) == order.liquidity
        if position is None or not fits or sight.hook_code != order.hook_code:
            return None
        return bound_level(call, position)

    told = zip(seen.witnesses, map(level_of, seen.sights), strict=True)
    level = witnesses.common("the position", [WitnessAnswer(*pair) for pair in told])
    if level is None:
        raise OrderRefusedError(unsealed_words(order, call))
    return replace(order, condition=level, hold_seconds=LEAST_HOLD)


async def find_lack(
    order: StandingOrder,
    call: OrderCall,
    progress: StandingProgress,
    *,
    seen: Seen,
    witnesses: Witnesses,
) -> str | None:
    """What it waits for, in a sentence where its condition alone does not say it; None where
    nothing is lacking."""
    if not seen.agrees(lambda sight: _is_possible(order, call, sight.position)):
        return next((_what_covers(order, call, position) for position in seen.positions), "")
    worths: list[float] = []
    match order.condition:
        case PricePast() as condition:
            return await _price_lacks(order, condition, seen, witnesses.sources)
        case OutOfRange():
            return None if seen.agrees(lambda sight: sight.out_of_range) else ""
        case LossOver(bips):

            async def judge(sources: Sources, position: PositionSnapshot) -> bool:
                reader = LossReader(sources, sources.memory)
                losses = await reader.read([position], seen.clock.time)
                if position.ref in losses.unknown:
                    raise OrderRefusedError(losses.unknown[position.ref])
                return losses.shares[position.ref] * 10_000 > bips

        case FeesOver(micro_usd, seconds):
            last = progress.last_done
            if last is not None and seen.clock.time - last < seconds:
                return f"The next time is from {minute_text(int(last) + seconds)} on."

            async def judge(sources: Sources, position: PositionSnapshot) -> bool:
                worths.append(await _fees_usd(sources, position))
                return worths[-1] * 1e6 > micro_usd

    of = dict(zip((witness.host for witness in seen.witnesses), seen.sights, strict=True))

    async def ask_witness(witness: Witness) -> bool:
        position = of[witness.host].position
        return position is not None and await judge(witnesses.sources_of(witness), position)

    # Each on its own reading; enough must be able to judge, and agree.
    answers = await witnesses.each(ask_witness, seen.witnesses)
    if witnesses.common("the loss or fees", answers):
        return None
    return f"Its fees are worth {usd(worths[-1])} now." if worths else ""


async def _price_lacks(
    order: StandingOrder, condition: PricePast, seen: Seen, sources: Sources
) -> str | None:
    here = seen.agrees(
        lambda sight: (
            sight.position is not None and condition.is_met(sight.position.pool.sqrt_price_x96)
        )
    )
    if not here:
        return ""
    agrees = await _market_agrees(sources, order, condition, seen)
    return None if agrees else "The market elsewhere is more than 1% away from its price."


def _what_covers(order: StandingOrder, call: OrderCall, position: PositionSnapshot) -> str:
    """What a compound lacks: the price it was signed for, or fees for its step."""
    if call.entry is None or call.traits.shifts or order.decimals is None:
        return ""
    needed = span_of(position).holds(
        position.pool.sqrt_price_x96, call.entry.liquidity, round_up=True
    )
    if any(need > most for need, most in zip(needed, call.entry.most, strict=True)):
        return "The price is outside the band it was signed for: it waits until it is back."
    lacks = [
        f"{format_amount(there, decimals, 4)} of {format_amount(need, decimals, 4)} {symbol}"
        for need, there, decimals, symbol in zip(
            needed, (position.fees0, position.fees1), order.decimals, order.pair, strict=True
        )
        if need > there
    ]
    return f"Its fees do not cover the step yet: {', '.join(lacks)}." if lacks else ""


def _is_possible(order: StandingOrder, call: OrderCall, position: PositionSnapshot | None) -> bool:
    """Whether the position is filled, and its fees cover the step at a price it was signed for."""
    if position is None or (call.traits.sized and order.fits(position.liquidity) is None):
        return False
    entry = call.entry
    return entry is None or call.traits.shifts or is_covered(entry, position)


async def _market_agrees(
    sources: Sources, order: StandingOrder, condition: PricePast, seen: Seen
) -> bool:
    """Whether the market elsewhere is past the level, or about there; nobody else is asked."""
    if not seen.positions or sources.coingecko is None or order.decimals is None:
        return True
    key = seen.positions[0].pool.key
    pair = (key.currency0, key.currency1)
    prices = await market_prices(sources.coingecko, sources.network, pair)
    price0, price1 = prices.get(pair[0]), prices.get(pair[1])
    if (
        price0 is None
        or price1 is None
        or isinstance(price0, Unknown)
        or isinstance(price1, Unknown)
        or not price1.value
    ):
        return True
    # Units of currency1 for one of currency0, as the pool counts.
    scale = float(10 ** order.decimals[1]) / float(10 ** order.decimals[0])
    market = float(price0.value / price1.value) * scale
    level = float(int(condition.sqrt_price) ** 2 / (1 << 192))
    margin = 1 + _MARKET_BIPS / 10_000
    return market <= level * margin if condition.falls else market >= level / margin


async def _fees_usd(sources: Sources, position: PositionSnapshot) -> float:
    key = position.pool.key
    pair = (key.currency0, key.currency1)
    prices = await read_prices(sources.client, sources.network, pair, coingecko=sources.coingecko)
    tokens = await tokens_at(sources, pair, position.block.hash)
    fees = position.fees
    if isinstance(fees, Unknown):
        raise OrderRefusedError(f"The fees are unknown now: {fees.reason}.")
    worth = 0.0
    for currency, amount in zip(pair, fees.value, strict=True):
        value = prices.value(tokens[currency], amount)
        if isinstance(value, Unknown):
            raise OrderRefusedError(f"The fees have no price now: {value.reason}.")
        worth += float(value.value)
    return worth
