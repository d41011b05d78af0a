"""An index of words in SQLite: finds what is alike in words, whenever it was written."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

from chain.base.sqlite import open_database, transaction

_TABLE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5"
    "(memory_id UNINDEXED, channel UNINDEXED, text, tokenize = 'unicode61 tokenchars ''_''')"
)
_WORD = re.compile(r"[A-Za-z0-9_]{2,40}")
_MOST_WORDS = 40


class IndexUnavailableError(Exception):
    """The index cannot be used: the lines beside it are read instead."""


class Match(NamedTuple):
    memory_id: str
    score: float
    """Higher is more alike."""


class LexicalIndex:
    def __init__(self, path: Path) -> None:
        try:
            self._connection = open_database(path)
            self._connection.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise IndexUnavailableError(f"the index {path.name} cannot be opened") from error

    def close(self) -> None:
        self._connection.close()

    def add(self, memory_id: str, channel: str, text: str) -> None:
        """The same id again replaces what was there."""
        try:
            with transaction(self._connection):
                self._connection.execute("DELETE FROM memory WHERE memory_id = ?", (memory_id,))
                self._connection.execute(
                    "INSERT INTO memory VALUES (?, ?, ?)", (memory_id, channel, text)
                )
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be written") from error

    def holds(self, memory_id: str) -> bool:
        try:
            row = self._connection.execute(
                "SELECT 1 FROM memory WHERE memory_id = ? LIMIT 1", (memory_id,)
            ).fetchone()
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be read") from error
        return row is not None

    def search(self, text: str, channel: str, most: int) -> tuple[Match, ...]:
        """Of one channel alone, the most alike first; age plays no part."""
        words = list(dict.fromkeys(_WORD.findall(text)))[:_MOST_WORDS]
        if not words:
            return ()
        asked = " OR ".join(f'"{word}"' for word in words)
        try:
            rows = self._connection.execute(
                "SELECT memory_id, -bm25(memory) AS score FROM memory"
                " WHERE memory MATCH ? AND channel = ? ORDER BY score DESC, memory_id LIMIT ?",
                (asked, channel, most),
            ).fetchall()
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be read") from error
        return tuple(Match(*row) for row in rows)
