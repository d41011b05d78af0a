"""Databases of a later version are refused, and those from before versions are taken over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from chain.base.sqlite import NewerDatabaseError, open_database, open_versioned
from chain.exchange.orders.journal import TradeJournal

if TYPE_CHECKING:
    from pathlib import Path


def _version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def test_one_without_a_version_is_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    open_database(path).close()
    assert _version(path) == 0
    open_versioned(path, 1).close()
    assert _version(path) == 1


def test_a_later_one_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "trades.db"
    with TradeJournal.open(path):
        pass
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(NewerDatabaseError, match="written by a newer zuno"):
        TradeJournal.open(path)
    assert _version(path) == 9
