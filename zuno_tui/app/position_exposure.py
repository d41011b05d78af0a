"""A position as the trade desk sees it: the coins it holds against dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.trade.facts import HedgeFacts
from agents.trade.hedge import RangeExposure
from chain.contracts.networks import NATIVE
from chain.math.ticks import sqrt_price_at_tick
from chain.tokens.listed import TokenClass, listed_token
from chain.tokens.pair import pair_of
from zuno_tui.gate.refusal import GateRefusedError

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.positions.overview import OnePosition
    from chain.tokens import Token

_WRAPPED = {"WBTC": "BTC", "CBBTC": "BTC"}


def hedge_facts(network: Network, one: OnePosition) -> HedgeFacts:
    """Refuses what has no dollar side: what it moves with is no one coin's price."""
    position, pool = one.snapshot, one.snapshot.pool
    tokens = one.tokens[pool.key.currency0], one.tokens[pool.key.currency1]
    pair = pair_of(network, *tokens, pool.sqrt_price_x96)
    dollars = [_is_dollar(network, token) for token in (pair.base, pair.quote)]
    price = pair.price(pool.sqrt_price_x96)
    if dollars != [False, True] or price is None:
        raise GateRefusedError(
            f"#{position.token_id} holds {pair.name}: a hedge needs one coin against a dollar. "
            "See what each position holds: zuno positions"
        )
    identity = position.identity
    ticks = (identity.tick_upper, identity.tick_lower)
    bounds = [
        pair.price(sqrt_price_at_tick(tick)) for tick in (ticks if pair.inverted else ticks[::-1])
    ]
    lower, upper = (0.0 if bound is None else bound.value for bound in bounds)
    decimals = [token.decimals or 0 for token in tokens]
    exposure = RangeExposure(position.liquidity / float(10 ** (sum(decimals) / 2)), lower, upper)
    amounts = (position.amount0, position.amount1)
    if pair.inverted:
        amounts = amounts[::-1]
    coins = amounts[0] / 10 ** (pair.base.decimals or 0)
    quoted = amounts[1] / 10 ** (pair.quote.decimals or 0)
    return HedgeFacts(
        token_id=position.token_id,
        chain_id=network.chain_id,
        network=network.name,
        block=position.block.number,
        pair=pair.name,
        coin=coin_of(network, pair.base),
        delta=coins,
        gamma=exposure.gamma(price.value),
        lower=lower,
        upper=upper,
        worth_usd=coins * price.value + quoted,
        price=price.value,
        amount0=position.amount0 + position.fees0,
        amount1=position.amount1 + position.fees1,
        sqrt_price_x96=pool.sqrt_price_x96,
        wallet=position.owner,
        token=pair.base.address,
    )


def coin_of(network: Network, token: Token) -> str:
    """What venues call it: wrapped coins trade under their own name."""
    if token.address in (NATIVE, network.wrapped_native):
        return network.native_symbol
    return _WRAPPED.get(token.label.upper(), token.label.upper())


def _is_dollar(network: Network, token: Token) -> bool:
    listed = listed_token(network, token.address)
    return listed is not None and listed.kind is TokenClass.DOLLAR
