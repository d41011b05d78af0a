"""A position as the trade desk sees it: which coins of it move with a contract's price."""

from collections.abc import Mapping

from agents.trade.facts import HedgeFacts
from agents.trade.opinions import RangeExposure
from chain.base.units import Known
from chain.contracts.networks import Address, Network
from chain.exchange.public.binance import BinancePublic
from chain.exchange.public.market import NoContractError, contract_symbol
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import OnePosition, Sources, read_one
from chain.positions.performance import read_performance
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens import Token
from chain.tokens.pair import Pair, pair_of
from zuno_tui.app.inspect import MissingPositionError
from zuno_tui.app.session import Session
from zuno_tui.features.trade.hedges import coin_of, is_dollar, is_rated
from zuno_tui.gate.refusal import GateRefusedError


def hedge_legs(
    network: Network, position: PositionSnapshot, known: Mapping[Address, Token]
) -> tuple[HedgeFacts, ...]:
    """Each coin it holds that is no dollar, priced in the pool's other token."""
    pool = position.pool
    tokens = known[pool.key.currency0], known[pool.key.currency1]
    pair = pair_of(network, *tokens, pool.sqrt_price_x96)
    coins = [
        told_pair for told_pair in (pair, _flipped(pair)) if not is_dollar(network, told_pair.base)
    ]
    if not coins or pair.price(pool.sqrt_price_x96) is None:
        raise GateRefusedError(
            f"{position_label(position.ref)} holds {pair.name}: there is no coin in it whose price "
            "could be hedged. See what each position holds: zuno positions"
        )
    return tuple(_leg(network, position, coin, alone=len(coins) == 1) for coin in coins)


def _flipped(pair: Pair) -> Pair:
    return Pair(pair.token0, pair.token1, not pair.inverted)


def _leg(network: Network, position: PositionSnapshot, pair: Pair, *, alone: bool) -> HedgeFacts:
    """The pair's first token, and how much of it the position holds at which price."""
    pool, identity = position.pool, position.identity
    price = pair.price(pool.sqrt_price_x96)
    assert price is not None
    ticks = (identity.tick_upper, identity.tick_lower)
    bounds = [
        pair.price(sqrt_price_at_tick(tick)) for tick in (ticks if pair.inverted else ticks[::-1])
    ]
    lower, upper = (0.0 if bound is None else bound.value for bound in bounds)
    decimals = (pair.base.decimals or 0, pair.quote.decimals or 0)
    exposure = RangeExposure(position.liquidity / float(10 ** (sum(decimals) / 2)), lower, upper)
    amounts = (position.amount0, position.amount1)
    if pair.inverted:
        amounts = amounts[::-1]
    held, beside = (amount / 10**places for amount, places in zip(amounts, decimals, strict=True))
    return HedgeFacts(
        token_id=position.ref,
        chain_id=network.chain_id,
        network=network.name,
        block=position.block.number,
        pair=pair_of(network, pair.token0, pair.token1, pool.sqrt_price_x96).name,
        coin=coin_of(network, pair.base),
        delta=held,
        gamma=exposure.gamma(price.value),
        lower=lower,
        upper=upper,
        worth_usd=held * price.value + beside,
        price=price.value,
        amount0=position.inside.amount0,
        amount1=position.inside.amount1,
        sqrt_price_x96=pool.sqrt_price_x96,
        wallet=position.owner,
        token=pair.base.address,
        rated=is_rated(pair.base),
        other_coin="" if alone else coin_of(network, pair.quote),
    )


async def in_contracts(
    legs: tuple[HedgeFacts, ...], market: BinancePublic
) -> tuple[HedgeFacts, ...]:
    """The same in dollars, counted in what the contracts are of; coins of one contract are one.

    What the venue has no contract of is left out, and the rest says so.
    """
    if len(legs) == 1:
        return (await _counted(legs[0], legs[0].price, market) if legs[0].rated else legs[0],)
    if all(leg.rated for leg in legs):
        raise GateRefusedError(
            f"{position_label(legs[0].token_id)} holds {legs[0].pair}: neither has a price of its "
            f"own on {market.name}, so what they are worth in {legs[0].coin} is not known."
        )
    traded = [leg for leg in legs if await _is_traded(leg.coin, market)]
    if not traded:
        coins = " and ".join(leg.coin for leg in legs)
        raise GateRefusedError(
            f"{market.name} has no contract of {coins}: "
            f"{position_label(legs[0].token_id)} cannot be hedged there."
        )
    counted = [await _counted(leg, await _dollars_a_coin(leg, market), market) for leg in traded]
    if len(counted) == 1:
        left = {"other_coin": "", "unhedged_coin": counted[0].other_coin}
        return (counted[0].model_copy(update=left),)
    if counted[0].coin == counted[1].coin:
        return (_as_one(*counted),)
    return tuple(counted)


async def _is_traded(coin: str, market: BinancePublic) -> bool:
    try:
        await market.rules(contract_symbol(coin))
    except NoContractError:
        return False
    return True


async def _dollars_a_coin(leg: HedgeFacts, market: BinancePublic) -> float:
    """Of a staked coin by what it stands in the pool against a coin that has a mark itself."""
    coin = leg.other_coin if leg.rated else leg.coin
    mark = (await market.funding(contract_symbol(coin))).mark
    return leg.price * mark if leg.rated else mark


async def _counted(leg: HedgeFacts, dollars: float, market: BinancePublic) -> HedgeFacts:
    """At what one of its coins is worth in dollars, and the contract's own mark."""
    mark = (await market.funding(contract_symbol(leg.coin))).mark
    rate, unit = dollars / mark, dollars / leg.price
    return leg.model_copy(
        update={
            "rate": rate,
            "delta": leg.delta * rate,
            "gamma": leg.gamma * rate * rate / unit,
            "lower": leg.lower * unit / rate,
            "upper": leg.upper * unit / rate,
            "price": mark,
            "worth_usd": leg.worth_usd * unit,
        }
    )


def _as_one(first: HedgeFacts, second: HedgeFacts) -> HedgeFacts:
    """What one turns into the other inside the pool stays the same to the contract's price."""
    return first.model_copy(
        update={
            "delta": first.delta + second.delta,
            "gamma": 0.0,
            "lower": 0.0,
            "upper": 0.0,
            "other_rate": second.rate,
            "other_coin": "",
        }
    )


async def read_position(session: Session, sources: Sources, ref: PositionRef) -> OnePosition:
    position = await read_one(sources, ref, session.settings.unit)
    if position is None:
        raise MissingPositionError(
            f"{session.network.title} has no position {position_label(ref)}, or it was burned."
        )
    return position


async def paid_in_a_day(sources: Sources, position: OnePosition) -> dict[str, float]:
    """What its pool paid and arbitrage took in the past 24 hours; nothing of what is not known."""
    snapshot = position.snapshot
    performance = await read_performance(sources, [snapshot])
    token = position.tokens[snapshot.pool.key.currency1]
    gains = performance.gains(snapshot.ref, token, position.prices, WorthUnit.USD)
    found = {"fees_a_day_usd": gains.fees_a_day, "lvr_a_day_usd": gains.lvr_a_day}
    return {
        name: float(f"{float(paid.value):.6g}")
        for name, paid in found.items()
        if isinstance(paid, Known)
    }


async def position_now(
    session: Session, market: BinancePublic, ref: PositionRef, coin: str
) -> HedgeFacts | None:
    """What it holds of a coin; None where it is no more, or holds no such coin."""
    async with session.sources() as sources:
        position = await read_one(sources, ref, session.settings.unit)
    if position is None or position.snapshot.liquidity == 0:
        return None
    legs = await in_contracts(
        hedge_legs(session.network, position.snapshot, position.tokens), market
    )
    return next((leg for leg in legs if leg.coin == coin), None)
