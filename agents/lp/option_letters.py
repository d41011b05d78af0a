"""The moves of a plan by letter, as people read and type them: A, B, C."""

from __future__ import annotations

from string import ascii_uppercase


def option_letter(index: int) -> str:
    """A for the first move; a number beyond the alphabet stays a number."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else str(index)


def option_index(named: str) -> int | None:
    """Of a letter in either case, or of the move's number; None of anything else."""
    if named.isascii() and named.isdigit():
        return int(named)
    if len(named) == 1 and named.upper() in ascii_uppercase:
        return ascii_uppercase.index(named.upper())
    return None
