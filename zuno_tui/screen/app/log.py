"""The desk's log: where something failed and what kind of fault it was, never what it said.

An error's own words may hold a URL with its key, a token's name or a passphrase; frames do not.
"""

from __future__ import annotations

import logging
import os
import re
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from chain.base.clean_text import DROP, LIKE_A_KEY
from chain.base.errors import error_kind
from chain.base.home import FILE_MODE

if TYPE_CHECKING:
    from io import TextIOWrapper

LOGGER = "zuno"
_MOST_BYTES = 128 * 1024
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)


def open_log(path: Path) -> logging.Handler | None:
    """Begin to write; None where the home cannot take it, which is no reason not to open."""
    try:
        handler = _PrivateFile(path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8")
    except OSError:
        return None
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    # Nobody else may print it: a line on stderr would land in the middle of the screen.
    logger.propagate = False
    return handler


def close_log(handler: logging.Handler | None) -> None:
    if handler is not None:
        logging.getLogger(LOGGER).removeHandler(handler)
        handler.close()


class _PrivateFile(RotatingFileHandler):
    """Readable by its owner alone, from its first byte."""

    def _open(self) -> TextIOWrapper:
        return open(
            self.baseFilename,
            "a",
            encoding="utf-8",
            opener=lambda name, flags: os.open(name, flags, FILE_MODE),
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A full disk must not turn into words in the middle of the screen."""


class _Discreet(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).splitlines()
        told = "\n".join(line.translate(DROP) for line in lines)
        return LIKE_A_KEY.sub("(hidden)", _URL.sub("(a URL)", told))

    def formatException(  # noqa: N802
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        kind, error, _ = ei
        if kind is None or error is None:
            return ""
        return "\n".join(_causes(error))


def _causes(error: BaseException) -> list[str]:
    """The chain of causes, each by its kind and its frames."""
    lines = [] if error.__cause__ is None else [*_causes(error.__cause__), "led to"]
    lines.append(error_kind(error))
    frames = traceback.extract_tb(error.__traceback__)
    lines += [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return lines
