"""The receipt before a signature, drawn: what is given, got and paid, and the steps that do it."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content

from chain.base.clean_text import DROP
from zuno_tui.present.charts import wide_gauge
from zuno_tui.present.views import ApprovalView, ReceiptLine, ReceiptView, StepProgress, StepView
from zuno_tui.screen.panes.frame import heading, literal

_PARTS = {
    "pool": "pool",
    "give": "you give",
    "get": "you get",
    "wallet": "wallet",
    "pay": "it costs",
    "bound": "guaranteed",
}
LABEL = 11
"""The cells of the words on the left that name what is beside them."""
_ROOMY = 80
_GAP = 2
_LONGEST_BESIDE = 20
_BELONGS = re.compile(r"(?<=\d) (?=[A-Z–]|\d\d:\d\d)|(?<=[+–]) (?=\d)|(?<=[≤≥≈]) (?=\$)")
"""Between a figure and its unit, a day and its hour, two edges: no line ends there."""
_WAITS = "○"
PROGRESS_MARKS = {"under way": "⟳", "done": "✓", "stopped": "✗"}
_COLOURS = {"under way": "$accent", "done": "$success", "stopped": "$error"}


class _StepRow(NamedTuple):
    """One step as it is drawn: its mark, what it does, and what stands right of it."""

    mark: str
    style: str
    words: str
    beside: str


def receipt_lines(
    approval: ApprovalView, width: int, *, brief: bool = False, airy: bool = False
) -> Iterator[Content]:
    """In the order one asks: what leaves, what comes, what it costs; warnings before it all.

    What is guaranteed is told in dollars alone where it has to be brief, and apart where it can be.
    """
    for line in approval.outcome:
        if line.startswith("!"):
            yield from wrapped(line, width, "", "bold $warning")
    receipt = approval.receipt
    if receipt is None:
        for line in approval.outcome:
            yield from wrapped(line, width, "")
        return
    if brief:
        receipt = replace(
            receipt,
            lines=(
                *(line for line in receipt.lines if line.part != "bound"),
                ReceiptLine("bound", " · ".join(_in_dollars(receipt))),
            ),
        )
    room = min(width, receipt_width(approval))
    yield from _ledger(receipt, room, airy=airy)
    if receipt.range is not None:
        if airy:
            yield Content("")
        drawn, now = receipt.range, f"  now {receipt.range.price}".translate(DROP)
        gauge = wide_gauge(drawn.progress, drawn.low, drawn.high, room - LABEL - cell_len(now))
        yield Content.assemble(
            (f"{'range':<{LABEL}}", "$quiet"), (gauge.translate(DROP), "$success"), now
        )


def _in_dollars(receipt: ReceiptView) -> Iterator[str]:
    for line in receipt.lines:
        if line.part == "bound":
            told = line.words.removeprefix("the position ")
            what = re.split(r"(?: cost)? at (?:least|most) ", told)[0]
            yield f"{what} {line.dollars}" if line.dollars else line.words


def step_lines(
    approval: ApprovalView, progress: Sequence[StepProgress], width: int
) -> Iterator[Content]:
    """Every step with what it allows or does, and right of it how far it has come."""
    count = len(approval.steps)
    if approval.as_one:
        # What becomes of the one transaction becomes of every step in it.
        progress = [step for step in progress[:1] for _ in approval.steps]
    done = sum(step.state == "done" for step in progress)
    yield heading(f"{done} OF {count} DONE" if progress else _steps_words(approval))
    rows = [
        _step_row(place, step, came)
        for place, (step, came) in enumerate(zip_longest(approval.steps, progress[:count]), 1)
    ]
    column = max((cell_len(row.beside) + _GAP for row in rows if row.beside), default=0)
    longest = max((cell_len(row.words) + 2 for row in rows), default=0)
    left = _part_cells(approval, width)
    room = min(width - column - left, longest)
    before = ""
    for row, step in zip(rows, approval.steps, strict=False):
        label, before = "" if step.part == before else step.part, step.part
        first, *rest = wrapped(row.words, room, f"{row.mark} ", head=row.style, under=2)
        pad = room + column - first.cell_length - cell_len(row.beside)
        beside = " " * max(1, pad) + row.beside if row.beside else ""
        yield Content.assemble((label.ljust(left)[:left], "$quiet"), first, (beside, "$quiet"))
        yield from (Content(" " * left) + line for line in rest)
    if approval.could_be_one and not progress:
        once = "As one transaction, all or nothing: delegate first, at the prompt"
        yield from wrapped(once, width, " " * (left + 2))


def detail_lines(approval: ApprovalView, width: int) -> Iterator[Content]:
    """Everything the bytes say, to the last digit: contracts, ends, every sentence, the hash."""
    yield from term_lines(approval, width)
    yield from wrapped(approval.signs_with, width, f"{'key':<{LABEL}}")
    # In one line of a terminal of eighty columns, to be compared with another.
    yield from wrapped(approval.hash, width, "hash ")
    yield Content("")
    for line in approval.outcome:
        yield from wrapped(line, width, "→ ")
    for place, step in enumerate(approval.steps, 1):
        yield literal(f"{place} {step.name}", "bold")
        for sentence in step.sentences:
            yield from wrapped(sentence, width, "  ")


def term_lines(approval: ApprovalView, width: int) -> Iterator[Content]:
    """Whom the bytes let move tokens, what they call, and when they end."""
    for label, words in approval.terms:
        yield from wrapped(words, width, f"{label:<{LABEL}}")


def receipt_width(approval: ApprovalView) -> int:
    """The cells in which no line of the receipt and of the steps has to be broken."""
    ledger = 0 if approval.receipt is None else _ledger_width(approval.receipt)
    steps = [cell_len(_step_row(1, step, None).words) + 3 for step in approval.steps]
    return max(ledger, *(cells + _part_cells(approval, _ROOMY) for cells in steps), 0)


def _part_cells(approval: ApprovalView, width: int) -> int:
    """Where steps only do one kind of thing, nobody has to be told which."""
    if len({step.part for step in approval.steps}) == 1:
        return 0
    return LABEL if width >= _ROOMY else len("approve ")


def countdown(seconds: float) -> str:
    """`9:41 left`; a minute more is never claimed."""
    whole = max(0, int(seconds))
    return f"{whole // 60}:{whole % 60:02} left"


def wrapped(
    text: str, width: int, bullet: str, style: str = "", *, head: str = "$quiet", under: int = 0
) -> Iterator[Content]:
    """A sentence wrapped under itself, by so many cells more."""
    rows = _rows(text, max(10, width - len(bullet)), under)
    for place, row in enumerate(rows):
        front = bullet if place == 0 else " " * len(bullet)
        yield Content.assemble((front, head), (row, style))


def _rows(text: str, width: int, under: int = 0) -> list[str]:
    glued = _BELONGS.sub("\u00a0", text.translate(DROP))
    rows = textwrap.wrap(glued, width, subsequent_indent=" " * under) or [""]
    return [row.replace("\u00a0", " ") for row in rows]


def _steps_words(approval: ApprovalView) -> str:
    count = len(approval.steps)
    if approval.as_one:
        return f"1 TRANSACTION, {count} STEPS, ALL OR NOTHING"
    return "1 STEP" if count == 1 else f"{count} STEPS, IN THIS ORDER"


def _step_row(place: int, step: StepView, came: StepProgress | None) -> _StepRow:
    words = f"{place} {step.brief or step.name}".translate(DROP)
    if came is None:
        return _StepRow(_WAITS, "$quiet", words, "")
    mark, style = PROGRESS_MARKS[came.state], _COLOURS[came.state]
    how = came.words.removeprefix(f"{step.name}: ").translate(DROP)
    beside = f"block {came.block:,}" if came.state == "done" and came.block is not None else how
    if came.state == "stopped" or len(beside) > _LONGEST_BESIDE:
        return _StepRow(mark, style, f"{words} · {how}", "")
    return _StepRow(mark, style, words, beside)


def _ledger_width(receipt: ReceiptView) -> int:
    """So wide that dollars stand right of the longest words, and no farther."""
    column = _dollar_column(receipt)
    told = ((cell_len(line.words.translate(DROP)), line.dollars) for line in receipt.lines)
    return LABEL + max((words + (column if dollars else 0) for words, dollars in told), default=0)


def _dollar_column(receipt: ReceiptView) -> int:
    return _GAP + max((cell_len(line.dollars.translate(DROP)) for line in receipt.lines), default=0)


def _ledger(receipt: ReceiptView, width: int, *, airy: bool) -> Iterator[Content]:
    """Words on the left, dollars under each other on the right."""
    before, column = "", _dollar_column(receipt)
    for line in receipt.lines:
        if airy and line.part == "bound" and before != line.part:
            yield Content("")
        label = "" if line.part == before else _PARTS[line.part]
        before, dollars = line.part, line.dollars.translate(DROP)
        rows = _rows(line.words, max(12, width - LABEL - (column if dollars else 0)))
        for place, row in enumerate(rows):
            last = place == len(rows) - 1
            pad = max(1, width - LABEL - cell_len(row) - cell_len(dollars))
            yield Content.assemble(
                (f"{label if place == 0 else '':<{LABEL}}", "$quiet"),
                (row, "$quiet" if line.part == "bound" else ""),
                (
                    " " * pad + dollars if last and dollars else "",
                    "$quiet" if line.part == "bound" else "bold",
                ),
            )
