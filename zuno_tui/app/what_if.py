"""`zuno what-if SYMBOL PCT`: every position at another price, by the math of its range."""

from fractions import Fraction
from math import isqrt

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.positions.overview import Overview
from chain.protocols.reference import position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens import Token
from chain.tokens.pair import pair_of
from zuno_tui.app.positions import wallet_overview
from zuno_tui.app.price import token_called
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, table
from zuno_tui.present.terminal import columns
from zuno_tui.present.words import amount_of, number, signed_money, worth
from zuno_tui.prompt.phrase_error import PhraseError
from zuno_tui.prompt.slots import names_symbol

_COLUMNS = columns("#>", "POOL", "PRICE THEN>", "STATE", "HOLDS THEN", "NOW>", "THEN>", "CHANGE>")
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
    rows = [
        _PositionRow(session, overview, position, symbol, factor)
        for position in overview.wallet.positions
    ]
    percent = f"{float((factor - 1) * _WHOLE):+.4g}%"
    now, then = _sum([row.now for row in rows]), _sum([row.then for row in rows])
    unit = session.settings.unit
    difference = combine(Fraction.__sub__, then, now)
    return CommandAnswer(
        heading=(
            f"{session.network.title} · block {overview.wallet.block.number:,} · "
            f"{symbol.upper()} {percent}, all other prices as they are",
            f"Total {worth(now, unit)} now, {worth(then, unit)} then, "
            f"{signed_money(difference, unit)}",
        ),
        lines=tuple(table(_COLUMNS, [row.cells() for row in rows])) if rows else (),
        document={
            "network": session.network.name,
            "chainId": session.network.chain_id,
            "block": overview.wallet.block.number,
            "symbol": symbol.upper(),
            "changePercent": round(float((factor - 1) * _WHOLE), 6),
            "unit": unit.value,
            "now": number(now),
            "then": number(then),
            "positions": [row.document() for row in rows],
        },
    )


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


def _sum(values: list[Quantity[Fraction]]) -> Quantity[Fraction]:
    total = Fraction(0)
    for value in values:
        if isinstance(value, Unknown):
            return value
        total += value.value
    return Known(total, "positions")


class _PositionRow:
    def __init__(
        self,
        session: Session,
        overview: Overview,
        position: PositionSnapshot,
        symbol: str,
        factor: Fraction,
    ) -> None:
        key = position.pool.key
        self._tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
        self._unit = session.settings.unit
        self._position = position
        factors = [_factor_of(token, symbol, factor) for token in self._tokens]
        self._then = position_then(position, factors[0], factors[1])
        self._pair = pair_of(session.network, *self._tokens, position.pool.sqrt_price_x96)
        held = position.inside
        after = position.waiting.plus(Amounts(self._then.amount0, self._then.amount1))
        prices, unit = overview.prices, self._unit
        self.now = _sum([prices.value(*of, unit) for of in zip(self._tokens, held, strict=True)])
        self.then = _sum(
            [
                prices.value(token, amount, unit).map(by.__mul__)
                for token, amount, by in zip(self._tokens, after, factors, strict=True)
            ]
        )

    @property
    def _state(self) -> str:
        if not self._position.liquidity:
            return "empty"
        return "in range" if self._then.in_range else "out of range"

    def cells(self) -> tuple[str, ...]:
        amounts = zip((self._then.amount0, self._then.amount1), self._tokens, strict=True)
        return (
            position_name(self._position.ref),
            self._pair.name,
            self._pair.price_text(self._then.sqrt_price),
            self._state,
            " + ".join(f"{amount_of(amount, token)} {token.label}" for amount, token in amounts),
            worth(self.now, self._unit),
            worth(self.then, self._unit),
            signed_money(combine(Fraction.__sub__, self.then, self.now), self._unit),
        )

    def document(self) -> dict[str, Json]:
        price = self._pair.price(self._then.sqrt_price)
        return {
            "tokenId": position_name(self._position.ref),
            "pair": self._pair.name,
            "priceThen": None if price is None else price.value,
            "inRangeNow": self._position.in_range,
            "inRangeThen": self._then.in_range,
            "amount0Then": str(self._then.amount0),
            "amount1Then": str(self._then.amount1),
            "now": number(self.now),
            "then": number(self.then),
        }


def _factor_of(token: Token, symbol: str, factor: Fraction) -> Fraction:
    named = token.verified and names_symbol(symbol, token.symbol)
    return factor if named else Fraction(1)
