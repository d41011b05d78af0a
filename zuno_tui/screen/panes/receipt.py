"""The receipt before a signature, drawn: what is given, got and paid, and the steps that do it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from chain.base.clean_text import DROP
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.shown.drawing.pieces import wide_gauge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from zuno_tui.shown.views import ApprovalView, ReceiptView, SentTransaction, StepProgress

_PARTS = {"give": "you give", "get": "you get", "wallet": "wallet", "pay": "you pay"}
_LABEL = 10
_SHORT_HASH = 6
_WAITS = "○"
PROGRESS_MARKS = {"under way": "⟳", "done": "✓", "stopped": "✗"}
_COLOURS = {"under way": "$accent", "done": "$success", "stopped": "$error"}


def receipt_lines(approval: ApprovalView, width: int) -> Iterator[Content]:
    """In the order one asks: what leaves, what comes, what it costs; then warnings."""
    for line in approval.outcome:
        if line.startswith("!"):
            yield from _wrapped(line, width, "", "bold $warning")
    receipt = approval.receipt
    if receipt is None:
        for line in approval.outcome:
            yield from _wrapped(line, width, "")
        return
    yield from _ledger(receipt, width)
    if receipt.range is not None:
        drawn, now = receipt.range, f"  now {receipt.range.price}"
        gauge = wide_gauge(drawn.progress, drawn.low, drawn.high, width - _LABEL - len(now))
        yield Content.assemble(
            (f"{'range':<{_LABEL}}", "$quiet"), (gauge.translate(DROP), "$success"), literal(now)
        )


def step_lines(
    approval: ApprovalView, progress: Sequence[StepProgress], width: int
) -> Iterator[Content]:
    """Every step with how far it has come, and what it allows or does."""
    count = len(approval.steps)
    done = sum(step.state == "done" for step in progress)
    yield heading(f"{done} OF {count} DONE" if progress else _steps_words(count))
    for place, step in enumerate(approval.steps):
        mark, style = _WAITS, "$quiet"
        if place < len(progress):
            state = progress[place].state
            mark, style = PROGRESS_MARKS[state], _COLOURS[state]
        words = step.brief or step.name
        if place < len(progress):
            words = f"{words} · {progress[place].words.removeprefix(f'{step.name}: ')}"
        yield from _wrapped(f"{place + 1} {words}", width, f"{mark} ", head=style, under=2)


def detail_lines(approval: ApprovalView, width: int) -> Iterator[Content]:
    """Everything the bytes say, to the last digit: contracts, ends, every sentence, the hash."""
    for label, words in (*approval.terms, ("key", approval.signs_with), ("hash", approval.hash)):
        yield from _wrapped(words, width, f"{label:<{_LABEL}}")
    yield Content("")
    for line in approval.outcome:
        yield from _wrapped(line, width, "→ ")
    for place, step in enumerate(approval.steps, 1):
        yield literal(f"{place} {step.name}", "bold")
        for sentence in step.sentences:
            yield from _wrapped(sentence, width, "  ")


def sent_line(sent: SentTransaction, *, links: bool) -> Content:
    """A hash that opens its page where the terminal can; its address in full where it cannot."""
    if sent.url is None:
        return literal(f"  {sent.step}: {sent.hash}")
    if not links:
        return literal(f"  {sent.step}: {sent.url}")
    short = f"{sent.hash[: 2 + _SHORT_HASH]}…{sent.hash[-_SHORT_HASH:]}"
    return literal(f"  {sent.step}: ") + Content.styled(short, f"underline link='{sent.url}'")


def countdown(seconds: float) -> str:
    """`9:41 left`; a minute more is never claimed."""
    whole = max(0, int(seconds))
    return f"{whole // 60}:{whole % 60:02} left"


def _steps_words(count: int) -> str:
    return "1 STEP" if count == 1 else f"{count} STEPS, IN THIS ORDER"


def _ledger(receipt: ReceiptView, width: int) -> Iterator[Content]:
    """Words on the left, dollars under each other on the right."""
    before, column = "", 1 + max(cell_len(line.dollars) for line in receipt.lines)
    for line in receipt.lines:
        label = "" if line.part == before else _PARTS[line.part]
        before = line.part
        told = line.words.translate(DROP)
        rows = textwrap.wrap(told, max(12, width - _LABEL - column)) or [""]
        for place, row in enumerate(rows):
            last = place == len(rows) - 1
            pad = max(1, width - _LABEL - cell_len(row) - cell_len(line.dollars))
            dollars = " " * pad + line.dollars if last and line.dollars else ""
            yield Content.assemble(
                (f"{label if place == 0 else '':<{_LABEL}}", "$quiet"), row, (dollars, "bold")
            )


def _wrapped(
    text: str, width: int, bullet: str, style: str = "", *, head: str = "$quiet", under: int = 0
) -> Iterator[Content]:
    """A sentence wrapped under itself, by so many cells more."""
    clean = text.translate(DROP)
    room = max(10, width - len(bullet))
    rows = textwrap.wrap(clean, room, subsequent_indent=" " * under) or [""]
    for place, row in enumerate(rows):
        front = bullet if place == 0 else " " * len(bullet)
        yield Content.assemble((front, head), (row, style))
