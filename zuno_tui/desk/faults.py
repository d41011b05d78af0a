"""A fault as the desk tells it: one line with the next step, the rest in the log."""

from __future__ import annotations

import logging

from chain.base.store import StoreError
from chain.rpc.errors import RpcError
from zuno_tui.present.failures import foreseen, unforeseen

_LOG = logging.getLogger("zuno.desk")


def fault_words(error: Exception) -> str:
    """What happened and what to do about it, in one line."""
    if isinstance(error, TimeoutError):
        return "It took too long and was ended. Try again, or see what answers: doctor"
    if isinstance(error, StoreError):
        return f"{error} Make room on the disk, or choose another home: zuno --home DIR"
    told = foreseen(error)
    if told is not None:
        return one_line(told[1])
    if isinstance(error, OSError):
        return f"The disk or the network failed: {error.strerror or type(error).__name__}."
    # Frames and kinds only: the words of an unknown error may hold a URL with its key.
    _LOG.error("unforeseen %s", type(error).__name__, exc_info=error)
    return f"{unforeseen(error)} The log knows more: locate"


def sentences_of(error: Exception) -> str | None:
    """What endpoints did, without the next step; None where it is no endpoint's fault."""
    if not isinstance(error, RpcError):
        return None
    return " ".join(one.sentence for one in (error, *error.elsewhere))


def one_line(words: str) -> str:
    """Several lines as one, told apart where a line ends without a stop of its own."""
    told = ""
    for line in (each.strip() for each in words.splitlines()):
        between = "" if not told else " " if told.endswith((".", ":", "!", "?")) else "; "
        told += between + line if line else ""
    return told
