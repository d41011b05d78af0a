"""The receipt before a signature, drawn once for screen and shell: given, got, paid, and how."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile, zip_longest
from typing import NamedTuple

from msgspec import to_builtins
from msgspec.structs import replace
from rich.cells import cell_len

from chain.base.clean_text import DROP
from chain.base.units import list_words, usd
from zuno_tui.present.charts import DrawnTone, Line, StyledText, plain, wide_gauge
from zuno_tui.present.output import Json
from zuno_tui.present.views import ApprovalView, ReceiptLine, ReceiptView, StepProgress, StepView
from zuno_tui.present.words import NOBODY

_PARTS = {
    "pool": "pool",
    "give": "you give",
    "collect": "you collect",
    "get": "you get",
    "wallet": "wallet",
    "trade": "you trade",
    "result": "result",
    "swap": "swap cost",
    "fees": "fees",
    "network": "network",
    "pay": "total cost",
    "bound": "limits",
}
_ACTS = {"approve": "allow", "execute": "execute", "revoke": "revoke"}
LABEL = 12
"""The cells of the words on the left that name what is beside them."""
_ROOMY = 80
_TEXT_WIDTH, _UNBROKEN = 100, 10_000
"""Of a table and of sentences that nobody sees in a terminal."""
_GAP = 2
_LONGEST_BESIDE = 20
_BELONGS = re.compile(
    r"(?<=\d) (?=[A-Z–]|\d\d:\d\d)|(?<=[+–]) (?=\d)|(?<=[≤≥≈]) (?=\$)|(?<= at) (?=[A-Z])"
)
"""Between a figure and its unit, a day and its hour, two edges: no line ends there."""
_WAITS = "○"
_STAYS_DONE = "what is done stays done"
PROGRESS_MARKS = {"under way": "⟳", "done": "✓", "stopped": "✗"}
_TONES: dict[str, DrawnTone] = {"under way": "title", "done": "good", "stopped": "bad"}


class _StepRow(NamedTuple):
    """One step as it is drawn: its mark, what it does, and what stands right of it."""

    mark: str
    tone: DrawnTone
    words: str
    beside: str


def receipt_lines(approval: ApprovalView, width: int, *, brief: bool = False) -> Iterator[Line]:
    """Where, then a sum read downward: what leaves, what comes, what it costs; warnings first.

    What is guaranteed stands apart; where it has to be brief, in dollars alone.
    """
    for line in approval.outcome:
        if line.startswith("!"):
            yield from wrap_line(line, width, "", "strong warn")
    receipt = approval.receipt
    if receipt is None:
        for line in approval.outcome:
            yield from wrap_line(line, width, "")
        return
    room, column = min(width, receipt_width(approval)), _dollar_column(receipt)
    expected = [line for line in receipt.lines if line.part != "bound"]
    bounds = [line for line in receipt.lines if line.part == "bound"]
    where = list(takewhile(lambda line: line.part == "pool", expected))
    yield from _ledger(where, room, column)
    if receipt.range is not None:
        drawn, now = receipt.range, f"  pool now {receipt.range.price}".translate(DROP)
        gauge = wide_gauge(drawn.progress, drawn.low, drawn.high, room - LABEL - cell_len(now))
        yield (
            StyledText(f"{'range':<{LABEL}}", "dim"),
            StyledText(gauge.translate(DROP), "good"),
            StyledText(now),
        )
    money = expected[len(where) :]
    yield from _ledger(_costs_joined(money) if brief else money, room, column)
    if brief:
        yield from _ledger([ReceiptLine("bound", " · ".join(_in_dollars(receipt)))], room, column)
    elif bounds:
        yield ()
        counted = f"; dollars at {receipt.prices}" if receipt.prices else ""
        yield from _titled("LIMITS", f"{approval.page.limits}{counted}", width)
        yield from _ledger(bounds, room, column)


def heading(words: str) -> StyledText:
    return StyledText(words.translate(DROP), "title")


def page_text(approval: ApprovalView, width: int | None = None) -> Iterator[str]:
    """The desk's page and its details, as text: what it costs and may cost stands first."""
    from zuno_tui.present.terminal import line_width  # the screen draws receipts without it

    room = width or line_width() or _TEXT_WIDTH
    cost = cost_words(approval)
    yield " · ".join(part for part in (approval.headline, approval.plan_id, cost) if part)
    yield ""
    for lines in (receipt_lines(approval, room), step_lines(approval, (), room)):
        yield from (plain(line).rstrip() for line in lines)
        yield ""
    yield from approval.below
    recipients = " and ".join(approval.recipients) or NOBODY
    who, words = ("venue", approval.venue) if approval.venue else ("recipient", recipients)
    # Where nobody reads it in a terminal, a sentence stays in one line.
    room = width or line_width() or _UNBROKEN
    for line in (
        *wrap_line(words, room, f"{who:<{LABEL}}"),
        *detail_lines(approval, room),
    ):
        yield plain(line).rstrip()


def receipt_document(approval: ApprovalView) -> Json:
    """The rows and figures of the page; unknown ones are null."""
    receipt = approval.receipt
    if receipt is None:
        return None
    return {
        "costUsd": receipt.cost,
        "mostUsd": receipt.most_cost,
        "swapUsd": receipt.swap_cost,
        "networkUsd": receipt.network_cost,
        "plannedUsd": receipt.planned_cost,
        "profitUsd": receipt.profit,
        "lines": [to_builtins(line) for line in receipt.lines],
    }


def _titled(title: str, beside: str, width: int, tone: DrawnTone = "dim") -> Iterator[Line]:
    """A heading with what to know beside it, or under it where there is no room."""
    if cell_len(title) + _GAP + cell_len(beside) <= width:
        yield heading(title), StyledText(f"  {beside}", tone)
        return
    yield (heading(title),)
    yield from wrap_line(beside, width, "", tone)


def _costs_joined(lines: Sequence[ReceiptLine]) -> list[ReceiptLine]:
    """The parts of the cost in the line of the total."""
    parts = [line for line in lines if line.part in ("swap", "fees", "network")]
    named = " + ".join(f"{line.part} {line.dollars or line.words}" for line in parts)
    return [
        replace(line, words=named) if line.part == "pay" else line
        for line in lines
        if line not in parts
    ]


def _in_dollars(receipt: ReceiptView) -> Iterator[str]:
    bounds = [line for line in receipt.lines if line.part == "bound"]
    all_in = any(line.bounds == "worst case" and line.dollars for line in bounds)
    for line in bounds:
        # What a position takes at most is a part of what all of it costs at most.
        if not (all_in and line.bounds == "goes in"):
            yield f"{line.bounds} {line.dollars or line.words}".lstrip()


def step_lines(
    approval: ApprovalView, progress: Sequence[StepProgress], width: int, *, brief: bool = False
) -> Iterator[Line]:
    """Every step with what it allows or does, and right of it how far it has come."""
    count = len(approval.steps)
    if approval.as_one:
        # What becomes of the one transaction becomes of every step in it.
        progress = [step for step in progress[:1] for _ in approval.steps]
    done = sum(step.state == "done" for step in progress)
    if progress:
        yield (heading(f"{done} OF {count} DONE"),)
    else:
        tone: DrawnTone = "warn" if approval.could_be_one else "dim"
        safe = approval.as_one or count == 1
        yield from _titled(*_steps_words(approval), width, "good" if safe else tone)
    steps = _numbered(approval) if progress and not approval.as_one else _folded(approval)
    # One transaction is not followed step by step: before it is sent nothing waits by itself.
    waits = "" if approval.as_one else _WAITS
    rows = [
        _step_row(place, step, came, waits)
        for (place, step), came in zip_longest(steps, progress[: len(steps)])
    ]
    column = max((cell_len(row.beside) + _GAP for row in rows if row.beside), default=0)
    longest = max((cell_len(row.words) + 2 for row in rows), default=0)
    left = _part_cells(approval, width)
    room = min(width - column - left, longest)
    before = ""
    for row, (_, step) in zip(rows, steps, strict=False):
        label, before = "" if step.part == before else _ACTS[step.part], step.part
        mark = f"{row.mark} " if row.mark else ""
        first, *rest = wrap_line(row.words, room, mark, head=row.tone, under=2)
        pad = room + column - cell_len(plain(first)) - cell_len(row.beside)
        beside = " " * max(1, pad) + row.beside if row.beside else ""
        label = label.ljust(left)[:left]
        yield StyledText(label, "dim"), *first, StyledText(beside, "dim")
        yield from ((StyledText(" " * left), *line) for line in rest)
    if progress:
        return
    under = "" if brief else " " * left
    for kind, words in _lasting_words(approval):
        yield from wrap_line(
            words, width, under and kind.ljust(len(under)), "warn" if kind else "dim"
        )
    if not brief:
        for words in _permission_words(approval, steps):
            yield from wrap_line(words, width, under, "dim")


def _lasting_words(approval: ApprovalView) -> Iterator[tuple[str, str]]:
    """What is left where it stops half-way, and what stays when all is done."""
    if approval.as_one and approval.executor:
        yield "stays", f"The delegation to {approval.executor}."
        yield "", "It acts only on what you sign. To end it: zuno wallet undelegate"
    elif approval.receipt is not None and approval.receipt.halfway and not approval.as_one:
        yield "half-way", approval.receipt.halfway


def _permission_words(
    approval: ApprovalView, rows: Sequence[tuple[str, StepView]]
) -> Iterator[str]:
    """What of the permissions stays open when all is done."""
    given = [step.allows for step in approval.steps if step.allows is not None]
    if not given:
        return
    if any(step.ends is not None for _, step in rows):
        return
    yield "Allowances leave room for price moves; unused ones stay until you run zuno revoke --all"


def _folded(approval: ApprovalView) -> list[tuple[str, StepView]]:
    """Every step with its number; permissions given or ended in one transaction as one, else
    those of one amount."""
    rows: list[tuple[str, StepView]] = []
    kind = _permission_kind if approval.as_one else _permitted_amount
    joined = _together if approval.as_one else _one_amount
    for _, run in groupby(_numbered(approval), key=kind):
        several = list(run)
        words = joined([step for _, step in several])
        if not words or len(several) == 1:
            rows += several
            continue
        rows.append((f"{several[0][0]}–{several[-1][0]}", replace(several[0][1], brief=words)))
    return rows


def _numbered(approval: ApprovalView) -> list[tuple[str, StepView]]:
    return [(str(place), step) for place, step in enumerate(approval.steps, 1)]


def _permission_kind(numbered: tuple[str, StepView]) -> tuple[bool, bool]:
    _, step = numbered
    return step.ends is not None, step.allows is not None


def _permitted_amount(numbered: tuple[str, StepView]) -> str:
    place, step = numbered
    return place if step.allows is None else step.allows.amount


def _one_amount(steps: Sequence[StepView]) -> str:
    """Two that may move the same, one of them until a time."""
    allowed = [step.allows for step in steps if step.allows is not None]
    if [bool(each.until) for each in allowed] != [False, True]:
        return ""
    stays, ends = allowed
    given = f"{stays.spender} (no expiry), {ends.spender} (until {ends.until})"
    return f"up to {stays.amount}: {given}"


def _together(steps: Sequence[StepView]) -> str:
    """Permissions in one sentence; nothing where it would not be true of each of them."""
    ended = [step.ends for step in steps if step.ends is not None]
    if ended:
        spenders, tokens = (tuple(dict.fromkeys(names)) for names in zip(*ended, strict=True))
        return f"revoke the {list_words(tokens)} allowances of {list_words(spenders)}"
    amounts: dict[str, list[str]] = {}
    for step in steps:
        if step.allows is not None:
            amounts.setdefault(step.allows.spender, []).append(step.allows.amount)
    if len({tuple(each) for each in amounts.values()}) != 1:
        return ""
    named = list_words(next(iter(amounts.values())))
    return f"let {list_words(tuple(amounts))} move up to {named}"


def detail_lines(approval: ApprovalView, width: int) -> Iterator[Line]:
    """Everything the bytes say, to the last digit: contracts, ends, every sentence, the hash."""
    yield from term_lines(approval, width)
    if approval.signs_with:
        yield from wrap_line(approval.signs_with, width, f"{'key':<{LABEL}}")
    # In one line of a terminal of eighty columns, to be compared with another.
    yield from wrap_line(approval.hash, width, "hash ")
    yield ()
    for line in approval.outcome:
        yield from wrap_line(line, width, "→ ")
    for place, step in enumerate(approval.steps, 1):
        yield (StyledText(f"{place} {step.brief or step.name}".translate(DROP), "strong"),)
        for sentence in step.sentences:
            yield from wrap_line(sentence, width, "  ")


def term_lines(approval: ApprovalView, width: int) -> Iterator[Line]:
    """Whom the bytes let move tokens, what they call, and when they end."""
    for label, words in approval.terms:
        yield from wrap_line(words, width, f"{label:<{LABEL}}")


def receipt_width(approval: ApprovalView) -> int:
    """The cells in which no line of the receipt and of the steps has to be broken."""
    ledger = 0 if approval.receipt is None else _ledger_width(approval.receipt)
    steps = [cell_len(_step_row(place, step, None).words) + 2 for place, step in _folded(approval)]
    return max(ledger, *(cells + _part_cells(approval, _ROOMY) for cells in steps), 0)


def _part_cells(approval: ApprovalView, width: int) -> int:
    """Where steps only do one kind of thing, nobody has to be told which."""
    if len({step.part for step in approval.steps}) == 1:
        return 0
    return LABEL if width >= _ROOMY else len("execute ")


def wrap_line(
    text: str,
    width: int,
    bullet: str,
    tone: DrawnTone = "plain",
    *,
    head: DrawnTone = "dim",
    under: int = 0,
) -> Iterator[Line]:
    """A sentence wrapped under itself, by so many cells more."""
    rows = text_rows(text, max(10, width - len(bullet)), under)
    for place, row in enumerate(rows):
        front = bullet if place == 0 else " " * len(bullet)
        yield StyledText(front, head), StyledText(row, tone)


def text_rows(text: str, width: int, under: int = 0) -> list[str]:
    glued = _BELONGS.sub("\u00a0", text.translate(DROP))
    rows = textwrap.wrap(glued, width, subsequent_indent=" " * under) or [""]
    return [row.replace("\u00a0", " ") for row in rows]


def _steps_words(approval: ApprovalView) -> tuple[str, str]:
    """In how many transactions it is carried out, and whether it can stop between them."""
    count = len(approval.steps)
    if approval.page.steps is not None:
        return approval.page.steps
    if approval.as_one:
        return f"1 TRANSACTION, {count} STEPS", "all or nothing"
    if count == 1:
        return "1 TRANSACTION", "all or nothing: it cannot stop half-way"
    done = "safer as one: esc, then type delegate" if approval.could_be_one else _STAYS_DONE
    return f"{count} TRANSACTIONS, IN ORDER", f"may stop half-way · {done}"


def _step_row(
    place: str, step: StepView, came: StepProgress | None, waits: str = _WAITS
) -> _StepRow:
    words = f"{place} {step.brief or step.name}".translate(DROP)
    if came is None:
        return _StepRow(waits, "dim", words, "")
    mark, style = PROGRESS_MARKS[came.state], _TONES[came.state]
    how = came.words.partition(": ")[2].translate(DROP)
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


def _ledger(lines: Sequence[ReceiptLine], width: int, column: int) -> Iterator[Line]:
    """Words on the left, dollars under each other on the right; only the result stands out."""
    before = ""
    for line in lines:
        name, dollars = line.bounds or _PARTS[line.part], line.dollars.translate(DROP)
        label, before = "" if name == before else name, name
        rows = text_rows(line.words, max(12, width - LABEL - (column if dollars else 0)))
        for place, row in enumerate(rows):
            last = place == len(rows) - 1
            pad = max(1, width - LABEL - cell_len(row) - cell_len(dollars))
            yield (
                StyledText(f"{label if place == 0 else '':<{LABEL}}", "dim"),
                StyledText(row),
                StyledText(" " * pad + dollars if last and dollars else "", _dollar_tone(line)),
            )


def cost_words(approval: ApprovalView) -> str:
    """`costs $5.01, at most $32.21`; nothing where its cost is unknown or is somebody else's."""
    receipt = approval.receipt
    if receipt is None or receipt.cost is None:
        return ""
    most = receipt.most_cost
    if not receipt.cost and most == 0:
        return ""
    bound = "no known maximum" if most is None else f"at most {usd(most)}"
    return f"costs {usd(receipt.cost)}, {bound}"


def _dollar_tone(line: ReceiptLine) -> DrawnTone:
    """The total and the most it can be: what goes back to the wallet was its owner's before."""
    return "strong" if line.part == "pay" or line.bounds == "worst case" else "plain"
