"""Files that hold secrets: who may have read them, how much is read, and how one is begun."""

import os
import stat
from pathlib import Path

import pytest

from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.files import MOST_BYTES, read_bounded, read_private, write_once
from chain.wallet.secrets import guard_process

SECRET = b"a passphrase"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_file_of_ones_own_is_read(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert read_private(file) == read_bounded(file) == SECRET


@pytest.mark.parametrize("mode", [0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o644])
def test_a_secret_that_others_could_read_or_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(WalletRefusedError, match="chmod 600"):
        read_private(file)
    assert read_bounded(file) == SECRET


@pytest.mark.parametrize(
    ("user", "is_taken"), [(1_234, True), (0, True), (1, False), (-1, False), (4_321, False)]
)
def test_a_secret_of_somebody_else_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch, user: int, is_taken: bool
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1_234)
    status = os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, user, 0, 0, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: status)
    if is_taken:
        assert read_private(file) == SECRET
    else:
        with pytest.raises(WalletRefusedError, match="belongs to somebody else"):
            read_private(file)
    assert read_bounded(file) == SECRET


def test_a_file_is_read_up_to_its_bound_and_not_beyond(file: Path) -> None:
    assert MOST_BYTES == 65_536
    file.write_bytes(b"x" * 65_536)
    assert len(read_bounded(file)) == 65_536
    file.write_bytes(b"x" * 65_537)
    with pytest.raises(WalletError, match="at most 64 KB"):
        read_bounded(file)


def test_what_is_not_there_and_what_is_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(WalletError, match="cannot be read: No such file"):
        read_bounded(tmp_path / "none")
    with pytest.raises(WalletError, match="cannot be read: Is a directory"):
        read_bounded(tmp_path)


def test_a_folder_on_the_way_is_made_and_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "one" / "two" / "secret"
    write_once(path, SECRET)
    path.parent.chmod(0o755)
    write_once(path.with_name("second"), SECRET)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_bytes() == path.with_name("second").read_bytes() == SECRET


def test_a_secret_is_on_disk_with_its_name_when_it_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "secret", list[object]()

    def sync(file: int) -> None:
        place = Path(f"/proc/self/fd/{file}").readlink()
        synced.append((place, path.stat().st_size))

    monkeypatch.setattr(os, "fsync", sync)
    write_once(path, SECRET)

    assert synced == [(path, len(SECRET)), (tmp_path, len(SECRET))]


def test_a_disk_that_keeps_something_else_is_found_out_and_the_file_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: SECRET[:-1])
    with pytest.raises(WalletError, match="did not keep what was written"):
        write_once(tmp_path / "secret", SECRET)
    assert list(tmp_path.iterdir()) == []


def test_why_a_write_failed_is_said_though_its_file_is_gone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"

    def fail(_: int) -> None:
        path.unlink()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write_once(path, SECRET)


def test_a_system_that_cannot_guard_a_process_stops_no_wallet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("resource.setrlimit", refuse)
    guard_process()
