"""A sentence while it is read: how far one is, and what was found so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.sentence import Sentence
from zuno_tui.phrases.spoken.slips import without_slips
from zuno_tui.phrases.spoken.token_words import is_symbol, pair_at
from zuno_tui.phrases.spoken.whole_sentence import in_order, topics_of_whole

if TYPE_CHECKING:
    from fractions import Fraction

    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.sentence import SpokenAmount
    from zuno_tui.phrases.spoken.topics import Topic


class SentenceDraft:
    def __init__(self, words: tuple[str, ...], context: PhraseContext) -> None:
        self.words, mended = without_slips(words)
        self.context = context
        self.at = 0
        self._held = {symbol for one in context.held or () for symbol in one.symbols}
        self.topics: list[Topic] = [*topics_of_whole(self.words)]
        self._of_whole = len(self.topics)
        self.ids: list[int] = []
        self.numbers: list[str] = []
        self.percents: list[Fraction] = []
        self.amounts: list[SpokenAmount] = []
        self.dollars: list[str] = []
        self.pairs: list[tuple[str, str]] = []
        self.symbols: list[str] = []
        self.unknown: list[str] = []
        self.mended = [*mended]
        self.prices: tuple[str, str] | None = None
        self.fee: Fraction | None = None
        self.seconds: int | None = None
        self.profile: str | None = None
        self.network: str | None = None
        self.part = False

    def word(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place] if 0 <= place < len(self.words) else ""

    def pair_at(self, ahead: int) -> tuple[tuple[str, str], int] | None:
        return pair_at(self.words[self.at + ahead :], self._held)

    def is_symbol(self, word: str) -> bool:
        return is_symbol(word, self._held)

    def finished(self) -> Sentence:
        return Sentence(
            words=self.words,
            topics=in_order(self.topics, self._of_whole),
            ids=tuple(dict.fromkeys(self.ids)),
            numbers=tuple(self.numbers),
            percents=tuple(self.percents),
            part=self.part,
            amounts=tuple(self.amounts),
            dollars=tuple(self.dollars),
            prices=self.prices,
            pairs=tuple(dict.fromkeys(self.pairs)),
            symbols=tuple(dict.fromkeys(self.symbols)),
            fee=self.fee,
            seconds=self.seconds,
            profile=self.profile,
            network=self.network,
            unknown=tuple(self.unknown),
            mended=tuple(self.mended),
        )
