"""The typed word: one line, typed after the question, and nothing that was pasted along."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chain.base.errors import error_kind
from zuno_tui.gate.apply import InterruptedApplyError
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.failures import explain_known


@contextmanager
def may_have_sent(look: str = "zuno outbox") -> Iterator[None]:
    """Never let it be said of what fails in here that nothing was sent."""
    try:
        yield
    except Exception as error:
        if explain_known(error) is not None:
            raise
        raise InterruptedApplyError(
            f"Unexpected error ({error_kind(error)}), and it may "
            f"have signed and sent before. See where things stand: {look}"
        ) from error


_LONGEST_LINE = 4096
_PASTE_SECONDS = 0.1
"""What a terminal still hands over this long after the word did not come from typing it."""


def require_typed(word: str, question: str) -> None:
    """Return when exactly this word was typed; refuse anything else."""
    if not sys.stdin.isatty():
        raise GateRefusedError(
            "There is no terminal to type on. Nothing was sent. "
            "Confirm what was approved by its hash: --confirm HASH"
        )
    terminal = sys.stdin.fileno()
    if _waiting(terminal, 0):
        raise GateRefusedError(
            "Something was typed before the question was asked. Nothing was sent. Try again."
        )
    sys.stderr.write(question)
    sys.stderr.flush()
    typed = os.read(terminal, _LONGEST_LINE)
    if _waiting(terminal, _PASTE_SECONDS) or typed.count(b"\n") > 1:
        raise GateRefusedError("More than one line was pasted. Nothing was sent. Try again.")
    if typed.strip() != word.encode():
        raise GateRefusedError(f"That was not the word {word!r}. Nothing was sent.")


def _waiting(terminal: int, seconds: float) -> bool:
    ready, _, _ = select.select([terminal], [], [], seconds)
    return bool(ready)
