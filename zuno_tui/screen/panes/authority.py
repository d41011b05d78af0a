"""Who signs and who receives, drawn from checked fields alone."""

import re
from collections.abc import Iterator

from textual.content import Content

from chain.base.units import ADDRESS
from zuno_tui.present.views import ApprovalView
from zuno_tui.present.words import NOBODY
from zuno_tui.screen.panes.receipt import LABEL, wrap_content

_WORD = re.compile(r"[a-z][a-z-]{3,15}", re.ASCII)


def authority_lines(approval: ApprovalView, width: int) -> Iterator[Content]:
    if approval.venue:
        yield from wrap_content(approval.venue, width, f"{'venue':<{LABEL}}", "bold")
        return
    for recipient in approval.recipients or (None,):
        told = NOBODY if recipient is None else _address(recipient)
        if recipient == approval.wallet and ADDRESS.fullmatch(recipient):
            told = f"{told} (you)"
        yield from wrap_content(told, width, f"{'recipient':<{LABEL}}", "bold")
    if not approval.recipients:
        yield from wrap_content(_address(approval.wallet), width, f"{'wallet':<{LABEL}}")
    yield from wrap_content(approval.signs_with, width, f"{'key':<{LABEL}}")


def can_confirm(approval: ApprovalView) -> bool:
    # The line that names the recipient is the one line that must never be somebody's prose.
    return (
        approval.can_sign
        and (bool(approval.venue) or ADDRESS.fullmatch(approval.wallet) is not None)
        and all(recipient == approval.wallet for recipient in approval.recipients)
        and _WORD.fullmatch(approval.word) is not None
    )


def _address(text: str) -> str:
    return text if ADDRESS.fullmatch(text) else "not an address"
