"""The last flush of stdout and stderr.

Left to Python, it comes after the exit code is decided: where it fails, that code becomes 120.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from typing import TextIO

from zuno_tui.present.exit_codes import DONE, FAILED

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
