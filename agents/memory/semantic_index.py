"""An index of meanings in SQLite: finds what is alike in sense, whenever it was written."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from agents.memory.lexical_index import IndexUnavailableError, Match
from chain.base.sqlite import open_database, transaction

if TYPE_CHECKING:
    from pathlib import Path

    from agents.memory.embedding import Embedder

_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors"
    "(memory_id TEXT PRIMARY KEY, channel TEXT NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL)"
)


class SemanticIndex:
    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._embedder = embedder
        try:
            self._connection = open_database(path)
            self._connection.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise IndexUnavailableError(f"the index {path.name} cannot be opened") from error

    def close(self) -> None:
        self._connection.close()

    def add(self, memory_id: str, channel: str, text: str) -> None:
        """The same id again replaces what was there."""
        row = (memory_id, channel, self._embedder.name, self._embedder.embed(text).tobytes())
        try:
            with transaction(self._connection):
                self._connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be written") from error

    def known(self, channel: str) -> frozenset[str]:
        """Ids whose vectors are of the model that is there now."""
        return frozenset(memory_id for memory_id, _ in self._rows(channel))

    def search(self, text: str, channel: str, most: int) -> tuple[Match, ...]:
        """Of one channel alone, the most alike first; age plays no part."""
        import numpy as np

        rows = self._rows(channel)
        if not rows:
            return ()
        vectors = np.stack([np.frombuffer(vector, dtype=np.float32) for _, vector in rows])
        scores = vectors @ self._embedder.embed(text)
        found = [
            Match(memory_id, float(score))
            for (memory_id, _), score in zip(rows, scores, strict=True)
        ]
        return tuple(sorted(found, key=lambda one: (-one.score, one.memory_id))[:most])

    def _rows(self, channel: str) -> list[tuple[str, bytes]]:
        try:
            return self._connection.execute(
                "SELECT memory_id, vector FROM vectors WHERE channel = ? AND model = ?",
                (channel, self._embedder.name),
            ).fetchall()
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be read") from error
