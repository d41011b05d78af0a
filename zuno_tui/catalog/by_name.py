"""Commands that a sentence names by their own words, or comes near to by those of their help."""

from collections.abc import Mapping, Sequence
from functools import cache

from zuno_tui.catalog.command import Command
from zuno_tui.prompt.words import find_ideas, is_plain, stems_of

Path = tuple[str, ...]
_SHORTEST = 4
_RARE = 0.9
"""Of a word that the help of one command alone has, or of several that few have."""


def shell_command_said(words: Sequence[str], paths: Mapping[Path, Command]) -> Path | None:
    """`make a new wallet`, `start the monitor`: both words of a command, or that it be started."""
    said, starts = _with_stems(words), any("open" in _ideas([word]) for word in words)
    asked = _ideas(words[:1])
    named = [path for path in paths if path[0] in said]
    several = [path for path in named if path[1:]]
    exact = [path for path in several if path[-1] in said and "show" not in _ideas(path[-1:])]
    alike = [
        path for path in several if "show" not in asked and asked & _ideas(path[-1].split("-"))
    ]
    started = [path for path in named if path[1:] == () and starts]
    found = next(filter(None, (exact, alike, started)), [])
    return found[0] if len(found) == 1 else None


def nearest_by_help(words: Sequence[str], paths: Mapping[Path, Command]) -> Path | None:
    """The command whose line of help has the rarest of these words."""
    helps = {path: _help_words(path, command.does) for path, command in paths.items()}
    said = {word for word in _with_stems(words) if len(word) >= _SHORTEST and not is_plain(word)}

    def score(path: Path) -> float:
        shared = said & helps[path]
        return sum(1 / sum(word in each for each in helps.values()) for word in shared)

    best = max(helps, key=score)
    return best if score(best) >= _RARE else None


@cache
def _help_words(path: Path, does: str) -> frozenset[str]:
    return _with_stems((*path, *does.replace(",", " ").split()))


def _with_stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(form for word in words for form in (word, *stems_of(word)))


def _ideas(words: Sequence[str]) -> frozenset[str]:
    return frozenset(idea.name for idea in find_ideas(words))
