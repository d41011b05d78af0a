"""What came of a signature, drawn: the result first, then every transaction by its hash."""

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from textual.content import Content

from chain.base.clean_text import DROP
from zuno_tui.present.receipt_lines import PROGRESS_MARKS, step_lines
from zuno_tui.present.views import PlanView, ResultView, SentTransaction
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.receipt import contents, wrap_content
from zuno_tui.screen.panes.row_table import fit_text

_HASH_ENDS = 6, 4
_GAP = 2


def result_title(result: ResultView, about: str = "") -> str:
    """`Done · #26 is now #39`; what stopped is never called done."""
    state = "Done" if result.done else result.state.capitalize()
    told = result.headline or about
    return f"{state} · {told}" if told else state


def applied_lines(
    plan: PlanView, result: ResultView, width: int, *, links: bool, whole: bool = False
) -> Iterator[Content]:
    """What it cost and brought, then how far each step came; `whole` tells every hash in full.

    Of what did not end well every step is told, by what it was to do where that is still known.
    """
    for line in result.lines:
        words = line.strip()
        yield from wrap_content(words, width, "", "$quiet" if words.startswith("WALLET ") else "")
    if not result.done and plan.progress:
        yield Content("")
        if plan.approval is not None:
            yield from contents(step_lines(plan.approval, plan.progress, width))
        else:
            for step in plan.progress:
                yield from wrap_content(step.words, width, f"{PROGRESS_MARKS[step.state]} ")
    if result.sent:
        yield Content("")
        count = len(result.sent)
        told = f"{count} OF {count} DONE" if result.done else "IN A BLOCK"
        yield heading(told, _blocks(result.sent))
        mark = f"{PROGRESS_MARKS['done']} " if result.done else ""
        yield from _sent(result.sent, width, mark, links=links, whole=whole)


def _sent(
    sent: Sequence[SentTransaction], width: int, mark: str, *, links: bool, whole: bool
) -> Iterator[Content]:
    """Step, hash, block; the hash opens its page where the terminal can, else its address is told.

    A hash is told in full where it is asked for.
    """
    blocks = max(
        0 if transaction.block is None else len(f"block {transaction.block:,}")
        for transaction in sent
    )
    hashes = 0 if whole else sum(_HASH_ENDS) + 1 + _GAP
    most = width - len(mark) - _GAP - hashes - blocks
    names = min(most, max(cell_len(transaction.step.translate(DROP)) for transaction in sent))
    for transaction in sent:
        link = (
            f"underline link='{transaction.url}'"
            if links and transaction.url is not None
            else "$quiet"
        )
        first, *rest = textwrap.wrap(transaction.step.translate(DROP), max(1, names)) or [""]
        yield Content.assemble(
            (mark, "$success"),
            fit_text(first, names) + " " * _GAP,
            *(() if whole else ((_short(transaction.hash), link), " " * _GAP)),
            ("" if transaction.block is None else f"block {transaction.block:,}", "$quiet"),
        )
        yield from (literal(" " * len(mark) + row) for row in rest)
        address = (
            transaction.url
            if transaction.url is not None and not links
            else transaction.hash
            if whole
            else ""
        )
        for row in textwrap.wrap(address, width - _GAP):
            yield literal(f"{'':<{_GAP}}{row}", "$quiet")


def copied_hashes(sent: Sequence[SentTransaction]) -> str:
    """For the clipboard: every transaction in full, where people look at it if anywhere."""
    return "\n".join(transaction.url or transaction.hash for transaction in sent)


def _short(transaction_hash: str) -> str:
    clean, (first, last) = transaction_hash.translate(DROP), _HASH_ENDS
    return f"{clean[:first]}…{clean[-last:]}"


def _blocks(sent: Sequence[SentTransaction]) -> str:
    known = sorted({transaction.block for transaction in sent if transaction.block is not None})
    if not known:
        return ""
    return f"block {known[0]:,}" if len(known) == 1 else f"blocks {known[0]:,} – {known[-1]:,}"
