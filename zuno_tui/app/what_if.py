"""`zuno what-if SYMBOL PCT`: every position at another price, by the math of its range."""

from fractions import Fraction
from math import isqrt

from msgspec import Struct

from chain.base.units import Unknown
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.positions.overview import Overview
from chain.prices.price import WorthUnit
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens import Token
from chain.tokens.pair import pair_of
from zuno_tui.app.positions import wallet_overview
from zuno_tui.app.price import token_called
from zuno_tui.app.session import Session
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.pages.cells import pool_title, total
from zuno_tui.present.pages.what_if import PositionAtPrice, WhatIfReport, what_if_page
from zuno_tui.prompt.slots import names_symbol

_WHOLE = 100


class PositionThen(Struct, frozen=True):
    """A position after a price has changed, its fees left as they are."""

    sqrt_price: int
    amount0: int
    amount1: int
    in_range: bool


def position_then(position: PositionSnapshot, factor0: Fraction, factor1: Fraction) -> PositionThen:
    """Where each token's price is multiplied by its factor."""
    sqrt_price = moved_sqrt_price(position.pool.sqrt_price_x96, factor0, factor1)
    identity = position.identity
    edges = sqrt_price_at_tick(identity.tick_lower), sqrt_price_at_tick(identity.tick_upper)
    amounts = amounts_for_liquidity(sqrt_price, *edges, position.liquidity, round_up=False)
    tick = tick_at_sqrt_price(sqrt_price)
    inside = bool(position.liquidity) and identity.tick_lower <= tick < identity.tick_upper
    return PositionThen(sqrt_price, *amounts, inside)


def moved_sqrt_price(sqrt_price: int, factor0: Fraction, factor1: Fraction) -> int:
    moved = sqrt_price**2 * factor0 / factor1
    return isqrt(moved.numerator // moved.denominator)


async def positions_at(
    session: Session, symbol: str, change: str | None, level: str | None
) -> CommandAnswer:
    if (change is None) == (level is None):
        raise PhraseError(
            "Say by how many percent, or at which price: zuno what-if ETH -10, "
            "zuno what-if ETH --at 2500",
            "",
        )
    async with session.sources() as sources:
        overview = await wallet_overview(session, sources)
    factor = _factor(session, overview, symbol, change, level)
    rows = tuple(
        _at_price(session, overview, position, symbol, factor)
        for position in overview.wallet.positions
    )
    asked = WhatIfReport(
        network=session.network.name,
        chain_id=session.network.chain_id,
        block=overview.wallet.block.number,
        symbol=symbol.upper(),
        change_percent=round(float((factor - 1) * _WHOLE), 6),
        unit=session.settings.unit,
        now=total([row.now for row in rows]),
        then=total([row.then for row in rows]),
        positions=rows,
    )
    view = what_if_page(asked, session.network.title)
    return CommandAnswer((), document(asked), view=view)


def _factor(
    session: Session, overview: Overview, symbol: str, change: str | None, level: str | None
) -> Fraction:
    if change is not None:
        return 1 + Fraction(change) / _WHOLE
    token = token_called(session.network, symbol)
    price = overview.prices.price(token.address)
    if isinstance(price, Unknown) and names_symbol(symbol, "ETH"):
        price = overview.prices.ether
    if isinstance(price, Unknown) or price.value <= 0:
        raise PhraseError(
            f"What {token.label} is worth now is unknown, so no change can be counted from it. "
            f"Say it in percent: zuno what-if {symbol} -10",
            "",
        )
    return Fraction(level or 0) / price.value


def _at_price(
    session: Session, overview: Overview, position: PositionSnapshot, symbol: str, factor: Fraction
) -> PositionAtPrice:
    key, prices, unit = position.pool.key, overview.prices, session.settings.unit
    tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
    factors = [_factor_of(token, symbol, factor) for token in tokens]
    # What is counted in ether is counted in the ether of then.
    unit_factor = factor if unit is WorthUnit.ETH and names_symbol(symbol, "ETH") else Fraction(1)
    then = position_then(position, factors[0], factors[1])
    pair = pair_of(session.network, *tokens, position.pool.sqrt_price_x96)
    after = position.collectable.plus(Amounts(then.amount0, then.amount1))
    price = pair.price(then.sqrt_price)
    return PositionAtPrice(
        token_id=position.ref,
        pool=pool_title(pair, key),
        price_then=None if price is None else price.value,
        in_range_now=position.in_range and position.liquidity > 0,
        in_range_then=then.in_range,
        token0=tokens[0],
        token1=tokens[1],
        amount0_then=after.amount0,
        amount1_then=after.amount1,
        now=total([prices.value(*of, unit) for of in zip(tokens, position.inside, strict=True)]),
        then=total(
            [
                prices.value(token, amount, unit).map((by / unit_factor).__mul__)
                for token, amount, by in zip(tokens, after, factors, strict=True)
            ]
        ),
    )


def _factor_of(token: Token, symbol: str, factor: Fraction) -> Fraction:
    named = token.verified and names_symbol(symbol, token.symbol)
    return factor if named else Fraction(1)
