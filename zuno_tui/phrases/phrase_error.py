"""A phrase that cannot be followed: what is wrong with it, and what was understood all the same."""

from __future__ import annotations


class PhraseError(ValueError):
    """Carries a sentence for the person and the part of the phrase that was understood."""

    def __init__(self, sentence: str, understood: str) -> None:
        super().__init__(f"{sentence} Understood so far: {understood}." if understood else sentence)
        self.sentence = sentence
        self.understood = understood
