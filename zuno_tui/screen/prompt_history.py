"""What was typed before: a line a phrase, the newest last, in a file only its owner can read."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from chain.base.clean_text import DROP, looks_secret
from chain.base.home import FILE_MODE, write_atomically
from zuno_tui.intents.pieces import LONGEST_PHRASE

MOST_KEPT = 500


class PhraseHistory:
    """Steps back and forth through the phrases, keeping the one that was being typed."""

    def __init__(
        self, phrases: Iterable[str] = (), write: Callable[[str], None] | None = None
    ) -> None:
        self._write = write
        self._phrases = [phrase for phrase in phrases if _worth_keeping(phrase)][-MOST_KEPT:]
        self._place = len(self._phrases)
        self._unsent = ""

    @property
    def phrases(self) -> tuple[str, ...]:
        return tuple(self._phrases)

    def keep(self, phrase: str) -> bool:
        """Whether it was kept: not when it looks like a secret, and not twice in a row."""
        kept = _worth_keeping(phrase) and self._phrases[-1:] != [phrase]
        if kept:
            self._phrases = [*self._phrases, phrase][-MOST_KEPT:]
            if self._write is not None:
                self._write(phrase)
        self._place = len(self._phrases)
        self._unsent = ""
        return kept

    def set_aside(self, phrase: str) -> None:
        """What was typed and not sent: the first that comes back, and in no file."""
        if _worth_keeping(phrase) and self._phrases[-1:] != [phrase]:
            self._phrases = [*self._phrases, phrase][-MOST_KEPT:]
        self._place = len(self._phrases)
        self._unsent = ""

    def earlier(self, typed: str) -> str:
        if self._place == len(self._phrases):
            self._unsent = typed
        self._place = max(0, self._place - 1)
        return self._at_place()

    def later(self) -> str:
        self._place = min(len(self._phrases), self._place + 1)
        return self._at_place()

    def _at_place(self) -> str:
        return self._phrases[self._place] if self._place < len(self._phrases) else self._unsent


def open_history(path: Path) -> PhraseHistory:
    """What can be read of the file, cut to size; what is kept from now on goes into it.

    History is a comfort: where it cannot be read or written, the desk goes on without.
    """
    lines: list[str] = []
    with suppress(OSError):
        lines = path.read_text("utf-8", errors="replace").splitlines()
        if len(lines) > 2 * MOST_KEPT:
            write_atomically(path, "".join(f"{line}\n" for line in lines[-MOST_KEPT:]).encode())
    return PhraseHistory(
        (line.translate(DROP) for line in lines), lambda phrase: _append(path, phrase)
    )


def _append(path: Path, phrase: str) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        with os.fdopen(descriptor, "ab") as file:
            file.write(f"{phrase}\n".encode())


def _worth_keeping(phrase: str) -> bool:
    return bool(phrase.strip()) and len(phrase) <= LONGEST_PHRASE and not looks_secret(phrase)
