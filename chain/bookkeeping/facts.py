"""What the ledger and the results of a wallet are made of."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.positions.overview import WalletWorth
from chain.protocols.past import LiquidityChange
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.events import (
    ModifyLiquidityEvent,
)
from chain.tokens import Token

_Q192 = 1 << 192


PastPrices: TypeAlias = "Mapping[int, Mapping[Address, Quantity[Fraction]]]"
"""By block and token, US dollars for a whole one."""


class PositionLife(Struct, frozen=True):
    identity: PositionIdentity
    changes: tuple[LiquidityChange, ...]
    """Those that happened while the wallet held it, oldest first."""
    held: PositionSnapshot | None
    """As it is now; None where the wallet holds it no more."""
    given: bool = False
    """Whether it came from another wallet, or left for one: what it was worth then is not known."""
    left_out: bool = False
    """Whether logs of it are missing, by the liquidity or the owner that it has."""


class WalletFacts(Struct, frozen=True):
    network: Network
    owner: Address
    worth: WalletWorth
    lives: tuple[PositionLife, ...]
    transactions: Mapping[str, PaidTransaction]
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
        decimals = [self.tokens[address].decimals for address in (key.currency0, key.currency1)]
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


class SwappedAmounts(Struct, frozen=True):
    """What a swapper received of each currency of a pool; negative for what they paid."""

    pool_id: PoolId
    amount0: int
    amount1: int


class PaidTransaction(Struct, frozen=True):
    hash: str
    block: int
    time: int
    sender: Address
    cost: Quantity[int]
    """Gas and, where there is one, the parent chain's part, in the coin's smallest unit."""
    swaps: tuple[SwappedAmounts, ...]
    wrapped: int
    """How much of the coin the sender wrapped, less what they unwrapped."""
    changes: tuple[ModifyLiquidityEvent, ...]
