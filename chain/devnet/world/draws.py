"""Random numbers that a seed and a name decide, the same on every machine and in any order."""

from __future__ import annotations

import struct
from hashlib import blake2b

from msgspec import Struct

ONE_SIGMA = 1 << 16
"""One standard deviation of a `normal` draw."""

_TWELVE = struct.Struct(">12H")
_CENTRE = 12 * (ONE_SIGMA - 1) // 2


class Draws(Struct, frozen=True):
    """Each draw is a hash of seed, purpose and index: none depends on how many came before."""

    seed: int

    def below(self, limit: int, purpose: str, index: int) -> int:
        """A whole number from 0 to `limit` − 1."""
        return int.from_bytes(self._digest(purpose, index), "big") % limit

    def between(self, lowest: int, highest: int, purpose: str, index: int) -> int:
        """A whole number from `lowest` to `highest`, both included."""
        return lowest + self.below(highest - lowest + 1, purpose, index)

    def sign(self, purpose: str, index: int) -> int:
        return 1 if self.below(2, purpose, index) else -1

    def normal(self, purpose: str, index: int) -> int:
        """A nearly normal draw in units of `ONE_SIGMA`, from integers alone.

        The sum of twelve uniforms has a variance of one, so libm and its last digit stay out.
        """
        total: int = sum(_TWELVE.unpack(self._digest(purpose, index)))
        return total - _CENTRE

    def _digest(self, purpose: str, index: int) -> bytes:
        return blake2b(f"{self.seed}/{purpose}/{index}".encode(), digest_size=_TWELVE.size).digest()
