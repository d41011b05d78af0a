"""What can be asked of the builder, one record for each kind of step towards the chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.execution.building_facts import PoolFacts, PositionFacts, Span
    from chain.math.liquidity import Amounts
    from chain.networks import Address
    from chain.pool_key import PoolKey


@dataclass(frozen=True, slots=True)
class QuotedSwap:
    """A swap of one exact input, as the pool would pay it once the position has left."""

    pool: PoolKey
    zero_for_one: bool
    amount_in: int
    amount_out: int
    sqrt_price_after: int


@dataclass(frozen=True, slots=True)
class ReRange:
    """Leave a range for another one of the same pool."""

    position: PositionFacts
    span: Span
    swap: QuotedSwap | None
    liquidity: int | None = None
    """To enter with after the swap; None is as much as leaving is sure to pay for."""


@dataclass(frozen=True, slots=True)
class Close:
    """Take everything out and end the token."""

    position: PositionFacts


@dataclass(frozen=True, slots=True)
class Collect:
    position: PositionFacts


@dataclass(frozen=True, slots=True)
class Decrease:
    position: PositionFacts
    percent: int


@dataclass(frozen=True, slots=True)
class Increase:
    position: PositionFacts
    budget: Amounts
    """The most that may leave the wallet."""


@dataclass(frozen=True, slots=True)
class Compound:
    """Put the fees back to work without anything leaving the wallet."""

    position: PositionFacts


@dataclass(frozen=True, slots=True)
class Create:
    pool: PoolFacts
    span: Span
    budget: Amounts
    swap: QuotedSwap | None


@dataclass(frozen=True, slots=True)
class Wrap:
    amount: int


@dataclass(frozen=True, slots=True)
class Unwrap:
    amount: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one contract may move of a token, by leave of the token itself or of Permit2."""

    token: Address
    spender: Address
    through_permit2: bool


@dataclass(frozen=True, slots=True)
class Revoke:
    """Take allowances back, one step each."""

    allowances: tuple[Allowance, ...]


PositionRequest = ReRange | Close | Collect | Decrease | Increase | Compound
WalletRequest = Wrap | Unwrap | Revoke
Request = PositionRequest | Create | WalletRequest
