"""What calls do to positions and pools, said the same way of every protocol."""

from msgspec import Struct

from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import CalldataPool
from chain.math.drift import Span
from chain.math.liquidity import Amounts, liquidity_for_amounts
from chain.protocols.reference import PositionRef


class Withdrawal(Struct, frozen=True):
    """Liquidity taken out of a position, and all that was owed to it besides."""

    ref: PositionRef
    liquidity: int | None
    """None is all of it, nothing the fees alone."""
    least: Amounts
    """Besides what is owed."""
    ends: bool = False
    """Whether the position is no more."""
    beside_coin: Address | None = None
    """The token that comes as it is, where the other, the wrapped coin, comes as the coin."""

    def paid_as(self, token: Address) -> Address:
        return token if self.beside_coin in (None, token) else NATIVE


class Provision(Struct, frozen=True):
    """Liquidity put into a range, of a position that is there or of a new one."""

    ref: PositionRef | None
    pool: CalldataPool | None
    """Of a new position; of another the bytes do not name it."""
    span: Span | None
    liquidity: int | None
    """None where the price decides it, by what is given."""
    most: Amounts
    least: Amounts = Amounts(0, 0)
    owner: Address | None = None
    made: int | None = None
    """Where the price decides it, what a trial made of what is given."""

    def liquidity_at(self, sqrt_price: int, span: Span) -> int:
        known = self.liquidity if self.made is None else self.made
        if known is not None:
            return known
        return liquidity_for_amounts(sqrt_price, *span.sqrt_prices, *self.most)


class Sale(Struct, frozen=True):
    """A swap of one exact input."""

    pool: CalldataPool
    zero_for_one: bool
    amount_in: int
    amount_out_minimum: int


Effect = Withdrawal | Provision | Sale
