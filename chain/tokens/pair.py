"""Two tokens the way people read them: which is priced in which, and ranges the same way round."""

from msgspec import Struct

from chain.contracts.networks import NATIVE, Network
from chain.math.price import ExactPrice, QuoteRank, TokenUnit, pool_price, reads_inverted
from chain.math.ticks import sqrt_price_at_tick
from chain.tokens import Token, listed_token
from chain.tokens.token import TokenClass

UNKNOWN_DECIMALS = "decimals unknown"

_NO_EDGE = 800_000
"""Ticks beyond which a range has no edge that anybody would name as a price."""


class Pair(Struct, frozen=True):
    token0: Token
    token1: Token
    inverted: bool
    """Whether currency1 is the one whose price is told."""

    @property
    def base(self) -> Token:
        return self.token1 if self.inverted else self.token0

    @property
    def quote(self) -> Token:
        return self.token0 if self.inverted else self.token1

    @property
    def name(self) -> str:
        return f"{self.base.label}/{self.quote.label}"

    def price(self, sqrt_price_x96: int) -> ExactPrice | None:
        """None when a token's decimals are unknown, and with them what a whole one is."""
        units = _unit(self.token0), _unit(self.token1)
        if units[0] is None or units[1] is None:
            return None
        return pool_price(sqrt_price_x96, units[0], units[1], inverted=self.inverted)

    def price_text(self, sqrt_price_x96: int) -> str:
        price = self.price(sqrt_price_x96)
        return UNKNOWN_DECIMALS if price is None else price.digits()

    def bounds(self, tick_lower: int, tick_upper: int) -> tuple[str, str]:
        """The range's edges as prices, the lower figure first."""
        if -tick_lower > _NO_EDGE < tick_upper:
            return "0", "∞"
        ticks = (tick_upper, tick_lower) if self.inverted else (tick_lower, tick_upper)
        low, high = (self.price_text(sqrt_price_at_tick(tick)) for tick in ticks)
        return low, high

    def progress(self, tick: int, tick_lower: int, tick_upper: int) -> float:
        """Where the price stands in the range, 0 at its lower price and 1 at its upper."""
        part = (tick - tick_lower) / (tick_upper - tick_lower)
        return 1 - part if self.inverted else part


def pair_of(network: Network, token0: Token, token1: Token, sqrt_price_x96: int) -> Pair:
    """The pair in the orientation people would choose at this price."""
    plain = Pair(token0, token1, inverted=False)
    price = plain.price(sqrt_price_x96)
    if price is None:
        return plain
    inverted = reads_inverted(price, _standing(network, token0), _standing(network, token1))
    return Pair(token0, token1, inverted)


def _unit(token: Token) -> TokenUnit | None:
    return None if token.decimals is None else TokenUnit(token.label, token.decimals)


def _standing(network: Network, token: Token) -> QuoteRank:
    if token.address in (NATIVE, network.wrapped_native):
        return QuoteRank.NATIVE
    listed = listed_token(network, token.address)
    if listed is not None and listed.kind is TokenClass.DOLLAR:
        return QuoteRank.STABLE
    return QuoteRank.ORDINARY
