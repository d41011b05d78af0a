"""A prompt while it is written: an id behind every number, so that each can be checked later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from agents.model.claims import ClaimLedger, without_ids
from agents.model.interface import ModelPrompt, PromptImage
from agents.model.quoting import STRUCK, quotation

if TYPE_CHECKING:
    from agents.model.numerals import Unit


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
