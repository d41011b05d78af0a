"""What the monitor keeps survives restarts, and a database that cannot be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.alerts.state import MonitorState
from agents.monitor.heartbeat import Beat, Sight, last_beat, write_beat
from chain.base.store import Store

if TYPE_CHECKING:
    from pathlib import Path

BEAT = Beat(
    at=1000.0,
    pid=7,
    host="here",
    interval_seconds=60.0,
    sights=(Sight("base", "0x" + "ab" * 20, 31_204_113, 12, None),),
    trouble=None,
)


def test_a_heartbeat_is_read_back_by_another_process(tmp_path: Path) -> None:
    notebook = MonitorState(tmp_path / "zuno.db")
    write_beat(notebook, BEAT)
    notebook.close()

    store, _ = Store.open(tmp_path / "zuno.db", now=0)
    with store:
        assert last_beat(store) == BEAT


def test_no_heartbeat_is_none_and_an_old_one_is_overdue() -> None:
    assert last_beat(Store.in_memory()) is None
    assert BEAT.age(1012.0) == 12
    assert BEAT.age(900.0) == 0
    assert not BEAT.overdue(1000.0 + 149)
    assert BEAT.overdue(1000.0 + 151)


def test_what_cannot_be_written_is_kept_and_written_when_it_can(tmp_path: Path) -> None:
    home = tmp_path / "home"
    notebook = MonitorState(home / "zuno.db")
    notebook.put("monitor", "a", 1, now=0)
    notebook.put("monitor", "b", 2, now=0)

    assert "zuno.db" in str(notebook.trouble)
    assert notebook.get("monitor", "a", now=0) == 1

    home.mkdir()
    notebook.put("monitor", "c", 3, now=0)
    assert str(notebook.trouble) == "None"
    notebook.close()
    with Store.open(home / "zuno.db", now=0)[0] as store:
        assert store.items("monitor") == {"a": 1, "b": 2, "c": 3}


def test_a_database_that_was_moved_away_is_followed_by_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    notebook = MonitorState(path)
    notebook.put("monitor", "a", 1, now=0)
    path.rename(tmp_path / "zuno.db.corrupt-1")
    for left in tmp_path.glob("zuno.db-*"):
        left.unlink()
    notebook.put("monitor", "b", 2, now=0)
    notebook.close()

    with Store.open(path, now=0)[0] as store:
        assert store.items("monitor") == {"a": 1, "b": 2}
