"""A phrase that cannot be followed: what is wrong with it, and what was understood all the same."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from chain.base.errors import Failure, ZunoError


class Misunderstood(Struct, frozen=True):
    sentence: str
    understood: str = ""
    """The verb that was recognised; empty when none was."""
    offer: str = ""
    """A whole phrase to try; it is never done by itself."""
    answered: bool = False
    """Whether nothing is to be mended: the sentence is the answer."""
    missing: bool = False
    """Whether all that was said was understood, and something is still to be said."""
    unread: tuple[str, ...] = ()
    """Words after the verb that say nothing it knows."""
    firm: bool = False
    """Whether the verb takes words of a list, which the sentence names."""

    @property
    def words(self) -> str:
        return f"{self.sentence} Try: {self.offer}" if self.offer else self.sentence


class UnclearError(Exception):
    """Leaves the reading of a phrase with what is to be said about it."""

    def __init__(self, misunderstood: Misunderstood) -> None:
        super().__init__(misunderstood.words)
        self.misunderstood = misunderstood


class PhraseError(ZunoError, ValueError):
    """Carries a sentence for the person and the part of the phrase that was understood."""

    failure = Failure.USAGE

    def __init__(self, sentence: str, understood: str) -> None:
        super().__init__(f"{sentence} Understood so far: {understood}." if understood else sentence)
        self.sentence = sentence
        self.understood = understood


class NotReadYetError(Exception):
    """The sentence depends on something that nobody has read yet."""

    def __init__(self, what: Literal["positions", "alerts", "results"]) -> None:
        super().__init__(f"The {what} have not loaded yet.")
        self.what = what


class UnclearSlotError(Exception):
    """Something is still to be said; the choices are whole command lines."""

    def __init__(self, question: str, choices: Sequence[str] = ()) -> None:
        super().__init__(question)
        self.question = question
        self.choices = tuple(choices)
