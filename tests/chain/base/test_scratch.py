"""Temporary folders: gone with their process, and what a kill left is swept by the next one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chain.base.home import hold_lock
from chain.base.scratch import leave_behind, remove_scratch, scratch_folder

HOLDER = """
import sys
from chain.base.scratch import scratch_folder
with scratch_folder("demo") as folder:
    (folder / "kept").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def _holder(place: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_folder_is_private_and_goes_with_its_block(place: Path) -> None:
    with scratch_folder("demo") as folder:
        # Settings and stores lock the folder they are in for as long as they write.
        with hold_lock(folder):
            pass
        assert folder.parent.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("x")
    assert list(place.iterdir()) == []


def test_what_a_kill_left_goes_with_the_next_start_and_what_is_held_stays(place: Path) -> None:
    killed, left = _holder(place)
    holding, held = _holder(place)
    with killed, holding:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        with scratch_folder("anvil") as folder:
            assert {path.name for path in place.iterdir()} == {
                folder.parent.name,
                Path(held).parent.name,
            }
        assert left != held
        holding.communicate("")
    assert list(place.iterdir()) == []


def test_links_files_and_what_is_called_otherwise_are_left_alone(
    place: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "kept").write_text("x")
    (place / "zuno-run-demo-link").symlink_to(precious)
    (place / "zuno-run-demo-file").write_text("x")
    approvals = place / f"zuno-{os.getuid()}"
    approvals.mkdir()
    (approvals / "approval.key").write_text("x")
    inside = place / "zuno-run-demo-old"
    inside.mkdir()
    (inside / "link").symlink_to(precious)

    with scratch_folder("demo"):
        pass

    assert {path.name for path in place.iterdir()} == {
        "zuno-run-demo-link",
        "zuno-run-demo-file",
        approvals.name,
    }
    assert (precious / "kept").exists()
    assert (approvals / "approval.key").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make somebody else's folder")
def test_folders_of_other_users_stay(place: Path) -> None:
    other = place / "zuno-run-demo-other"
    other.mkdir()
    os.chown(other, 12345, 12345)
    with scratch_folder("demo"):
        pass
    assert other.is_dir()


def test_what_is_left_for_a_reader_stays_until_the_next_start(place: Path) -> None:
    with scratch_folder("demo") as folder:
        (folder / "desk.log").write_text("why")
        leave_behind(folder)
    assert (folder / "desk.log").exists()
    with scratch_folder("demo"):
        assert not folder.exists()


def test_all_can_be_removed_at_once(place: Path) -> None:
    with scratch_folder("demo"), scratch_folder("anvil"):
        remove_scratch()
        assert list(place.iterdir()) == []
