"""A call as it is to be sent, before it is a transaction, and what its bytes hold the chain to."""

from typing import Any

from msgspec import Struct

from chain.base.units import Units
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import Amounts

NOTHING = Amounts(0, 0)


class RecipeBounds(Struct, frozen=True):
    """What the bytes of a recipe hold the chain to."""

    paid: Amounts = NOTHING
    """Reaches the wallet at least, fees owed already included."""
    taken: Amounts = NOTHING
    """Enters the range at most."""
    liquidity: Units = 0
    """Of the range entered or added to."""
    sold: Units = 0
    bought: Units = 0
    """Of the swap: the exact input, and the least that comes out."""
    besides: Amounts = NOTHING
    """Of what the wallet holds besides, moved along at most; what is not taken is swept home."""


class Recipe(Struct, frozen=True):
    step: str
    to: Address
    data: bytes
    bounds: RecipeBounds = RecipeBounds()
    value: int = 0
    pulled: tuple[tuple[Address, int], ...] = ()
    """What the recipe may move out of the wallet, by token."""
    positions: int = 1
    """How many of them it changes."""
    through_permit2: bool = True
    """How it is let move them; else by leave of each token itself."""
    pays: tuple[tuple[Address, int], ...] = ()
    """What it surely pays the wallet before it, or what follows it, moves that out again."""


class Change(Struct, frozen=True):
    """What is done with one position, balanced by itself: others may follow in the same call."""

    step: str
    parts: tuple[Any, ...]
    """Actions or calls, as the protocol has them."""
    bounds: RecipeBounds
    pulled: tuple[tuple[Address, int], ...] = ()


def pulled_tokens(key: PoolKey, amounts: Amounts) -> tuple[tuple[Address, int], ...]:
    """What of these amounts is moved out of the wallet: the coin itself is sent along."""
    pairs = zip((key.currency0, key.currency1), amounts, strict=True)
    return tuple((token, amount) for token, amount in pairs if amount and token != NATIVE)
