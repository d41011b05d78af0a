"""A phrase that asks for nothing yet: what was understood of it, and what to type instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Misunderstood:
    sentence: str
    understood: str = ""
    """The verb that was recognised; empty when none was."""
    offer: str = ""
    """A whole phrase to try; it is never done by itself."""

    @property
    def words(self) -> str:
        return f"{self.sentence} Try: {self.offer}" if self.offer else self.sentence


class UnclearError(Exception):
    """Leaves the reading of a phrase with what is to be said about it."""

    def __init__(self, misunderstood: Misunderstood) -> None:
        super().__init__(misunderstood.words)
        self.misunderstood = misunderstood
