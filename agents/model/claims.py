"""The claim ledger: every number in a prompt has an id, and a cited number must be that number."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Context, Decimal
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from agents.model.numerals import Unit, WrittenNumber, find_numerals, innocents

DIGITS = 3
_CITATION = re.compile(r"[\[(]\s*(n\d{1,5}(?:\s*(?:,|;|&|and)\s*n\d{1,5})*)\s*[\])]")
# With the space before it, or after it where it begins the text.
_CITATION_AND_SPACE = re.compile(
    rf"(?:^{_CITATION.pattern}\s*|\s*\({_CITATION.pattern}\)|\s*{_CITATION.pattern})"
)
_ID = re.compile(r"n\d{1,5}")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;\n]")
_NEXT_TO_AFTER = re.compile(r"[\s:=≈~(]{0,3}(?:(?:about|roughly|some|of|is) )?[$±]?")
_NEXT_TO_BEFORE = re.compile(r"[\s,(]{0,3}")
_JOINED = re.compile(r"\s*(?:,|;|&|and|–|-|to)?\s*")
_FARTHEST = 40  # characters between a number and the id that follows it
_ROUND_TOLERANCE = Decimal("0.05")
_EXACT_ENOUGH = Decimal("1e-9")
_COMPATIBLE: Mapping[Unit, frozenset[Unit]] = {
    Unit.FRACTION: frozenset((Unit.FRACTION, Unit.PLAIN, Unit.MULTIPLIER)),
    Unit.USD: frozenset((Unit.USD, Unit.PRICE)),
    Unit.MULTIPLIER: frozenset((Unit.MULTIPLIER, Unit.PLAIN)),
}
_SUFFIXES: Mapping[Unit, str] = {
    Unit.HOURS: " h",
    Unit.MULTIPLIER: "×",
    Unit.TICKS: " ticks",
    Unit.GWEI: " gwei",
}


class Quantity(Struct, frozen=True):
    value: Decimal
    unit: Unit
    shown: Decimal
    """The value as the prompt wrote it: whoever rounds, rounds this."""


class FlagKind(StrEnum):
    MISMATCH = "mismatch"
    UNKNOWN = "unknown"
    UNCITED = "uncited"


class ClaimFlag(Struct, frozen=True):
    start: int
    end: int
    kind: FlagKind
    cited: tuple[str, ...]


class ClaimReport(Struct, frozen=True):
    matched: int
    innocent: int
    flags: tuple[ClaimFlag, ...]


class _Citation(Struct, frozen=True):
    start: int
    end: int
    ids: tuple[str, ...]


class ClaimLedger(Struct):
    """The numbers one prompt was given: `cite` while writing it, `check` what comes back."""

    quantities: dict[str, Quantity] = field(default_factory=dict)

    def cite(self, value: Decimal | float, unit: Unit, *, digits: int = DIGITS) -> str:
        """The number with a new id, as it stands in a prompt: `[n12] 3.2 %`."""
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        shown = Context(prec=digits).plus(exact)
        name = f"n{len(self.quantities) + 1}"
        self.quantities[name] = Quantity(exact, unit, shown)
        return f"[{name}] {_written(shown, unit)}"

    def id_of(self, numeral: WrittenNumber) -> str | None:
        """The first number the prompt was given that a written one can be; None where none is."""
        ids = (name for name in self.quantities if self._supported(numeral, (name,)))
        return next(ids, None)

    def check(self, prose: str) -> ClaimReport:
        """Compare each number of the prose with the one behind the id beside it."""
        citations = _citations(prose)
        numerals = [
            numeral
            for numeral in find_numerals(prose)
            if not any(cited.start <= numeral.start < cited.end for cited in citations)
        ]
        harmless = innocents(prose, numerals)
        bound: dict[WrittenNumber, tuple[str, ...]] = {}
        for start, end in _sentences(prose):
            passage = _Passage(
                prose,
                [numeral for numeral in numerals if start <= numeral.start < end],
                [cited for cited in citations if start <= cited.start < end],
                harmless,
            )
            bound |= self._bound(passage)
        for numeral in numerals:
            if numeral not in bound and numeral not in harmless:
                bound[numeral] = self._only_fact(numeral)
        matched = sum(self._supported(numeral, ids) for numeral, ids in bound.items())
        flags = [
            flag
            for numeral in numerals
            if (flag := self._flag(numeral, bound.get(numeral, ()), harmless)) is not None
        ]
        return ClaimReport(matched, len(numerals) - matched - len(flags), tuple(flags))

    def _only_fact(self, numeral: WrittenNumber) -> tuple[str, ...]:
        """The one fact that a number without an id is, as the prompt wrote it; none where several
        are, for then nobody knows which was meant, or where it could be anything."""
        if numeral.unit is None and len(numeral.value.normalize().as_tuple().digits) < DIGITS + 1:
            return ()
        same = {
            (quantity.shown, quantity.unit): name
            for name, quantity in self.quantities.items()
            if self._could_mean(numeral, name)
            and abs(numeral.value) == abs(quantity.shown)
            and not numeral.value < 0 < quantity.shown
        }
        return tuple(same.values()) if len(same) == 1 else ()

    def _flag(
        self, numeral: WrittenNumber, ids: tuple[str, ...], harmless: AbstractSet[WrittenNumber]
    ) -> ClaimFlag | None:
        if self._supported(numeral, ids):
            return None
        if numeral in harmless and not any(self._could_mean(numeral, name) for name in ids):
            return None
        if not ids:
            kind = FlagKind.UNCITED
        elif any(name in self.quantities for name in ids):
            kind = FlagKind.MISMATCH
        else:
            kind = FlagKind.UNKNOWN
        return ClaimFlag(numeral.start, numeral.end, kind, ids)

    def _bound(self, passage: _Passage) -> dict[WrittenNumber, tuple[str, ...]]:
        """Which ids each number is cited with; where ids could belong to the number on either
        side of them, the side on which more numbers are right is meant."""
        either = [passage.bind(self._supported, ids_first=ids_first) for ids_first in (False, True)]
        return max(
            either, key=lambda bound: sum(self._supported(*binding) for binding in bound.items())
        )

    def _supported(self, numeral: WrittenNumber, ids: tuple[str, ...]) -> bool:
        return any(
            self._could_mean(numeral, name) and _same(numeral, self.quantities[name])
            for name in ids
        )

    def _could_mean(self, numeral: WrittenNumber, name: str) -> bool:
        quantity = self.quantities.get(name)
        if quantity is None:
            return False
        if numeral.unit is None:
            return True
        return quantity.unit in _COMPATIBLE.get(numeral.unit, frozenset((numeral.unit,)))


def without_ids(prose: str, flags: Sequence[ClaimFlag] = ()) -> tuple[str, tuple[ClaimFlag, ...]]:
    """The prose as people read it, and the flags where they are in it."""
    dropped = [match.span() for match in _CITATION_AND_SPACE.finditer(prose)]
    kept = [
        place
        for place in range(len(prose))
        if not any(start <= place < end for start, end in dropped)
    ]
    moved = tuple(
        replace(flag, start=bisect_left(kept, flag.start), end=bisect_left(kept, flag.end))
        for flag in flags
    )
    return "".join(prose[place] for place in kept), moved


class _Passage(Struct, frozen=True):
    """One sentence with its numbers and its ids."""

    text: str
    numerals: Sequence[WrittenNumber]
    citations: Sequence[_Citation]
    harmless: AbstractSet[WrittenNumber]

    def bind(
        self, supported: Callable[[WrittenNumber, tuple[str, ...]], bool], *, ids_first: bool
    ) -> dict[WrittenNumber, tuple[str, ...]]:
        bound: dict[WrittenNumber, tuple[str, ...]] = {}
        since = 0
        for citation in self.citations:
            following = self._following(citation)
            preceding = [
                numeral
                for numeral in reversed(self.numerals)
                if since <= numeral.start
                and numeral.end <= citation.start
                and numeral not in bound
                and citation.start - numeral.end <= _FARTHEST * len(citation.ids)
            ]
            beside = preceding and _NEXT_TO_BEFORE.fullmatch(
                self.text, preceding[0].end, citation.start
            )
            if following and (ids_first or not beside):
                chosen = following
            else:
                chosen = self._meant(preceding, citation.ids, supported)
            bound |= dict.fromkeys(chosen[: len(citation.ids)], citation.ids)
            since = citation.end
        return bound

    def _following(self, citation: _Citation) -> list[WrittenNumber]:
        """The numbers right behind an id, as many as it may stand for."""
        later = [numeral for numeral in self.numerals if numeral.start >= citation.end]
        if later and _NEXT_TO_AFTER.fullmatch(self.text, citation.end, later[0].start):
            return later
        return []

    def _meant(
        self,
        preceding: Sequence[WrittenNumber],
        ids: tuple[str, ...],
        supported: Callable[[WrittenNumber, tuple[str, ...]], bool],
    ) -> list[WrittenNumber]:
        """Of the numbers before an id the nearest, past those that claim nothing by themselves."""
        claims = [
            numeral
            for numeral in preceding
            if numeral not in self.harmless or supported(numeral, ids)
        ]
        return claims or list(preceding[:1])


def _same(numeral: WrittenNumber, quantity: Quantity) -> bool:
    for exact in (quantity.value, quantity.shown):
        if _close(numeral, exact):
            return True
        # A percentage without its sign.
        if numeral.unit is None and quantity.unit is Unit.FRACTION and _close(numeral, exact * 100):
            return True
    return False


def _close(numeral: WrittenNumber, exact: Decimal) -> bool:
    if numeral.value == 0 or exact == 0:
        return numeral.value == exact
    if numeral.value < 0 < exact:
        return False
    # A fall may be told without its sign: "down by 1,240 ticks".
    size = abs(exact)
    tolerance = numeral.step / 2
    if numeral.round:
        tolerance = min(tolerance, size * _ROUND_TOLERANCE)
    return abs(abs(numeral.value) - size) <= tolerance + size * _EXACT_ENOUGH


def _citations(prose: str) -> list[_Citation]:
    """The ids in the prose; neighbours without words between them count as one."""
    found: list[_Citation] = []
    for match in _CITATION.finditer(prose):
        ids = tuple(_ID.findall(match[1]))
        if found and _JOINED.fullmatch(prose, found[-1].end, match.start()):
            last = found.pop()
            found.append(_Citation(last.start, match.end(), (*last.ids, *ids)))
        else:
            found.append(_Citation(match.start(), match.end(), ids))
    return found


def _sentences(prose: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE_END.finditer(prose):
        yield start, match.end()
        start = match.end()
    yield start, len(prose)


def _written(shown: Decimal, unit: Unit) -> str:
    if unit is Unit.FRACTION:
        return f"{_plain(shown * 100)}%"
    if unit is Unit.USD:
        return f"{'-' if shown < 0 else ''}${_plain(abs(shown))}"
    return f"{_plain(shown)}{_SUFFIXES.get(unit, '')}"


def _plain(number: Decimal) -> str:
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
