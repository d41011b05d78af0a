"""Numbers in a sentence that claim nothing: names, counts, dates, horizons, stress levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from agents.model.numerals import Unit, WrittenNumber

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
