"""What became of a position since it was opened, against simply holding what went in."""

from fractions import Fraction

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine
from chain.math.liquidity import Amounts
from chain.positions.circumstances import NOT_ADDED_UP, LiquidityChange, total
from chain.positions.snapshot import STORAGE, PositionSnapshot

_PRICE_DENOMINATOR = 1 << 192


class SinceEntry(Struct, frozen=True):
    """All worth is in units of currency1 at the pool's present price, so that it can be summed."""

    token_id: int
    changes: tuple[LiquidityChange, ...]
    age_seconds: Quantity[int]
    deposited: Quantity[Amounts]
    withdrawn: Quantity[Amounts]
    """Liquidity only: fees that were paid out with it are in `fees_collected`."""
    fees_collected: Quantity[Amounts]
    fees_earned: Quantity[Amounts]
    """Collected and uncollected."""
    held_instead: Quantity[Amounts]
    """What would lie in the wallet had it never been provided: deposits less withdrawals."""
    against_holding: Quantity[Fraction]
    """How much more the position and its fees are worth than that."""
    impermanent_loss: Quantity[Fraction]
    """The same without fees, as a part of what was deposited; a loss is negative.

    (V + withdrawn − deposited) / deposited, all at the present price; without withdrawals this is
    V(P₁)/(x₀·P₁ + y₀) − 1.
    """
    gas: Quantity[int]
    """Spent on these changes, in the smallest unit of the network's coin."""


def since_entry(snapshot: PositionSnapshot, changes: tuple[LiquidityChange, ...]) -> SinceEntry:
    """The account of a position at the snapshot's block."""
    if not changes or sum(change.liquidity_delta for change in changes) != snapshot.liquidity:
        return unknown_entry(snapshot, NOT_ADDED_UP)
    return _account(snapshot, changes)


def worth(amounts: Amounts, sqrt_price_x96: int) -> Fraction:
    """Units of currency1 that both amounts are worth at a price."""
    return amounts.amount1 + Fraction(amounts.amount0 * sqrt_price_x96**2, _PRICE_DENOMINATOR)


def _account(snapshot: PositionSnapshot, changes: tuple[LiquidityChange, ...]) -> SinceEntry:
    price = snapshot.pool.sqrt_price_x96
    block = snapshot.block
    read = (STORAGE, block.number, float(block.timestamp))
    principal = Known(Amounts(snapshot.amount0, snapshot.amount1), *read)
    uncollected = Known(Amounts(snapshot.fees0, snapshot.fees1), *read)
    deposited = total([change.amounts for change in changes if change.liquidity_delta > 0])
    withdrawn = total([change.amounts for change in changes if change.liquidity_delta < 0])
    collected = total([change.fees for change in changes])
    earned = total([collected, uncollected])

    def gain(now: Amounts, fees: Amounts, put_in: Amounts, taken_out: Amounts) -> Fraction:
        return (
            worth(now, price) + worth(fees, price) + worth(taken_out, price) - worth(put_in, price)
        )

    def loss(now: Amounts, put_in: Amounts, taken_out: Amounts) -> Fraction:
        without_fees = gain(now, Amounts(0, 0), put_in, taken_out)
        return without_fees / worth(put_in, price)

    return SinceEntry(
        token_id=snapshot.token_id,
        changes=changes,
        age_seconds=Known(
            block.timestamp - changes[0].timestamp,
            "block times",
            block.number,
            float(block.timestamp),
        ),
        deposited=deposited,
        withdrawn=withdrawn,
        fees_collected=collected,
        fees_earned=earned,
        held_instead=combine(_less, deposited, withdrawn),
        against_holding=combine(gain, principal, earned, deposited, withdrawn),
        impermanent_loss=combine(loss, principal, deposited, withdrawn),
        gas=combine(lambda *parts: sum(parts), *(change.gas for change in changes)),
    )


def unknown_entry(snapshot: PositionSnapshot, reason: Unknown) -> SinceEntry:
    return SinceEntry(
        token_id=snapshot.token_id,
        changes=(),
        age_seconds=reason,
        deposited=reason,
        withdrawn=reason,
        fees_collected=reason,
        fees_earned=reason,
        held_instead=reason,
        against_holding=reason,
        impermanent_loss=reason,
        gas=reason,
    )


def _less(deposited: Amounts, withdrawn: Amounts) -> Amounts:
    return Amounts(deposited.amount0 - withdrawn.amount0, deposited.amount1 - withdrawn.amount1)
