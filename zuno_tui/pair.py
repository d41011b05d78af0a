"""Two tokens the way people read them; the agents' alerts read them the same way."""

from __future__ import annotations

from chain.pair import UNKNOWN_DECIMALS, Pair, pair_of

__all__ = ["UNKNOWN_DECIMALS", "Pair", "pair_of"]
