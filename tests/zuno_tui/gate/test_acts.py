"""Whatever is approved: one hash, one use, ten minutes, on the machine it was given on."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chain.base.units import APPROVAL_SECONDS
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from zuno_tui.gate.acts import (
    make_given_approval,
    refuse_changed,
    refuse_over,
    seal,
    waiting_approval,
)
from zuno_tui.gate.approval_tag import is_tagged, make_tag
from zuno_tui.gate.question import Question
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

NOW = 1_800_000_000.0
KINDS = [ActKind.PLAN, ActKind.TRADE, ActKind.ORDER]


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox.open(tmp_path / "outbox.db") as opened:
        yield opened


def given(outbox: Outbox, kind: ActKind, plan_id: str = "plan_7", at: float = NOW) -> GivenApproval:
    content = {"plan": plan_id, "givenAt": at}
    approval = make_given_approval(kind, plan_id, seal(content), {}, now=at)
    outbox.give(approval)
    return approval


def refusal(act: Callable[..., object], *given: object) -> RefusalCode:
    with pytest.raises(GateRefusedError) as refused:
        act(*given)
    return refused.value.code


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_found_by_its_plan_or_as_the_newest_and_only_under_its_hash(
    outbox: Outbox, kind: ActKind
) -> None:
    assert refusal(waiting_approval, outbox, kind, None) is RefusalCode.NOT_APPROVED_HERE
    first = given(outbox, kind)
    other = given(outbox, kind, "plan_8")
    again = given(outbox, kind, at=NOW + 1)

    assert waiting_approval(outbox, kind, None) == again
    assert waiting_approval(outbox, kind, "plan_7", again.hash) == again
    for wrong in (first.hash, other.hash, "0" * 64):
        assert refusal(waiting_approval, outbox, kind, "plan_7", wrong) is RefusalCode.ANOTHER_HASH
    for elsewhere in set(KINDS) - {kind}:
        with pytest.raises(GateRefusedError, match=r"^plan_7 is not approved"):
            waiting_approval(outbox, elsewhere, "plan_7")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_used_once_and_says_whether_anything_came_of_it(
    outbox: Outbox, kind: ActKind
) -> None:
    approval = given(outbox, kind)
    outbox.use(approval.hash, now=NOW + 1)

    with pytest.raises(OutboxError, match="used already"):
        outbox.use(approval.hash, now=NOW + 1)
    with pytest.raises(OutboxError, match="used once"):
        outbox.give(approval)
    with pytest.raises(GateRefusedError, match="was applied before"):
        waiting_approval(outbox, kind, "plan_7")
    with pytest.raises(GateRefusedError, match="was stopped right after the word"):
        waiting_approval(outbox, kind, "plan_7", happened=lambda _: False)


@pytest.mark.parametrize("kind", KINDS)
def test_it_lasts_ten_minutes_and_is_not_from_the_future(outbox: Outbox, kind: ActKind) -> None:
    approval = given(outbox, kind)
    for good in (NOW - 59, NOW, NOW + APPROVAL_SECONDS - 1):
        refuse_over(approval, good)
    for late in (NOW + APPROVAL_SECONDS, NOW + 1e6, NOW - 61):
        assert refusal(refuse_over, approval, late) is RefusalCode.DRIFT
    with pytest.raises(OutboxError, match="older than ten minutes"):
        outbox.use(approval.hash, now=NOW + APPROVAL_SECONDS)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_changed_or_not_vouched_for_here_is_refused(outbox: Outbox, kind: ActKind) -> None:
    approval = given(outbox, kind)
    refuse_changed(approval, approval.hash)
    for sealed in (None, "", seal({"plan": "plan_7", "givenAt": NOW + 1})):
        assert refusal(refuse_changed, approval, sealed) is RefusalCode.CHANGED_ON_DISK
    for tag, words in (("", "before zuno was updated"), ("ab" * 32, "was not given here")):
        outbox.give(GivenApproval("cd" * 32, kind, "plan_9", NOW, {}, tag))
        with pytest.raises(GateRefusedError, match=words):
            waiting_approval(outbox, kind, "plan_9")
    with pytest.raises(GateRefusedError, match="before zuno was updated"):
        waiting_approval(outbox, kind, "plan_of_before", kept_elsewhere=True)


def test_a_question_is_answered_by_its_word_under_its_hash_in_time() -> None:
    question = Question("aa", "apply", NOW + 5, needs_passphrase=True)

    def objection(approval: str, word: str, now: float, *, passphrase: bool = True) -> str:
        return question.objection(approval, word, has_passphrase=passphrase, now=now) or ""

    assert objection("aa", "apply", NOW) == ""
    assert "under that hash" in objection("ab", "apply", NOW)
    assert "under that hash" in objection("aa", "apply", NOW + 5)
    for word in ("Apply", "apply ", "trade", ""):
        assert "not the word" in objection("aa", word, NOW)
    assert "passphrase" in objection("aa", "apply", NOW, passphrase=False)
    watched = Question("aa", "apply", NOW + 5, refusal="nothing: it is watch-only")
    assert "watch-only" in (watched.objection("aa", "apply", has_passphrase=True, now=NOW) or "")


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
