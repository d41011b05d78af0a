"""What a failed command tells: which exit code, a sentence, a next step."""

import os
import sys
import traceback

from chain.base.clean_text import quote_words
from chain.base.errors import Failure, ZunoError, error_kind
from zuno_tui.present.exit_codes import FAILED, NETWORK, REFUSED, USAGE

_EXIT_CODES = {
    Failure.FAILED: FAILED,
    Failure.REFUSED: REFUSED,
    Failure.USAGE: USAGE,
    Failure.NETWORK: NETWORK,
}


def explain(error: Exception) -> tuple[int, str]:
    told = explain_known(error)
    if told is not None:
        return told
    if os.environ.get("ZUNO_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    return FAILED, (
        f"{explain_unexpected(error)}\n"
        "Nothing was sent or signed. ZUNO_DEBUG=1 shows where it happened."
    )


def explain_known(error: Exception) -> tuple[int, str] | None:
    """The exit code and words of a failure that says itself what to do; None for any other."""
    return (_EXIT_CODES[error.failure], str(error)) if isinstance(error, ZunoError) else None


def explain_unexpected(error: Exception) -> str:
    name, words = error_kind(error), quote_words(str(error))
    said = f"{name}: {words}" if words else name
    return f"Unexpected error ({said})."
