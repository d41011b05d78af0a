"""What is kept in files and databases: versions, locks, and values read once."""

import multiprocessing
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import Struct

from chain.base.once_per_object import once_per_object
from chain.base.sqlite import NewerDatabaseError, open_database, open_versioned
from chain.base.store import Store, StoreError
from chain.exchange.orders.journal import TradeJournal


def test_what_is_put_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    with Store.open(path, now=0)[0] as store:
        store.put("cursor", "base", {"block": 7, "ids": ["1", "2"]}, now=5.0)

    with Store.open(path, now=0)[0] as store:
        assert store.get("cursor", "base") == {"block": 7, "ids": ["1", "2"]}
        assert store.written_at("cursor", "base") == 5.0
        assert store.get("cursor", "ethereum") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_many_keys_are_read_in_one_question() -> None:
    store = Store.in_memory()
    store.put_many("pool", {str(i): i for i in range(2_000)}, now=1.0)

    assert store.get_many("pool", ["3", "1999", "absent"]) == {"3": 3, "1999": 1999}
    assert len(store.items("pool")) == 2_000


def test_namespaces_do_not_mix() -> None:
    store = Store.in_memory()
    store.put("a", "key", 1, now=0)
    store.put("b", "key", 2, now=0)

    store.forget("a")

    assert store.get("a", "key") is None
    assert store.get("b", "key") == 2


def test_a_value_json_cannot_hold_writes_nothing() -> None:
    store = Store.in_memory()

    with pytest.raises(TypeError):
        store.put_many("a", {"good": 1, "bad": object()}, now=0)

    assert store.items("a") == {}


def test_a_corrupt_database_is_set_aside_and_said(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    path.write_bytes(b"this is not a database, not at all" * 100)

    store, aside = Store.open(path, now=42)

    assert aside is not None
    assert aside.read_bytes().startswith(b"this is not")
    store.put("a", "b", 1, now=0)
    assert store.get("a", "b") == 1


def test_a_database_of_a_newer_zuno_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    with Store.open(path, now=0)[0] as store:
        store._connection.execute("PRAGMA user_version = 99")

    with pytest.raises(StoreError, match="newer"):
        Store.open(path, now=0)
    assert path.exists()


def test_a_link_in_place_of_the_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / "zuno.db").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic"):
        Store.open(tmp_path / "zuno.db", now=0)


def _write_a_hundred(path: str, writer: int) -> None:
    with Store.open(Path(path), now=0)[0] as store:
        for i in range(100):
            store.put("many", f"{writer}-{i}", i, now=0)


def test_four_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    Store.open(path, now=0)[0].close()
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_a_hundred, args=(str(path), n)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    with Store.open(path, now=0)[0] as store:
        assert len(store.items("many")) == 400


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


_VISIT = """
import sys
from pathlib import Path
from chain.base.store import Store
store, _ = Store.open(Path(sys.argv[1]), now=0.0)
print(store.get("alerts", "7"))
store.close()
"""


def test_a_visitor_that_leaves_takes_no_writes_along(tmp_path: Path) -> None:
    """The first process opens twice, as a monitor does; a second comes, reads and leaves."""
    path = tmp_path / "zuno.db"
    first, _ = Store.open(path, now=0.0)
    second, _ = Store.open(path, now=0.0)
    first.put("alerts", "7", "open", now=0.0)
    assert _visited(path) == "open"
    first.put("alerts", "7", "resolved", now=1.0)
    assert _visited(path) == "resolved"
    second.close()
    first.close()


def _visited(path: Path) -> str:
    command = [sys.executable, "-c", _VISIT, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class _Source(Struct, frozen=True, weakref=True):
    number: int


def test_it_is_made_once_for_an_object_and_anew_for_its_equal() -> None:
    asked: list[_Source] = []

    @once_per_object
    def doubled(source: _Source) -> int:
        asked.append(source)
        return source.number * 2

    first, equal = _Source(3), _Source(3)

    assert [doubled(one) for one in (first, first, equal)] == [6, 6, 6]
    assert [one is first for one in asked] == [True, False]


def test_an_object_in_the_place_of_one_that_is_gone_is_asked_for_itself() -> None:
    @once_per_object
    def doubled(source: _Source) -> int:
        return source.number * 2

    for number in range(1_000):
        assert doubled(_Source(number)) == number * 2
