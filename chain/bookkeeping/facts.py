"""All that was read of one wallet on one network, from which its ledger follows without reading."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

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
