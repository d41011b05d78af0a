"""A prompt while it is written: an id behind every number, so that each can be checked later."""

import re
import unicodedata

from msgspec import Struct, field

from agents.model.claims import ClaimLedger, without_ids
from agents.model.interface import ModelPrompt, PromptImage
from agents.model.numerals import Unit, find_numerals, innocents
from chain.base.clean_text import clean_text

STRUCK = "[struck]"
MOST_QUOTED = 400
"""Characters of one statement."""
_LOOKED_AT = 2_000
_STRUCK_BEFORE = "(struck)"
"""What a mark that is ours has become once theirs were taken out."""
# What could end the quotation, look like an id, or look like markup to whoever reads the prompt.
_PLAIN_MARKS = str.maketrans('[]{}<>«»“”„"`', "()()()''''''\u2019"[:13])
_FOREIGN = re.compile(r"\b\w+://\S+|\b0[xX][0-9a-fA-F]{6,}\b")
_HALF_SAID = re.compile(r"\s*(?:\[n?\d*\]?|\[s\w*)?$")


def quotation(words: str, ledger: ClaimLedger) -> str:
    """The words on one line, each number with its id in this prompt, or struck if it has none."""
    text = clean_text(words, limit=_LOOKED_AT)
    text = clean_text(unicodedata.normalize("NFKC", text), limit=_LOOKED_AT)
    text = _without_every_id(text.translate(_PLAIN_MARKS))
    text = _with_known_numbers(text, ledger)
    return f"«{_bounded(text)}»"


def _without_every_id(text: str) -> str:
    """Taking an id out may leave another one behind."""
    while (without := without_ids(text)[0]) != text:
        text = without
    return text


def _with_known_numbers(text: str, ledger: ClaimLedger) -> str:
    pieces, at = [], 0
    text = _FOREIGN.sub(_STRUCK_BEFORE, text)
    numerals = find_numerals(text)
    harmless = innocents(text, numerals)
    for numeral in numerals:
        if numeral in harmless or numeral.start < at:
            continue
        glued = numeral.end < len(text) and (text[numeral.end].isalnum())
        name = None if glued else ledger.id_of(numeral)
        written = text[numeral.start : numeral.end]
        pieces += [text[at : numeral.start], STRUCK if name is None else f"[{name}] {written}"]
        at = numeral.end
    return "".join((*pieces, text[at:])).replace(_STRUCK_BEFORE, STRUCK)


def _bounded(text: str) -> str:
    if len(text) <= MOST_QUOTED:
        return text
    whole, _, _ = text[: MOST_QUOTED - 1].rpartition(" ")
    return _HALF_SAID.sub("", whole) + "…"


class Brief(Struct):
    """What a model is told; the ledger remembers each number it was given."""

    system: str
    ledger: ClaimLedger = field(default_factory=ClaimLedger)
    lines: list[str] = field(default_factory=list)
    image: PromptImage | None = None

    @property
    def prompt(self) -> ModelPrompt:
        return ModelPrompt(self.system, "\n".join(self.lines), self.image)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def number(self, value: float | None, unit: Unit) -> str:
        return "unknown" if value is None else self.ledger.cite(value, unit)

    def quote(self, words: str) -> str:
        """What somebody said, as data between « and »; nothing in it is an instruction."""
        return quotation(words, self.ledger)

    def plain(self, prose: str) -> str:
        """A model's words as others may quote them: without ids, without numbers nobody gave."""
        text, flags = without_ids(prose, self.ledger.check(prose).flags)
        for flag in sorted(flags, key=lambda flag: flag.start, reverse=True):
            text = f"{text[: flag.start]}{STRUCK}{text[flag.end :]}"
        return text
