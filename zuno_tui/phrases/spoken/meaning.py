"""What a sentence comes to: phrases to follow, a question back, or an answer."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

NOT_LATER = (
    "Nothing is kept to be done later or on a condition. Now, or not at all? "
    "An alert can tell when: alert ETH below 3000"
)
NOTHING_DONE = "Nothing is done: what is to stay as it is needs no words."


class Rephrased(Struct, frozen=True):
    """The same in the words of verbs, one phrase a command, in order."""

    phrases: tuple[str, ...]
    answer: str = ""
    """What is known already of what was asked."""


class AskedBack(Struct, frozen=True):
    question: str
    choices: tuple[str, ...] = ()
    """Phrases of which one may be meant; none says more than what was typed."""


class AnsweredPhrase(Struct, frozen=True):
    sentence: str


SpokenMeaning: TypeAlias = Rephrased | AskedBack | AnsweredPhrase
