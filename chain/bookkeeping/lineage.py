"""Positions that are one story: what was taken out of one was put into the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown
from chain.base.units import HOUR

if TYPE_CHECKING:
    from chain.bookkeeping.past_prices import PastPrices
    from chain.bookkeeping.transactions import SentTransaction
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolId, PoolKey
    from chain.positions.circumstances import LiquidityChange
    from chain.positions.identity import PositionIdentity
    from chain.positions.snapshot import PositionSnapshot
    from chain.positions.wallet_worth import WalletWorth
    from chain.tokens import Token

_Q192 = 1 << 192


class PositionLife(Struct, frozen=True):
    identity: PositionIdentity
    changes: tuple[LiquidityChange, ...]
    """Those that happened while the wallet held it, oldest first."""
    held: PositionSnapshot | None
    """As it is now; None where the wallet holds it no more."""
    given: bool = False
    """Whether it came from another wallet, or left for one: what it was worth then is not known."""


class WalletFacts(Struct, frozen=True):
    network: Network
    owner: Address
    worth: WalletWorth
    lives: tuple[PositionLife, ...]
    transactions: Mapping[str, SentTransaction]
    pools: Mapping[PoolId, PoolKey]
    tokens: Mapping[Address, Token]
    prices: PastPrices

    def is_own(self, transaction: str) -> bool:
        """Whether the wallet itself sent it."""
        sent = self.transactions.get(transaction)
        return sent is not None and sent.sender == self.owner

    def price_now(self, token: Address) -> Quantity[Fraction]:
        return self.worth.overview.prices.price(token)

    def price_then(
        self, token: Address, block: int, life: PositionLife | None, change: LiquidityChange | None
    ) -> Quantity[Fraction]:
        """By the market's pools at that block, or else by the pool the change was made in."""
        known = self.prices.get(block, {}).get(token, Unknown("its price then was not asked for"))
        if isinstance(known, Known):
            return known
        if token == self.network.stable:
            return Known(Fraction(1), "it counts as one dollar", block)
        if life is None or change is None:
            return known
        return self._by_own_pool(token, block, life, change) or known

    def _by_own_pool(
        self, token: Address, block: int, life: PositionLife, change: LiquidityChange
    ) -> Quantity[Fraction] | None:
        key = life.identity.pool_key
        decimals = [self.tokens[one].decimals for one in (key.currency0, key.currency1)]
        if (
            isinstance(change.sqrt_price, Unknown)
            or self.network.stable not in (key.currency0, key.currency1)
            or decimals[0] is None
            or decimals[1] is None
        ):
            return None
        price = Fraction(change.sqrt_price.value**2, _Q192)
        price *= Fraction(10 ** decimals[0], 10 ** decimals[1])
        return Known(
            price if token == key.currency0 else 1 / price, f"its own pool at block {block}", block
        )


SOON_SECONDS = HOUR // 2
"""So soon after leaving a pair one comes back to it when the range alone is to be another."""


class PositionStory(Struct, frozen=True):
    lives: tuple[PositionLife, ...]
    """In the order in which they were opened."""

    @property
    def name(self) -> str:
        return " → ".join(f"#{one.identity.token_id}" for one in self.lives)

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(one.identity.token_id for one in self.lives)


def stories(lives: Sequence[PositionLife], plans: Mapping[str, str]) -> tuple[PositionStory, ...]:
    """Each position in one story; `plans` tells by transaction which plan it was a step of."""
    ordered = sorted((one for one in lives if one.changes), key=_opened)
    successor: dict[int, PositionLife] = {}
    taken: set[int] = set()
    for one in ordered:
        if (following := _successor(one, ordered, taken, plans)) is not None:
            successor[one.identity.token_id] = following
            taken.add(following.identity.token_id)
    told = []
    for one in ordered:
        if one.identity.token_id in taken:
            continue
        chain = [one]
        while (following := successor.get(chain[-1].identity.token_id)) is not None:
            chain.append(following)
        told.append(PositionStory(tuple(chain)))
    # One that came from another wallet and was never changed since is a story of its own.
    return (*told, *(PositionStory((one,)) for one in lives if not one.changes))


def _successor(
    one: PositionLife,
    ordered: Sequence[PositionLife],
    taken: set[int],
    plans: Mapping[str, str],
) -> PositionLife | None:
    """The first opened after this one was left: by the same plan, or soon and in the same pair."""
    if sum(change.liquidity_delta for change in one.changes) != 0:
        return None
    left = one.changes[-1]
    plan = plans.get(left.place.transaction_hash)
    later = [
        other
        for other in ordered
        if other.identity.token_id not in taken
        and other is not one
        and (other.changes[0].timestamp, other.changes[0].place.log_index)
        > (left.timestamp, left.place.log_index)
        and other.changes[0].timestamp >= left.timestamp
    ]
    for other in later:
        opened = other.changes[0].place.transaction_hash
        if plan is not None and plans.get(opened) == plan:
            return other
    return next(
        (
            other
            for other in later
            if _pair(other) == _pair(one)
            and other.changes[0].timestamp - left.timestamp <= SOON_SECONDS
        ),
        None,
    )


def _pair(life: PositionLife) -> tuple[str, str]:
    key = life.identity.pool_key
    return key.currency0, key.currency1


def _opened(life: PositionLife) -> tuple[int, int, int]:
    place = life.changes[0].place
    return life.changes[0].timestamp, place.block_number, place.log_index
