"""The words after a verb, taken out one by one until nothing is left that was not understood."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

from zuno_tui.phrases.phrase_error import Misunderstood, UnclearError
from zuno_tui.phrases.pieces import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from zuno_tui.phrases.context import PhraseContext

Found = TypeVar("Found")

ProfileName = Literal["conservative", "balanced", "aggressive"]

DEICTIC = ("it", "this", "that")
"""Words that point at what is on the desk."""

_FILLERS = frozenset(
    ("a", "an", "the", "my", "me", "of", "for", "to", "on", "in", "at", "about", "and", "please")
)
_INTRODUCING = _FILLERS | {"position", "by", "with", "from"}
_MOST_OFFERED = 6
_POSITION = re.compile(r"#?[0-9]{1,77}", re.ASCII)
"""Seventy-seven digits always fit the 256 bits of a token id."""
_POINTING = re.compile("|".join(DEICTIC), re.IGNORECASE)
_PLAN = re.compile(r"(?!req_)[a-z][a-z-]*_[0-9a-z_]{1,80}", re.ASCII)
_PROFILES: Mapping[str, ProfileName] = {
    "conservative": "conservative",
    "balanced": "balanced",
    "aggressive": "aggressive",
}


class Remaining:
    """Everything is matched exactly; what stays behind is named, never ignored."""

    def __init__(self, verb: str, words: Sequence[str], context: PhraseContext) -> None:
        self.verb = verb
        self.context = context
        self._words = list(words)
        self._said: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._words)

    @property
    def text(self) -> str:
        return " ".join(self._words)

    def restarted(self, text: str) -> Remaining:
        """The same verb with other words after it."""
        return Remaining(self.verb, text.split(), self.context)

    def position(self) -> int:
        """A position by its number, or by pointing at it, anywhere among the words."""
        if (named := self.matching(_POSITION)) is not None:
            return int(named.removeprefix("#"))
        return self._pointed_at(pointed=self.points())

    def leading_position(self) -> int:
        """The same where other numbers follow: then only the first word can be the position."""
        if (named := self.leading(_POSITION)) is not None:
            return int(named.removeprefix("#"))
        return self._pointed_at(pointed=self.leading(_POINTING) is not None)

    def leading(self, pattern: re.Pattern[str]) -> str | None:
        """The next word, past those that say nothing, if it is such a one."""
        place = next(
            (at for at, word in enumerate(self._words) if word.lower() not in _INTRODUCING), None
        )
        if place is None or pattern.fullmatch(self._words[place]) is None:
            return None
        return self._take(place)

    def _pointed_at(self, *, pointed: bool) -> int:
        if not pointed or self.context.it is None:
            self._refuse_position()
        return self.context.it

    def _refuse_position(self) -> NoReturn:
        held, it = self.context.positions, self.context.it
        told = ""
        if held:
            shown = [f"#{token_id}" for token_id in held[:_MOST_OFFERED]]
            more = len(held) - len(shown)
            told = f" You hold {listed((*shown, f'{more} more') if more else shown)}."
        example = (*held, 7)[0] if it is None else it
        self.refuse(f"which position.{told}", f"{self.verb} {example}")

    def plan(self) -> str | None:
        """A plan by its id; None for the one on the card."""
        return self.matching(_PLAN) if not self.points() else None

    def profile(self) -> ProfileName | None:
        return self.one_of(_PROFILES)

    def points(self) -> bool:
        """Whether a word pointed at something; it is taken."""
        return self.one_of(dict.fromkeys(DEICTIC, True)) is not None

    def one_of(self, meanings: Mapping[str, Found]) -> Found | None:
        for place, word in enumerate(self._words):
            if word.lower() in meanings:
                return meanings[self._take(place).lower()]
        return None

    def matching(self, pattern: re.Pattern[str]) -> str | None:
        for place, word in enumerate(self._words):
            if pattern.fullmatch(word):
                return self._take(place)
        return None

    def end(self, *fillers: str) -> None:
        """Refuse when a word is left that says something which was not understood."""
        skipped = _FILLERS.union(fillers)
        left = [word for word in self._words if word.lower() not in skipped]
        if left:
            so_far = " ".join((self.verb, *self._said))
            quoted = " ".join(left)
            raise UnclearError(
                Misunderstood(f"I understood `{so_far}`, but not '{quoted}'.", self.verb, so_far)
            )

    def refuse(self, missing: str, offer: str = "") -> NoReturn:
        """What is still to be said, as in "but not which position."."""
        raise UnclearError(
            Misunderstood(f"I understood `{self.verb}`, but not {missing}", self.verb, offer)
        )

    def _take(self, place: int) -> str:
        word = self._words.pop(place)
        self._said.append(word)
        return word
