"""An approval is good on the machine it was given on, and nowhere else."""

import os
import tempfile
from pathlib import Path

import pytest

from zuno_tui.gate.approval_tag import is_tagged, make_tag
from zuno_tui.gate.refusal import GateRefusedError

HASH, OTHER = "ab" * 32, "cd" * 32


def _here(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True, mode=0o700)
    return {"XDG_RUNTIME_DIR": str(folder)}


def test_what_was_approved_here_is_let_through(tmp_path: Path) -> None:
    here = _here(tmp_path / "run")

    assert is_tagged(HASH, make_tag(HASH, here), here)


def test_another_hash_under_the_same_tag_is_refused(tmp_path: Path) -> None:
    here = _here(tmp_path / "run")
    assert not is_tagged(OTHER, make_tag(HASH, here), here)


def test_a_journal_copied_to_another_machine_is_refused(tmp_path: Path) -> None:
    here, there = _here(tmp_path / "run"), _here(tmp_path / "elsewhere")
    tag = make_tag(HASH, here)
    make_tag(OTHER, there)

    assert not is_tagged(HASH, tag, there)


def test_after_a_restart_nothing_is_vouched_for(tmp_path: Path) -> None:
    here = _here(tmp_path / "run")
    tag = make_tag(HASH, here)
    (tmp_path / "run" / "zuno" / "approval.key").unlink()

    assert not is_tagged(HASH, tag, here)


def test_nothing_at_all_is_no_tag(tmp_path: Path) -> None:
    assert not is_tagged(HASH, "", _here(tmp_path / "run"))


def test_a_key_that_others_may_read_vouches_for_nothing(tmp_path: Path) -> None:
    here = _here(tmp_path / "run")
    tag = make_tag(HASH, here)
    (tmp_path / "run" / "zuno" / "approval.key").chmod(0o644)

    with pytest.raises(GateRefusedError):
        is_tagged(HASH, tag, here)


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    here, elsewhere = _here(tmp_path / "run"), tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "run" / "zuno").symlink_to(elsewhere)

    with pytest.raises(GateRefusedError):
        make_tag(HASH, here)


def test_the_key_is_kept_where_it_ends_with_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    elsewhere = tmp_path / "temporary" / f"zuno-{os.getuid()}" / "approval.key"

    make_tag(HASH, {"XDG_RUNTIME_DIR": str(tmp_path / "run")})
    assert (tmp_path / "run" / "zuno" / "approval.key").stat().st_size == 32
    assert not elsewhere.exists()
    for environment in ({}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": str(tmp_path / "no")}):
        tag = make_tag(OTHER, environment)
        assert elsewhere.stat().st_size == 32
        assert is_tagged(OTHER, tag, environment)


def test_a_key_that_is_a_link_vouches_for_nothing(tmp_path: Path) -> None:
    """Who may write the folder for a moment would choose the key, and tag what they like."""
    here = _here(tmp_path / "run")
    tag = make_tag(HASH, here)
    key = tmp_path / "run" / "zuno" / "approval.key"
    key.rename(tmp_path / "chosen.key")
    key.symlink_to(tmp_path / "chosen.key")

    with pytest.raises(GateRefusedError):
        is_tagged(HASH, tag, here)


def test_asking_makes_no_key_and_approving_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, synced = _here(tmp_path / "run"), list[int]()
    folder = tmp_path / "run" / "zuno"
    assert not is_tagged(HASH, "", here)
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(
        os, "fsync", lambda _: synced.extend(path.stat().st_size for path in folder.iterdir())
    )
    for _ in range(2):
        make_tag(HASH, here)
    assert [path.name for path in folder.iterdir()] == ["approval.key"]
    assert synced == [32], "a power cut could leave a key of nothing, which anybody knows"


@pytest.mark.parametrize("mode", [0o601, 0o602, 0o604, 0o610, 0o620, 0o640])
def test_a_key_that_others_may_use_in_any_way_is_refused(tmp_path: Path, mode: int) -> None:
    here = _here(tmp_path / "run")
    tag = make_tag(HASH, here)
    (tmp_path / "run" / "zuno" / "approval.key").chmod(mode)
    with pytest.raises(GateRefusedError, match="not this user's alone"):
        is_tagged(HASH, tag, here)


def test_a_key_of_another_user_and_one_that_cannot_be_opened_vouch_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = _here(tmp_path / "run")
    tag = make_tag(HASH, here)

    def refuse(*_: object) -> int:
        raise PermissionError

    with monkeypatch.context() as closed:
        closed.setattr(os, "open", refuse)
        with pytest.raises(PermissionError):
            is_tagged(HASH, tag, here)
    monkeypatch.setattr(os, "getuid", lambda: 4_321)
    with pytest.raises(GateRefusedError, match="not this user's alone"):
        is_tagged(HASH, tag, here)
