"""The journal's own file: begun whole, and refused when it is damaged."""

import multiprocessing
import os
import resource
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import pytest

from chain.base.errors import Failure
from chain.execution.outbox import journal
from chain.execution.outbox.journal import JOURNAL_VERSION, OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, Doubt, EndCode, PlannedDispatch, StepState
from chain.execution.transaction import Authorization
from tests.chain.execution import outbox_driver
from tests.chain.execution.outbox_kit import KeySigner, dearer, planned, transfer

RECORDED = Path(__file__).parents[2] / "recorded" / "homes"


def written(path: Path, plan: PlannedDispatch) -> Dispatch:
    """A plan in the journal whose first step was sent."""
    with Outbox.open(path) as outbox:
        outbox.plan(plan, now=1)
        outbox.approve(plan.hash, now=2)
        outbox.consume(plan.hash, now=3)
        signed = KeySigner().sign(plan.steps[0].transaction)
        step = outbox.record_signed(plan.hash, 0, signed, now=4)
        outbox.mark_sent(step, signed.hash, now=5)
        return outbox.dispatch(plan.hash)


def test_it_is_begun_whole_private_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"

    with Outbox.open(path) as outbox:
        settings = outbox._connection
        assert settings.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert settings.execute("PRAGMA synchronous").fetchone() == (2,)
        assert settings.execute("PRAGMA foreign_keys").fetchone() == (1,)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["outbox.db"]


def test_what_is_kept_beside_the_journal_is_in_its_file(tmp_path: Path) -> None:
    with Outbox.open(tmp_path / "outbox.db") as outbox:
        outbox.store.put("approvals", "hash", {"a": 1}, now=0)

    with Outbox.open(tmp_path / "outbox.db") as outbox:
        assert outbox.store.get("approvals", "hash") == {"a": 1}


def test_processes_that_begin_it_at_once_begin_one(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    forks = multiprocessing.get_context("forkserver")
    starters = [forks.Process(target=outbox_driver.plan, args=(str(path), n)) for n in range(4)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()

    with Outbox.open(path) as outbox:
        assert {one.hash for one in outbox.dispatches()} == {"plan 0", "plan 1", "plan 2", "plan 3"}


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def _nothing(path: Path) -> None:
    path.write_bytes(b"")


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _holes(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(4096, len(content), 4096):
        content[place : place + 100] = b"\xa5" * 100
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_garbage, _nothing, _half, _holes])
def test_a_damaged_journal_is_refused_with_a_way_on_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "outbox.db"
    written(path, planned(transfer(0)))
    damage(path)
    content = path.read_bytes()

    with pytest.raises(OutboxError, match="is damaged") as refused:
        Outbox.open(path)

    assert "What was sent is written there" in refused.value.next_step
    assert path.read_bytes() == content


def test_damage_that_only_a_check_tells_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    written(path, planned(transfer(0)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (one)")
        connection.execute("INSERT INTO other VALUES (NULL)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE other (one NOT NULL)'"
            " WHERE name = 'other'"
        )
        connection.commit()
    with pytest.raises(OutboxError, match=r"is damaged: NULL value in other\.one"):
        Outbox.open(path)


def test_damage_found_while_reading_is_refused_with_words(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    written(path, planned(transfer(0)))
    with Outbox.open(path) as outbox:
        outbox._connection.execute("DROP TABLE outbox_versions")
        with pytest.raises(OutboxError, match="cannot be read"):
            outbox.dispatches()


@pytest.mark.parametrize(
    ("version", "told"), [(JOURNAL_VERSION + 1, "a newer zuno"), (1, "an older zuno")]
)
def test_a_journal_of_another_version_and_a_link_are_left_alone(
    tmp_path: Path, version: int, told: str
) -> None:
    path = tmp_path / "outbox.db"
    Outbox.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE outbox_version SET version = ?", (version,))
    connection.close()
    with pytest.raises(OutboxError, match=told):
        Outbox.open(path)
    (tmp_path / "link.db").symlink_to(path)
    with pytest.raises(OutboxError, match="cannot be opened"):
        Outbox.open(tmp_path / "link.db")


def _tables(outbox: Outbox) -> set[tuple[str, str]]:
    """Every table of the journal's own, as it was made."""
    asked = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'outbox%'"
    return set(outbox._connection.execute(asked).fetchall())


def test_a_journal_of_an_older_version_is_migrated_and_a_copy_is_kept(tmp_path: Path) -> None:
    with tarfile.open(RECORDED / "2de4571.tar.gz") as home:
        home.extractall(tmp_path, filter="data")
    path = tmp_path / "outbox.db"
    with closing(sqlite3.connect(path)) as before:
        signed = before.execute("SELECT hash, raw FROM outbox_versions ORDER BY hash").fetchall()
        steps = before.execute("SELECT dispatch, position, state FROM outbox_steps").fetchall()

    with Outbox.open(path) as outbox:
        dispatches = outbox.dispatches()
        assert outbox._connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert _tables(outbox) == _tables(Outbox.in_memory())
        found = outbox._connection.execute("SELECT version FROM outbox_version").fetchall()
        assert found == [(JOURNAL_VERSION,)]

    found = [
        (version.transaction.hash, version.transaction.raw)
        for dispatch in dispatches
        for step in dispatch.steps
        for version in step.versions
    ]
    assert sorted(found) == signed
    assert {(one.dispatch, one.position, one.state) for d in dispatches for one in d.steps} == set(
        steps
    )
    kept = path.with_name("outbox.db.v2")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with closing(sqlite3.connect(kept)) as copy:
        assert copy.execute("SELECT version FROM outbox_version").fetchone() == (2,)
        same = copy.execute("SELECT hash, raw FROM outbox_versions ORDER BY hash").fetchall()
        assert same == signed
    with Outbox.open(path) as again:
        assert again.dispatches() == dispatches


def test_after_a_restart_the_very_same_bytes_may_be_signed_once_more(tmp_path: Path) -> None:
    signed = KeySigner().sign(transfer(0))
    with Outbox.open(tmp_path / "outbox.db") as outbox:
        for number, name in enumerate(("first", "again")):
            outbox.plan(planned(transfer(0), hash=name), now=number)
            outbox.approve(name, now=number)
            outbox.consume(name, now=number)
            step = outbox.record_signed(name, 0, signed, now=number)
            outbox.mark_sent(step, signed.hash, now=number)
            outbox.end(name, EndCode.CHAIN_RESTARTED, now=number)
        first, again = (outbox.dispatch(one).steps[0].versions for one in ("first", "again"))
    assert [one.transaction for one in first] == [one.transaction for one in again] == [signed]
    assert (first[0].sent_at, again[0].sent_at) == (0, 1)


def test_after_the_first_signature_a_failed_write_never_says_that_nothing_was_sent() -> None:
    first, second = transfer(5), transfer(6)
    plan = planned(first, second)
    signed = [KeySigner().sign(step.transaction) for step in plan.steps]
    with Outbox.in_memory() as outbox:
        failing = partial(_failed_write, outbox)
        assert "Nothing was sent." in failing(lambda: outbox.plan(plan, now=0))
        outbox.plan(plan, now=0)
        outbox.approve(plan.hash, now=0)
        assert "Nothing was sent." in failing(lambda: outbox.consume(plan.hash, now=1))
        outbox.consume(plan.hash, now=1)
        unwritten = failing(lambda: outbox.record_signed(plan.hash, 0, signed[0], now=2))
        unapproved = planned(first, hash="other", plan_id="other")
        outbox.plan(unapproved, now=0)
        assert "Nothing was sent." in failing(lambda: outbox.approve("other", now=0))
        assert "Nothing was sent." in unwritten
        step = outbox.record_signed(plan.hash, 0, signed[0], now=2)
        later: tuple[Callable[[], object], ...] = (
            lambda: outbox.mark_sent(step, signed[0].hash, now=3),
            lambda: outbox.mark_dropped(step, now=3, reason="a node refused it"),
            lambda: outbox.mark_unclear(step, Doubt.NONCE_TAKEN, now=3),
            lambda: outbox.record_signed(plan.hash, 1, signed[1], now=4),
            lambda: outbox.end(plan.hash, EndCode.NONCE_SPENT, now=5),
            lambda: outbox.lift_end(plan.hash),
            lambda: outbox.discard_unsigned(plan.hash, now=5, reason="given up"),
            lambda: outbox.approve_replacement(plan.hash, 0, dearer(first), now=5),
            lambda: outbox.resolve(plan.hash, now=5),
        )
        for write in later:
            told = failing(write)
            assert "may have been sent" in told
            assert "Nothing was sent" not in told
            assert "zuno outbox" in told


def _failed_write(outbox: Outbox, write: Callable[[], object]) -> str:
    outbox._connection.execute("PRAGMA query_only = ON")
    try:
        with pytest.raises(OutboxError) as told:
            write()
        return str(told.value)
    finally:
        outbox._connection.execute("PRAGMA query_only = OFF")


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE outbox_version SET version = 9")
        connection.commit()


def test_a_journal_that_is_closed_or_refused_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    before = _descriptors()
    Outbox.open(path).close()
    assert _descriptors() == before
    for spoil in (_newer, _holes, _garbage, _nothing):
        path.unlink()
        written(path, planned(transfer(0)))
        spoil(path)
        with pytest.raises(OutboxError):
            Outbox.open(path)
        assert _descriptors() == before, spoil


def test_a_journal_on_a_full_disk_is_refused_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    written(path, planned(transfer(0)))
    before, limits = _descriptors(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OutboxError, match=r"cannot be used now: .* Nothing is signed"):
            Outbox.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert _descriptors() == before
    with Outbox.open(path) as outbox:
        assert [each.hash for each in outbox.dispatches()] == ["hash"]


def test_a_new_journal_lasts_by_its_name_and_one_that_is_there_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[Path]()
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink())
    )
    path = tmp_path / "outbox.db"
    written(path, planned(transfer(0)))
    assert synced == [tmp_path]
    Outbox.open(path).close()
    assert synced == [tmp_path]
    with Outbox.open(path) as outbox:
        assert [each.hash for each in outbox.dispatches()] == ["hash"]
    assert [each.name for each in tmp_path.iterdir()] == ["outbox.db"]


def test_a_file_that_another_zuno_has_begun_and_not_written_is_written(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    for statement in ("CREATE TABLE other (one)", "CREATE TABLE outbox_version (version INTEGER)"):
        with closing(sqlite3.connect(path)) as begun:
            begun.execute(statement)
        with Outbox.open(path) as outbox:
            assert outbox.dispatches() == ()
            found = outbox._connection.execute("SELECT version FROM outbox_version").fetchall()
            assert found == [(JOURNAL_VERSION,)]
        path.unlink()


def _of_version_two(folder: Path) -> Path:
    with tarfile.open(RECORDED / "2de4571.tar.gz") as home:
        home.extractall(folder, filter="data")
    return folder / "outbox.db"


def test_a_copy_that_was_made_before_is_kept_and_one_left_unfinished_is_made_anew(
    tmp_path: Path,
) -> None:
    path = _of_version_two(tmp_path)
    unfinished = path.with_name("outbox.db.v2.unfinished")
    unfinished.write_bytes(b"not a database" * 1000)
    Outbox.open(path).close()
    copy = path.with_name("outbox.db.v2")
    with closing(sqlite3.connect(copy)) as kept:
        assert kept.execute("SELECT version FROM outbox_version").fetchone() == (2,)
        assert kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not unfinished.exists()

    copy.write_bytes(b"mine")
    _of_version_two(tmp_path)
    Outbox.open(path).close()
    assert copy.read_bytes() == b"mine"


def test_what_was_planned_and_never_approved_is_given_up_with_the_rest() -> None:
    with Outbox.in_memory() as outbox:
        outbox.plan(planned(transfer(0)), now=0)
        (step,) = outbox.discard_unsigned("hash", now=1, reason="why").steps
        assert (step.state, step.settled, step.reason) == (StepState.DISCARDED, True, "why")


def test_every_commit_is_on_disk_whatever_sqlite_was_built_to_do() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA foreign_keys = OFF")
        journal.prepare(connection)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_transaction_is_read_as_it_was_written_down() -> None:
    lent = Authorization(31337, "0x" + "63" * 20, 6)
    big = transfer(5, value=2**90, data=b"\0\1", fee=2**70, tip=2**65)
    for transaction in (big, msgspec.structs.replace(big, authorization=lent)):
        with Outbox.in_memory() as outbox:
            (step,) = outbox.plan(planned(transaction), now=0).steps
            assert step.transaction == transaction
            assert step.was_included is False


def test_a_refusal_says_what_to_do_next_on_a_line_of_its_own() -> None:
    told = OutboxError("It is so.", "Do this.")
    assert (str(told), told.sentence, told.next_step) == (
        "It is so.\nDo this.",
        "It is so.",
        "Do this.",
    )
    assert str(OutboxError("It is so.")) == "It is so."
    assert told.failure is Failure.REFUSED
