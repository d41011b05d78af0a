"""Whether a desk can be drawn on this terminal."""

from __future__ import annotations

import os
import sys

_NO_TERMINAL = "The desk needs a terminal: ssh -t host zuno. For scripts: zuno positions --json\n"
_PLAIN_TERMINAL = (
    "This terminal (TERM={}) cannot draw the desk. Set TERM to what it is, like "
    "xterm-256color, or use the commands: zuno positions\n"
)


def no_desk_here() -> str | None:
    """Why no desk can be drawn here; None where one can."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return _NO_TERMINAL
    terminal = os.environ.get("TERM", "")
    return _PLAIN_TERMINAL.format(terminal or "unset") if terminal in ("", "dumb") else None
