"""What follows a choice on the card: the approval's own words, the apply's steps, the result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual.content import Content

from chain.clean_text import DROP
from zuno_tui.panes.frame import literal
from zuno_tui.panes.headings import heading
from zuno_tui.panes.plan_card import bulleted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zuno_tui.desk.views import ApprovalView, PlanView, ResultView

_LABEL = 9


def standing(plan: PlanView, width: int) -> Iterator[Content]:
    """The newest of result, progress and approval first."""
    if plan.result is not None:
        yield from _result(plan.result, width)
        yield Content("")
    if plan.progress:
        yield heading("APPLYING" if plan.result is None else "STEPS")
        for line in plan.progress:
            yield from bulleted(line, width, "✓")
        yield Content("")
    if plan.approval is not None and plan.result is None:
        yield from _approval(plan.approval, width, waits=not plan.progress)
        yield Content("")


def next_step(plan: PlanView) -> str:
    """What the border says to do now."""
    if plan.result is not None:
        return plan.result.state
    if plan.progress:
        return "applying"
    if plan.approval is not None:
        signs = plan.approval.can_sign
        return "approved: type apply" if signs else "approved, but nothing here can sign"
    if any(option.recommended and option.candidate is None for option in plan.options):
        return "hold: nothing to sign"
    return "type approve" if plan.options else ""


def _result(result: ResultView, width: int) -> Iterator[Content]:
    yield heading(f"RESULT  {result.state}")
    new = None if result.new_token_id is None else f"#{result.new_token_id}"
    for line in result.lines:
        style = "bold $success" if new is not None and new in line else ""
        yield from bulleted(line.strip(), width, " ", style)


def _approval(approval: ApprovalView, width: int, *, waits: bool) -> Iterator[Content]:
    """What comes of it first, then the bytes' own words, for who wants to check them here."""
    ends = datetime.fromtimestamp(approval.expires_at, UTC)
    yield heading(f"APPROVED  {approval.headline}")
    if waits and approval.can_sign:
        yield literal("Nothing is signed yet. Type apply to see it once more.", "bold $accent")
    for line in approval.outcome:
        yield from bulleted(line, width, "→")
    yield from _fact("expires", f"{ends:%H:%M:%S} UTC by the network's clock", width)
    yield from _fact("key", approval.signs_with, width)
    yield from _fact("wallet", approval.wallet, width)
    yield from _fact("hash", approval.hash, width)
    for place, step in enumerate(approval.steps, 1):
        yield literal(f"{place}. {step.name}", "bold")
        for sentence in step.sentences:
            yield from bulleted(sentence, width - 2, "  ")


def _fact(label: str, value: str, width: int) -> Iterator[Content]:
    """A value under itself where it is longer than the line: an address must be read whole."""
    room = max(8, width - _LABEL)
    clean = value.translate(DROP)
    for start in range(0, len(clean), room):
        head = label if start == 0 else ""
        yield Content.assemble((f"{head:<{_LABEL}}", "$quiet"), clean[start : start + room])
