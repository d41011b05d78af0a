"""How near two spellings must be for the one to be offered in place of the other."""

from collections.abc import Iterable

_NEAR = 0.7
"""A letter dropped, doubled or swapped in a word of four; not merely the same first letters."""


def nearest(typed: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(typed, known, 1, _NEAR)), None)


def one_slip_apart(typed: str, meant: str) -> bool:
    """Whether one letter dropped, added, changed or swapped makes the one of the other."""
    if typed == meant or abs(len(typed) - len(meant)) > 1:
        return False
    start = 0
    while start < min(len(typed), len(meant)) and typed[start] == meant[start]:
        start += 1
    left, right = typed[start:], meant[start:]
    return (
        left[1:] == right
        or left == right[1:]
        or left[1:] == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:])
    )


def slips(typed: str, meant: str) -> int:
    """How many letters must be dropped, added or changed to make the one of the other."""
    row = list(range(len(meant) + 1))
    for place, letter in enumerate(typed, 1):
        before, row[0] = row[0], place
        for at, other in enumerate(meant, 1):
            changed = before + (letter != other)
            before, row[at] = row[at], min(changed, row[at] + 1, row[at - 1] + 1)
    return row[-1]
