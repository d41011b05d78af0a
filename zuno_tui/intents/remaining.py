"""The words after a verb, taken out one by one until nothing is left that was not understood."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from chain.protocols.reference import PositionRef
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeVar

from agents.lp.advice_words import option_index, option_letter
from chain.base.units import Numeral, NumeralError, read_numeral
from chain.protocols.reference import PositionRef, position_label, position_name, v4_position
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import read_ref
from zuno_tui.intents.phrase_error import Misunderstood, NotReadYetError, UnclearError
from zuno_tui.intents.pieces import list_names

Found = TypeVar("Found")

ProfileName = Literal["conservative", "balanced", "aggressive"]

DEICTIC = ("it", "this", "that")
"""Words that point at what is on the desk."""

_FILLERS = frozenset(
    ("a", "an", "the", "my", "me", "of", "for", "to", "on", "in", "at", "about", "and", "please")
)
_INTRODUCING = _FILLERS | {"position", "by", "with", "from"}
_MOST_OFFERED = 6
_POSITION = re.compile(r"(?:#|3:)?[0-9]{1,77}", re.ASCII)
"""Seventy-seven digits always fit the 256 bits of a token id."""
_POINTING = re.compile("|".join(DEICTIC), re.IGNORECASE)
_PLAN = re.compile(r"(?!req_)[a-z][a-z-]*_[0-9a-z_]{1,80}", re.ASCII)
_RECORD = re.compile(r"req_[0-9a-z]{1,64}", re.ASCII)
_CANDIDATE = re.compile(r"#?[0-9]{1,2}|[A-Z]", re.ASCII)
_SMALL_LETTER = re.compile(r"[a-z]", re.ASCII)
_ALERT = re.compile(r"#?[0-9]{1,18}", re.ASCII)
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)
_ENS_NAME = re.compile(r"[^\s.]+(?:\.[^\s.]+)*\.[^\s.0-9]{2,}")
_AMOUNT = re.compile(r"[0-9.][0-9.,]*[kKmM]?", re.ASCII)
_WHOLE = 100
_PERCENT = re.compile(r"[0-9]+%?", re.ASCII)
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9.₮]{1,23}")
_TOKEN_NAME = re.compile(rf"{_ADDRESS.pattern}|{_SYMBOL.pattern}")
_LATEST = {"latest": True, "last": True}
_EVERYTHING = {"all": "all", "everything": "all"}
_CLOSING = dict.fromkeys(("exit", "leaving", "close", "closing"), "close")
_ABOUT_PLAN = ("plan", "recommendation", "proposal", "choice", "one", "move", "candidate", "option")
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
        self._taken: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._words)

    @property
    def text(self) -> str:
        return " ".join(self._words)

    def restart(self, text: str) -> Remaining:
        """The same verb with other words after it."""
        return Remaining(self.verb, text.split(), self.context)

    def position(self) -> PositionRef:
        """A position by its number, or by pointing at it, anywhere among the words."""
        if (named := self.take_matching(_POSITION)) is not None:
            return read_ref(named)
        return self._pointed_at(pointed=self.points())

    def positions(self) -> tuple[PositionRef, ...]:
        """One or more, by their numbers."""
        named = [self.position()]
        while (another := self.take_matching(_POSITION)) is not None:
            named.append(read_ref(another))
        return tuple(dict.fromkeys(named))

    def leading_position(self) -> PositionRef:
        """The same where other numbers follow: then only the first word can be the position."""
        if (named := self.take_leading(_POSITION)) is not None:
            return read_ref(named)
        return self._pointed_at(pointed=self.take_leading(_POINTING) is not None)

    def take_leading(self, pattern: re.Pattern[str]) -> str | None:
        """The next word, past those that say nothing, if it is such a one."""
        place = next(
            (at for at, word in enumerate(self._words) if word.lower() not in _INTRODUCING), None
        )
        if place is None or pattern.fullmatch(self._words[place]) is None:
            return None
        return self._take(place)

    def _pointed_at(self, *, pointed: bool) -> PositionRef:
        if not pointed or self.context.it is None:
            self._refuse_position()
        return self.context.it

    def _refuse_position(self) -> NoReturn:
        held, it = self.context.positions, self.context.it
        listing = ""
        if held:
            shown = [position_label(ref) for ref in held[:_MOST_OFFERED]]
            more = len(held) - len(shown)
            listing = f" You hold {list_names((*shown, f'{more} more') if more else shown)}."
        example = (*held, v4_position(7))[0] if it is None else it
        self.refuse(f"which position.{listing}", f"{self.verb} {position_name(example)}")

    def plan(self) -> str | None:
        """A plan by its id; None for the one on the card."""
        return self.take_matching(_PLAN) if not self.points() else None

    def candidate(self) -> str | None:
        """A move of the plan by its letter or number, or `close`; None for what is recommended."""
        if closing := self.one_of(_CLOSING):
            return closing
        named = self.take_matching(_CANDIDATE) or self._last_letter()
        if named is None:
            return None
        named = named.removeprefix("#")
        known, index = self.context.candidates, option_index(named)
        if known and not {named, "" if index is None else option_letter(index)} & {*known}:
            moves = list_names(sorted(known))
            self.refuse(f"which option is {named}: the plan on the card has {moves}.")
        return named

    def _last_letter(self) -> str | None:
        """A small letter is a move's only where nothing follows: `a plan` is no option A."""
        if self._words and _SMALL_LETTER.fullmatch(self._words[-1]) is not None:
            return self._take(len(self._words) - 1).upper()
        return None

    def record(self) -> str:
        known = self.context.records
        record = self.take_matching(_RECORD)
        if record is None and known and (self.points() or self.one_of(_LATEST)):
            record = known[0]
        if record is None:
            self.refuse("which record.", f"replay {known[0]}" if known else "records")
        return record

    def alert(self) -> str:
        """An alert by its number or by pointing at it, or `all`."""
        if (named := self.take_matching(_ALERT)) is not None:
            return self._standing(named.removeprefix("#"))
        if every := self.one_of(_EVERYTHING):
            return every
        known, pointed = self.context.alerts, self.context.selected_alert
        if pointed is None and len(known) == 1:
            pointed = known[0]
        if not self.points() or pointed is None:
            shown = known[:_MOST_OFFERED]
            listing = f" There are {list_names(shown)}." if len(shown) > 1 else ""
            self.refuse(f"which alert.{listing}", f"{self.verb} {pointed or (*shown, '1')[0]}")
        return pointed

    def _standing(self, number: str) -> str:
        """A number that is a position's and no alert's is not taken for an alert's."""
        known = self.context.alerts_of
        if known is None or number in self.context.alerts:
            return number
        if self.context.held is None and not self.context.positions:
            raise NotReadYetError("positions")
        if v4_position(int(number)) in self.context.positions:
            self.refuse(f"alert {number}: #{number} is a position.", f"mute alerts for {number}")
        return number

    def address(self) -> str | None:
        address = self.take_matching(_ADDRESS)
        return None if address is None else address.lower()

    def ens_name(self) -> str | None:
        name = self.take_matching(_ENS_NAME)
        return None if name is None else name.lower()

    def token_name(self) -> str | None:
        """A symbol or an address."""
        return self.take_matching(_TOKEN_NAME)

    def symbol(self, example: str) -> str:
        symbol = self.take_leading(_SYMBOL)
        if symbol is None:
            self.refuse("of which token.", example)
        return symbol

    def percent(self, example: str) -> int:
        percent = self.take_leading(_PERCENT)
        if percent is None:
            self.refuse("by how much, in whole percent.", example)
        part = int(percent.removesuffix("%"))
        if not 0 < part <= _WHOLE:
            self.refuse(f"which part: {part}% of a position cannot be taken out.", example)
        return part

    def amount(self, example: str) -> Numeral:
        text = self.take_leading(_AMOUNT)
        if text is None:
            self.refuse("how much.", example)
        try:
            numeral = read_numeral(text)
        except NumeralError:
            self.refuse(f"{text}: commas group thousands and a point starts the decimals.", example)
        if numeral.digits <= 0:
            self.refuse("how much: it must be more than zero.", example)
        return numeral

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

    def take_matching(self, pattern: re.Pattern[str]) -> str | None:
        for place, word in enumerate(self._words):
            if pattern.fullmatch(word):
                return self._take(place)
        return None

    def end(self, *fillers: str, known: str = "") -> None:
        """Refuse when a word is left that says something which was not understood."""
        skipped = _FILLERS.union(fillers)
        left = [word for word in self._words if word.lower() not in skipped]
        if left:
            so_far = " ".join((self.verb, *self._taken))
            quoted = " ".join(left)
            raise UnclearError(
                Misunderstood(
                    f"I understood `{so_far}`, but not '{quoted}'.{known}",
                    self.verb,
                    so_far,
                    unread=tuple(left),
                    firm=bool(known),
                )
            )

    def end_about_plan(self, *fillers: str) -> None:
        self.end(*_ABOUT_PLAN, *fillers)

    def refuse(self, missing: str, offer: str = "") -> NoReturn:
        """What is still to be said, as in "but not which position."."""
        raise UnclearError(
            Misunderstood(
                f"I understood `{self.verb}`, but not {missing}", self.verb, offer, missing=True
            )
        )

    def _take(self, place: int) -> str:
        word = self._words.pop(place)
        self._taken.append(word)
        return word
