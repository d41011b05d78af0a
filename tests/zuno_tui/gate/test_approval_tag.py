"""An approval is good on the machine it was given on, and nowhere else."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest

from chain.base.store import Store
from zuno_tui.gate.approval_tag import ApprovalTags, refuse_untagged, tag_approval
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from pathlib import Path

HASH, OTHER = "ab" * 32, "cd" * 32
NOW = 1_000_000.0


def _here(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True, mode=0o700)
    return {"XDG_RUNTIME_DIR": str(folder)}


def _code(store: Store, approval_hash: str, environment: dict[str, str]) -> RefusalCode | None:
    try:
        refuse_untagged(store, approval_hash, "plan", environment)
    except GateRefusedError as error:
        return error.code
    return None


def test_what_was_approved_here_is_let_through(tmp_path: Path) -> None:
    store, here = Store.in_memory(), _here(tmp_path / "run")

    tag_approval(store, HASH, now=NOW, environment=here)

    assert _code(store, HASH, here) is None


def test_another_hash_under_the_same_tag_is_refused(tmp_path: Path) -> None:
    store, here = Store.in_memory(), _here(tmp_path / "run")
    tag_approval(store, HASH, now=NOW, environment=here)
    store.put("approval-tags", OTHER, store.get("approval-tags", HASH), now=NOW)

    assert _code(store, OTHER, here) is RefusalCode.NOT_APPROVED_HERE


def test_a_journal_copied_to_another_machine_is_refused(tmp_path: Path) -> None:
    store, here, there = Store.in_memory(), _here(tmp_path / "run"), _here(tmp_path / "elsewhere")
    tag_approval(store, HASH, now=NOW, environment=here)
    tag_approval(Store.in_memory(), OTHER, now=NOW, environment=there)

    assert _code(store, HASH, there) is RefusalCode.NOT_APPROVED_HERE


def test_after_a_restart_nothing_is_vouched_for(tmp_path: Path) -> None:
    store, here = Store.in_memory(), _here(tmp_path / "run")
    tag_approval(store, HASH, now=NOW, environment=here)
    (tmp_path / "run" / "zuno" / "approval.key").unlink()

    assert _code(store, HASH, here) is RefusalCode.NOT_APPROVED_HERE


def test_nothing_at_all_is_no_tag(tmp_path: Path) -> None:
    assert _code(Store.in_memory(), HASH, _here(tmp_path / "run")) is RefusalCode.NOT_APPROVED_HERE


def test_a_key_that_others_may_read_vouches_for_nothing(tmp_path: Path) -> None:
    store, here = Store.in_memory(), _here(tmp_path / "run")
    tag_approval(store, HASH, now=NOW, environment=here)
    (tmp_path / "run" / "zuno" / "approval.key").chmod(0o644)

    with pytest.raises(GateRefusedError):
        refuse_untagged(store, HASH, "plan", here)


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    here, elsewhere = _here(tmp_path / "run"), tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "run" / "zuno").symlink_to(elsewhere)

    with pytest.raises(GateRefusedError):
        tag_approval(Store.in_memory(), HASH, now=NOW, environment=here)


def test_the_key_is_kept_where_it_ends_with_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    elsewhere = tmp_path / "temporary" / f"zuno-{os.getuid()}" / "approval.key"
    store = Store.in_memory()

    tag_approval(store, HASH, now=NOW, environment={"XDG_RUNTIME_DIR": str(tmp_path / "run")})
    assert (tmp_path / "run" / "zuno" / "approval.key").stat().st_size == 32
    assert not elsewhere.exists()
    for environment in ({}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": str(tmp_path / "no")}):
        tag_approval(store, OTHER, now=NOW, environment=environment)
        assert elsewhere.stat().st_size == 32
        assert _code(store, OTHER, environment) is None


def test_a_key_that_is_a_link_vouches_for_nothing(tmp_path: Path) -> None:
    """Who may write the folder for a moment would choose the key, and tag what they like."""
    store, here = Store.in_memory(), _here(tmp_path / "run")
    tag_approval(store, HASH, now=NOW, environment=here)
    key = tmp_path / "run" / "zuno" / "approval.key"
    key.rename(tmp_path / "chosen.key")
    key.symlink_to(tmp_path / "chosen.key")

    with pytest.raises(GateRefusedError):
        refuse_untagged(store, HASH, "plan", here)


def test_asking_makes_no_key_and_approving_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, here, synced = Store.in_memory(), _here(tmp_path / "run"), list[int]()
    folder = tmp_path / "run" / "zuno"
    assert _code(store, HASH, here) is RefusalCode.NOT_APPROVED_HERE
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(
        os, "fsync", lambda _: synced.extend(path.stat().st_size for path in folder.iterdir())
    )
    for _ in range(2):
        tag_approval(store, HASH, now=NOW, environment=here)
    assert [path.name for path in folder.iterdir()] == ["approval.key"]
    assert synced == [32], "a power cut could leave a key of nothing, which anybody knows"


@pytest.mark.parametrize("mode", [0o601, 0o602, 0o604, 0o610, 0o620, 0o640])
def test_a_key_that_others_may_use_in_any_way_is_refused(tmp_path: Path, mode: int) -> None:
    store, here = Store.in_memory(), _here(tmp_path / "run")
    tag_approval(store, HASH, now=NOW, environment=here)
    (tmp_path / "run" / "zuno" / "approval.key").chmod(mode)
    with pytest.raises(GateRefusedError, match="not this user's alone"):
        refuse_untagged(store, HASH, "plan", here)


def test_a_key_of_another_user_and_one_that_cannot_be_opened_vouch_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, here = Store.in_memory(), _here(tmp_path / "run")
    tag_approval(store, HASH, now=NOW, environment=here)

    def refuse(*_: object) -> int:
        raise PermissionError

    with monkeypatch.context() as closed:
        closed.setattr(os, "open", refuse)
        with pytest.raises(PermissionError):
            refuse_untagged(store, HASH, "plan", here)
    monkeypatch.setattr(os, "getuid", lambda: 4_321)
    with pytest.raises(GateRefusedError, match="not this user's alone"):
        refuse_untagged(store, HASH, "plan", here)


def test_what_is_kept_elsewhere_is_vouched_for_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", _here(tmp_path / "run")["XDG_RUNTIME_DIR"])
    tags = ApprovalTags(Store.in_memory(), lambda: NOW)
    with pytest.raises(GateRefusedError):
        tags.refuse_untagged(HASH, "plan")
    tags.tag(HASH)
    tags.refuse_untagged(HASH, "plan")
    assert tags.store.written_at("approval-tags", HASH) == NOW
