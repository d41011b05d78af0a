"""Whatever is approved: one hash, one use, ten minutes, on this machine; the same for all kinds."""

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
