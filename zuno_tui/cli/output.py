"""The last flush of stdout and stderr.

Left to Python, it comes after the exit code is decided: where it fails, that code becomes 120.
"""

import errno
import os
import signal
import stat
import sys
from typing import TextIO

from zuno_tui.present.exit_codes import DONE, FAILED

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


HUNG_UP = 128 + signal.SIGHUP


def flush_output(code: int) -> int:
    """The exit code, once everything is written or nobody is left to read it."""
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError as error:
            code = code or _code_for(error, stream)
            # What it still holds can reach nobody, and Python would try again at exit.
            setattr(sys, name, None)
    return code


def _code_for(error: OSError, stream: TextIO) -> int:
    if error.errno == errno.EPIPE:
        return DONE
    if error.errno == errno.EIO and stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
        return HUNG_UP
    if stream is sys.stdout and sys.stderr is not None:
        sys.stderr.write(f"Not everything could be written: {error.strerror}.\n")
    return FAILED
