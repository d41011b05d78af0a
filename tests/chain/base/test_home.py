import os
import stat
from pathlib import Path

import pytest

from chain.base.home import Home, HomeError, cache_folder, set_aside, write_atomically


def test_the_flag_beats_the_environment_and_the_environment_the_default(tmp_path: Path) -> None:
    environment = {"ZUNO_HOME": str(tmp_path / "env")}

    assert Home.locate(environment, tmp_path / "flag").root == tmp_path / "flag"
    assert Home.locate(environment).root == tmp_path / "env"
    assert Home.locate({}).root == Path.home() / ".zuno"


def test_the_cache_is_where_the_person_or_the_system_says(tmp_path: Path) -> None:
    assert cache_folder({"ZUNO_CACHE": str(tmp_path)}) == tmp_path
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "zuno"


def test_the_home_folder_is_closed_to_others_even_if_it_was_open(tmp_path: Path) -> None:
    root = tmp_path / "home"
    root.mkdir(mode=0o755)

    Home(root, tmp_path).prepare()

    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_a_home_that_is_a_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")

    with pytest.raises(HomeError, match="--home"):
        Home(tmp_path / "home", tmp_path).prepare()


@pytest.mark.parametrize("made", [True, False], ids=["there", "still to be made"])
def test_sudo_in_somebody_elses_home_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    root = tmp_path / "theirs" / ".zuno"
    (root if made else root.parent).mkdir(parents=True)
    owner, stat_of = 4_242, Path.stat

    def owned(path: Path, **how: bool) -> os.stat_result:
        found = list(stat_of(path, **how))
        found[stat.ST_UID] = owner
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", owned)
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    with pytest.raises(HomeError, match=r"user 4242.* root.*without sudo.*--home"):
        Home(root, tmp_path).prepare()
    assert root.exists() is made


def test_another_users_home_is_refused_whoever_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with pytest.raises(HomeError):
        Home(tmp_path, tmp_path).require_own()
    Home(tmp_path / "new", tmp_path).require_own()


def test_a_written_file_is_private_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "alerts.json"

    write_atomically(path, b"first")
    write_atomically(path, b"second")

    assert path.read_bytes() == b"second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "alerts.json"
    write_atomically(path, b"old")

    def full_disk(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_corrupt_file_is_kept_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    path.write_bytes(b"broken")

    aside = set_aside(path, now=1_700_000_000.5)

    assert not path.exists()
    assert aside.name == "zuno.db.corrupt-1700000000"
    assert aside.read_bytes() == b"broken"
