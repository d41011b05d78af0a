"""BERT's word pieces: words in lower case without accents, cut into the longest known parts."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNKNOWN = "[UNK]"
_LONGEST_WORD = 100
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


def word_pieces(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """The numbers of the pieces, without any marks around them."""
    return [vocabulary[piece] for word in _words(text) for piece in _pieces(word, vocabulary)]


def _words(text: str) -> Iterator[str]:
    """Between spaces; punctuation and each ideograph is a word of its own."""
    word = ""
    for character in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(character)
        if (
            kind == "Mn"
            or character in "\0\ufffd"
            or (kind[0] == "C" and character not in "\t\n\r")
        ):
            continue
        if character.isspace() or kind == "Zs":
            yield from (word,) if word else ()
            word = ""
        elif _stands_alone(character, kind):
            yield from (word, character) if word else (character,)
            word = ""
        else:
            word += character
    yield from (word,) if word else ()


def _stands_alone(character: str, kind: str) -> bool:
    code = ord(character)
    symbol = code < 128 and not character.isalnum()
    return symbol or kind[0] == "P" or any(first <= code <= last for first, last in _IDEOGRAPHS)


def _pieces(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    if len(word) > _LONGEST_WORD:
        return [UNKNOWN]
    found = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        end = next(
            (end for end in range(len(word), start, -1) if mark + word[start:end] in vocabulary),
            None,
        )
        if end is None:
            return [UNKNOWN]
        found.append(mark + word[start:end])
        start = end
    return found
