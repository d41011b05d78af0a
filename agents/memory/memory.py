"""Post-mortems kept twice: as lines, which last, and in an index, which finds what is alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agents.memory.lexical_index import IndexUnavailableError, LexicalIndex
from agents.memory.post_mortem import CHANNEL, PostMortem
from chain.base.home import FILE_MODE, FOLDER_MODE
from chain.base.locks import locked

if TYPE_CHECKING:
    from pathlib import Path

_NEWEST = 3
_LINES = "post-mortems.jsonl"
_INDEX = "index.db"


class Recalled(NamedTuple):
    post_mortem: PostMortem
    score: float | None
    """How alike it is; None where it is only among the newest."""


class TradeMemory:
    """One folder; every process on a home may write, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        self._index: LexicalIndex | None
        try:
            self._index = LexicalIndex(folder / _INDEX)
        except IndexUnavailableError:
            self._index = None

    def close(self) -> None:
        if self._index is not None:
            self._index.close()

    @property
    def has_index(self) -> bool:
        return self._index is not None

    def keep(self, one: PostMortem) -> bool:
        """Whether it was new; the same trade is kept once."""
        path = self._folder / _LINES
        with locked(self._folder / f"{_LINES}.lock"):
            if any(known.memory_id == one.memory_id for known in self.all()):
                return False
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
            with os.fdopen(descriptor, "ab") as file:
                file.write(msgspec.json.encode(one) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        if self._index is not None:
            self._index.add(one.memory_id, one.channel, one.text)
        return True

    def all(self) -> list[PostMortem]:
        """In the order they were kept; a line that was cut off is passed over."""
        try:
            lines = (self._folder / _LINES).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                found.append(msgspec.json.decode(line, type=PostMortem))
            except msgspec.DecodeError:
                continue
        return found

    def similar(self, symbol: str, setup: str, most: int = _NEWEST) -> tuple[Recalled, ...]:
        """Those most alike, however old; without an index the newest of the symbol."""
        by_id = {one.memory_id: one for one in self.all()}
        if self._index is not None:
            try:
                matches = self._index.search(setup, CHANNEL, most)
            except IndexUnavailableError:
                return self._newest(symbol)
            return tuple(
                Recalled(by_id[match.memory_id], match.score)
                for match in matches
                if match.memory_id in by_id
            )
        return self._newest(symbol)

    def _newest(self, symbol: str) -> tuple[Recalled, ...]:
        of_symbol = [one for one in self.all() if one.symbol == symbol]
        newest = sorted(of_symbol, key=lambda one: one.time, reverse=True)[:_NEWEST]
        return tuple(Recalled(one, None) for one in newest)
