"""Post-mortems found by meaning: word pieces, vectors, and what is found where words differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from agents.memory.embedding import installed_embedder, word_pieces
from agents.memory.memory import SemanticIndex, TradeMemory
from tests.agents.memory.test_memory import mortem

if TYPE_CHECKING:
    from pathlib import Path

    from agents.memory.embedding import Vector

_SENSES = (("panic", "fear", "crash"), ("calm", "quiet", "range"), ("news",))
VOCABULARY = {
    piece: place
    for place, piece in enumerate(("[UNK]", "play", "##ing", "##ed", "cafe", ",", "!", "吗", "a"))
}


class Senses:
    """Words of one sense have one direction."""

    def __init__(self, name: str = "senses") -> None:
        self.name = name
        self.asked = 0

    def embed(self, text: str) -> Vector:
        self.asked += 1
        found = [sum(word in text for word in words) for words in _SENSES]
        vector = np.array([*found, 0.1], dtype=np.float32)
        return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Playing, played!", ["play", "##ing", ",", "play", "##ed", "!"]),
        ("Café a吗a", ["cafe", "a", "吗", "a"]),
        ("unheard-of", ["[UNK]", "[UNK]", "[UNK]"]),
        ("a" * 101, ["[UNK]"]),
        (" \t\n\x00 ", []),
    ],
)
def test_words_are_cut_into_the_longest_known_pieces(text: str, pieces: list[str]) -> None:
    assert word_pieces(text, VOCABULARY) == [VOCABULARY[piece] for piece in pieces]


def test_an_old_setup_alike_in_sense_is_found_where_no_word_is_the_same(tmp_path: Path) -> None:
    plain = TradeMemory(tmp_path)
    plain.keep(mortem("plan_old", 1, "panic"))
    for place in range(5):
        plain.keep(mortem(f"plan_new{place}", 1_000 + place, "calm"))
    plain.close()
    memory = TradeMemory(tmp_path, Senses())
    memory.file_text("news_1", "NEWS", "fear and crash")

    found = memory.similar("ETHUSDT", "fear of a crash")

    assert found[0].post_mortem.memory_id == "plan_old"
    assert len(found) == 3
    memory.close()


def test_vectors_are_made_once_and_those_of_another_model_anew(tmp_path: Path) -> None:
    first, second = Senses(), Senses("others")
    for senses, asked in ((first, 2), (first, 3), (second, 2)):
        memory = TradeMemory(tmp_path, senses)
        memory.keep(mortem("plan_a", 1, "panic"))
        memory.similar("ETHUSDT", "fear")
        memory.close()
        assert senses.asked == asked


def test_one_channel_is_searched_alone(tmp_path: Path) -> None:
    index = SemanticIndex(tmp_path / "index.db", Senses())
    index.add("news_1", "NEWS", "crash")
    index.add("plan_1", "OTHER", "calm")

    assert [match.memory_id for match in index.search("crash", "OTHER", 5)] == ["plan_1"]
    index.close()


def test_the_weights_give_the_numbers_their_authors_publish() -> None:
    embedder = installed_embedder()
    if embedder is None:
        pytest.skip("the weights are not installed: make memory")
    person = embedder.embed("That is a happy person")

    for text, alike in (
        ("That is a happy dog", 0.695),
        ("That is a very happy person", 0.943),
        ("Today is a sunny day", 0.257),
    ):
        assert float(person @ embedder.embed(text)) == pytest.approx(alike, abs=0.001)
