"""The numbers in a sentence, and the ledger: a number that is cited must be the one of its id."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Context, Decimal
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace


class Unit(StrEnum):
    FRACTION = "fraction"
    """Shown as a percentage, kept as a fraction of one."""
    HOURS = "hours"
    USD = "usd"
    PRICE = "price"
    MULTIPLIER = "multiplier"
    TICKS = "ticks"
    GWEI = "gwei"
    COUNT = "count"
    PLAIN = "plain"


class WrittenNumber(Struct, frozen=True):
    start: int
    end: int
    value: Decimal
    step: Decimal
    """What one in its last written digit is worth; zeros at the end of a round number are not."""
    unit: Unit | None
    """None where the sentence names none."""
    round: bool
    """A whole number that ends in zeros may stand for its neighbours."""


_UNDER_TWENTY = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
    *("sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {
    **{word: number for number, word in enumerate(_UNDER_TWENTY, 1)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
}
_LARGE_WORDS = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_NUMBER_WORD = "|".join((*_WORDS, *_LARGE_WORDS))
_IN_WORDS = rf"(?:{_NUMBER_WORD})(?:(?:[\s-]|\sand\s)(?:{_NUMBER_WORD}))*"
_SCALES = {
    "": 1,
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "mn": 10**6,
    "million": 10**6,
    "b": 10**9,
    "bn": 10**9,
    "billion": 10**9,
}
# Each unit's names, and what one of it is in the unit that values are kept in.
_UNITS: tuple[tuple[str, Unit, str], ...] = (
    (r"%|percent|per cent", Unit.FRACTION, "0.01"),
    (r"bps?|basis points?", Unit.FRACTION, "0.0001"),
    (r"h|hrs?|hours?", Unit.HOURS, "1"),
    (r"d|days?", Unit.HOURS, "24"),
    (r"weeks?", Unit.HOURS, "168"),
    (r"min|minutes?", Unit.HOURS, "0.0166666666666666666667"),
    (r"USD|dollars?", Unit.USD, "1"),
    (r"×|x|times", Unit.MULTIPLIER, "1"),
    (r"ticks?", Unit.TICKS, "1"),
    (r"gwei", Unit.GWEI, "1"),
)
_UNIT_NAMES = "|".join(f"(?P<u{index}>{names})" for index, (names, _, _) in enumerate(_UNITS))
_NUMERAL = re.compile(
    r"(?P<sign>(?<![\w.\])])[+\-−])?(?P<dollar>\$)?(?P<digits>"
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?P<exponent>[eE][+-]?\d{1,2}(?!\w))?"
    r"(?:(?P<letter>[kKMB]|bn|mn)(?!\w)|\s(?P<scale>thousand|million|billion)\b)?"
    rf"(?:[\s-]?(?:{_UNIT_NAMES})(?![\w]))?"
)
_WORD_NUMERAL = re.compile(
    rf"(?<!\d\s)\b(?P<words>{_IN_WORDS})[\s-]"
    r"(?P<unit>percent|per cent|hours?|dollars?|ticks?|gwei)\b",
    re.IGNORECASE,
)
_WORD_UNITS = {
    "p": (Unit.FRACTION, Decimal("0.01")),
    "h": (Unit.HOURS, Decimal(1)),
    "d": (Unit.USD, Decimal(1)),
    "t": (Unit.TICKS, Decimal(1)),
    "g": (Unit.GWEI, Decimal(1)),
}


def find_numerals(text: str) -> list[WrittenNumber]:
    """Every number of the text, in order, those in words only where a unit follows."""
    found = [_numeral(match) for match in _NUMERAL.finditer(text)]
    found += [_word_numeral(match) for match in _WORD_NUMERAL.finditer(text)]
    return sorted(found, key=lambda numeral: numeral.start)


def _numeral(match: re.Match[str]) -> WrittenNumber:
    digits = match["digits"]
    # Three digits after a comma are a group of thousands; any other number of them a fraction.
    grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits)
    plain = digits.replace(",", "" if grouped else ".")
    whole, _, fraction = plain.partition(".")
    factor = Decimal(10) ** int((match["exponent"] or "e0")[1:])
    factor *= _SCALES[(match["letter"] or match["scale"] or "").lower()]
    unit, size = _unit(match)
    zeros = len(whole) - len(whole.rstrip("0")) if not fraction and whole.strip("0") else 0
    step = Decimal(10) ** (zeros - len(fraction)) * factor * size
    value = Decimal(plain) * factor * size
    if (match["sign"] or "+") in "-−":
        value = -value
    return WrittenNumber(match.start(), match.end(), value, step, unit, round=zeros > 0)


def _unit(match: re.Match[str]) -> tuple[Unit | None, Decimal]:
    for index, (_, unit, size) in enumerate(_UNITS):
        if match[f"u{index}"]:
            return unit, Decimal(size)
    return (Unit.USD if match["dollar"] else None), Decimal(1)


def _word_numeral(match: re.Match[str]) -> WrittenNumber:
    unit, size = _WORD_UNITS[match["unit"][0].lower()]
    value = _value_in_words(match["words"]) * size
    return WrittenNumber(match.start(), match.end(), value, size, unit, round=False)


def numbers_in_words(text: str) -> set[int]:
    """Every number that is written out, `twenty-five` as one; a lone `one` is none."""
    found = re.finditer(rf"\b{_IN_WORDS}\b", text, re.IGNORECASE)
    return {_value_in_words(match[0]) for match in found if match[0].lower() != "one"}


def _value_in_words(words: str) -> int:
    whole = part = 0
    for word in re.split(r"[\s-]+", words.lower()):
        large = _LARGE_WORDS.get(word, 0)
        if large > 100:
            whole, part = whole + (part or 1) * large, 0
        elif large:
            part = (part or 1) * large
        else:
            part += _WORDS.get(word, 0)
    return whole + part


_MONTHS = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
)
# Whole phrases within which no number is a claim.
_PHRASES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b"
    rf"|\b\d{{1,2}} (?:{_MONTHS})(?: \d{{4}})?\b"
    rf"|\b(?:{_MONTHS}) \d{{1,2}}(?:,? \d{{4}})?\b"
    r"|\b(?:[Ii]n|[Ss]ince|[Bb]y|[Uu]ntil|[Oo]f) (?:19|20)\d{2}\b(?![-.,]?\d)"
    r"|\b50/50\b|\b24/7\b"
    r"|\b\d{1,2} (?:out )?of (?:the )?(?:\d{1,2}|them|these|those)\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)\b"
    r"|(?:^|\n)\s*(?:[-*] )?\(?\d{1,2}[.)](?=\s)"
    r"|(?<=\s)\d{1,2}\)(?=\s)"
    r"|\(\d{1,2}\)(?=\s)"
    r"|\b100 ?% (?:against|sure|certain|convinced|agree|for it|with)\b"
    r"|\b(?:ERC|EIP|BIP|ISO|RFC)-\d+\b"
)
# A number that belongs to a word: TOKEN0, v4, X96, Q4, #7, n12.
_GLUED = re.compile(r"[A-Za-z_#]$")
_NAMED = re.compile(
    r"\b(?:candidates?|options?|rounds?|pools?|positions?|steps?|tiers?|tokens?|points?|items?"
    r"|moves?|proposals?|scenarios?|phases?|stages?|cases?|plans?|rules?|sections?|ranges?|shapes?"
    r"|agents?|bits?|number|no\.) (?:\d{1,4}(?:, | and | or | to |-|–|, and ))*$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"^ (?:\w+ )?(?:candidates?|options?|rounds?|pools?|moves?|proposals?|scenarios?|reasons?"
    r"|steps?|points?|agents?|tokens?|sides?|positions?|ranges?|shapes?|choices?|things?|ways?|critiques?"
    r"|judgments?)\b",
    re.IGNORECASE,
)
_HORIZONS = frozenset(map(Decimal, (1, 24, 48, 72, 168, 720)))
_SPAN_BEFORE = re.compile(
    r"\b(?:over|in|last|past|next|previous|trailing|per|to|at|each|every|the|during|both|and|or|for"
    r"|this|wait) $|^$",
    re.IGNORECASE,
)
_SPAN_AFTER = re.compile(
    r"^[ -](?:fees?|yield|vol|volatility|survival|level|window|view|horizon|LVR|swaps|average"
    r"|return|move|market|volume)\b",
    re.IGNORECASE,
)
_CLAIMED_AFTER = re.compile(r"^ (?:buffer|floor|life|median|break)", re.IGNORECASE)
_STRESS_LEVELS = frozenset(map(Decimal, (1, 2, 3)))
# "2×" is a level of stress unless something is said to be that much more than something else.
_COMPARED_BEFORE = re.compile(
    r"(?:\b(?:is|are|was|were|be|by|to|than|about|nearly|almost|roughly|over|pays?|earns?)|[~≈])"
    r" ?$",
    re.IGNORECASE,
)
_COMPARED_AFTER = re.compile(
    r"^ (?:the (?!vol|stress|sigma|σ)|as |more|better|worse|its |what|our |higher|lower|wider"
    r"|larger|greater|over|fees?|cost|yield|longer|tighter)",
    re.IGNORECASE,
)
_MODEL_QUANTILE = Decimal("0.95")
_QUANTILE_NEAR = re.compile(
    r"\b(?:model|probability|quantile|certainty|confidence|buffer|surviv\w+)\b", re.IGNORECASE
)
_NEAR = 24
_LARGEST_NAME = 9999
_LARGEST_COUNT = 20


def innocents(text: str, numerals: Sequence[WrittenNumber]) -> set[WrittenNumber]:
    """Those of the numerals that a reader would not take for a statement about the position."""
    phrases = [match.span() for match in _PHRASES.finditer(text)]
    return {
        numeral
        for numeral in numerals
        if any(start <= numeral.start < end for start, end in phrases)
        or _is_innocent(numeral, text[: numeral.start], text[numeral.end :])
    }


def _is_innocent(numeral: WrittenNumber, before: str, after: str) -> bool:
    before, nearby = before[-80:], before[-_NEAR:] + after[:_NEAR]
    if _GLUED.search(before):
        return True
    if numeral.unit is None:
        return _is_name_or_count(numeral, before, after)
    if numeral.unit is Unit.HOURS and numeral.value in _HORIZONS:
        named = _SPAN_BEFORE.search(before) or _SPAN_AFTER.match(after)
        return bool(named) and not _CLAIMED_AFTER.match(after)
    if numeral.unit is Unit.MULTIPLIER and numeral.value in _STRESS_LEVELS:
        return not (_COMPARED_BEFORE.search(before) or _COMPARED_AFTER.match(after))
    if numeral.unit is Unit.FRACTION and numeral.value == _MODEL_QUANTILE:
        return bool(_QUANTILE_NEAR.search(nearby))
    return False


def _is_name_or_count(numeral: WrittenNumber, before: str, after: str) -> bool:
    if numeral.value != numeral.value.to_integral_value() or numeral.value < 0:
        return False
    if numeral.value <= _LARGEST_NAME and _NAMED.search(before):
        return True
    return numeral.value <= _LARGEST_COUNT and bool(_COUNTED.match(after))


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
    NOT_SO = "not_so"
    """A comparison that the figures on the table do not bear out."""


class ClaimFlag(Struct, frozen=True):
    start: int
    end: int
    kind: FlagKind
    cited: tuple[str, ...]


class ClaimReport(Struct, frozen=True):
    matched: int
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
        return ClaimReport(matched, tuple(flags))

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
